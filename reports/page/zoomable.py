"""What makes the page's figures ones to zoom into: their charts, and one program, both in the page.

Invariants: the program is all the page runs, and the page's policy names it by its digest; nothing
in the page can fetch anything. Equal charts give equal text.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from dataclasses import dataclass
from importlib import metadata, resources

import vl_convert
from markupsafe import Markup

from reports.figures.chart import BAD, FAINT_INK, GOOD, GRID, INK, KERNEL, PUBLISHED, Figure

#: Colours of the pictures, and the page's own that stand for them in both its schemes.
COLOURS = (
    (INK, "ink"), (FAINT_INK, "faint"), (GRID, "hair"), (KERNEL, "kernel"),
    (PUBLISHED, "published"), (GOOD, "good"), (BAD, "bad"),
)  # fmt: skip


#: Where a picture names a part of itself, or says which it means.
_SVG_NAME = re.compile(r' id="|url\(#')
#: What the bundled script does: it gives the library's one function to the page.
ENTRY = "window.vegaEmbed = vegaEmbed;"


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A figure ready for the page: its picture, and its chart as JSON."""

    figure: Figure
    svg: Markup
    spec: Markup


def placed(figure: Figure, svg: str, ids: str = "") -> Placed:
    """Return a drawn figure ready for the page; ``ids`` is what names inside it shall begin with.

    ``<`` is escaped in the chart, so no text ends the script.
    """
    text = json.dumps(figure.zoomable, separators=(",", ":"), ensure_ascii=False)
    picture = _SVG_NAME.sub(lambda found: found[0] + ids, svg)
    return Placed(figure=figure, svg=Markup(picture), spec=Markup(text.replace("<", "\\u003c")))


def bundler() -> str:
    """Return what :func:`library` depends on: equal texts stand for equal libraries."""
    return f"vl-convert-python {metadata.version('vl-convert-python')}: {ENTRY}"


@functools.cache
def library() -> str:
    """Return the drawing library as one script; takes seconds once."""
    return str(vl_convert.javascript_bundle(ENTRY))


def program(library: str | None, player: str = "") -> Markup:
    """Return what the page runs: its own part and, given the library that draws, also that.

    ``player`` plays what moves on the page, if anything does.

    The library has its licences before it, and what starts it behind it.
    """
    ours = resources.files("reports.page") / "templates"

    def file(name: str) -> str:
        return (ours / name).read_text(encoding="utf-8")

    text = file("page.js") + player
    if library is not None:
        text = f"/*!\n{file('vega-licences.txt')}*/\n{text}\n{library}\n{file('figures.js')}"
    # Of an HTML parser's view: what would end the script, or open a comment in it.
    return Markup(text.replace("</script", "<\\/script").replace("<!--", "\\x3c!--"))


def digest(script: str) -> str:
    """Return a script's name in a content security policy."""
    found = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(found).decode()}"
