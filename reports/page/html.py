"""Reports as HTML pages that need nothing else: no network, no fonts, no other file. Pure.

Invariant: every text from a file is escaped by the template engine; only our own figures, whose
text the drawing library escapes, and their program are placed as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from model import run_folder
from model.run_files.point import Point
from reports.figures.chart import Figure
from reports.figures.moving import animation
from reports.figures.plain.heat_map import heat_map
from reports.figures.study_figures import FigureSet
from reports.page import zoomable
from reports.page.first_screen import Screen, Shown, answer, look, sign
from reports.page.section import GAP, Section
from reports.page.study import study_content
from reports.page.study_set import SetPage
from reports.store.run import Run
from reports.verdict.summary import Summary

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("reports.page"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_TEMPLATES.filters |= {"sign": sign, "look": look}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a study stands: what its ids begin with, its title's level, where its files are."""

    ids: str
    level: int
    files: str


ALONE = Place(ids="", level=1, files="")
IN_SET = Place(ids=f"{GAP}.", level=2, files=f"../{GAP}/{run_folder.REPORT}/")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A study's figures: beside its results, as the study asks for them, and as pictures by id."""

    headline: tuple[Figure, ...]
    sets: tuple[FigureSet, ...]
    svgs: Mapping[str, str]


def render_reports(
    run: Run, summary: Summary, drawn: Drawn, library: Callable[[], str]
) -> tuple[str, Section]:
    """Return ``report/index.html``, and the study's section of the page of a set.

    ``library`` gives the script that draws figures, and is asked only where there are any.
    """
    content = study_content(run, summary)
    first = answer(run.study, summary)
    content["reference"] = first.reference
    screen = Screen([Shown(name=summary.study, here="", answer=first)])
    moves = content["moving"] is not None
    program = _program(library if drawn.svgs else None, moves=moves)
    whole = render("report.html.j2", **content, **_placed(summary, drawn, ALONE), screen=screen,
                    **program)  # fmt: skip
    part = render("section.html.j2", **content, **_placed(summary, drawn, IN_SET))
    return whole, Section(
        study=summary.study,
        again=content["options"],
        drawn=bool(drawn.svgs),
        moves=moves,
        answer=first,
        pieces=tuple(part.split(GAP)),
    )


def render_set(page: SetPage, library: Callable[[], str]) -> str:
    """Return the page of a set of studies; ``library`` as of :func:`render_reports`."""
    drawn = any(one.section.drawn for one in page.studies)
    return render(
        "sets/set.html.j2", page=page, screen=page.screen, here="", h2="h2", h3="h3",
        **_program(
            library if drawn else None, moves=any(one.section.moves for one in page.studies)
        ),
    )  # fmt: skip


def render(template: str, **content: Any) -> str:
    """Return a template of the pages filled in; texts are escaped."""
    return _TEMPLATES.get_template(template).render(**content)


def _placed(summary: Summary, drawn: Drawn, place: Place) -> dict[str, Any]:
    """Return a study's figures, and what its templates need to know of where it stands."""
    every = (*drawn.headline, *(figure for found in drawn.sets for figure in found.figures))
    return {
        "placed": {one.id: zoomable.placed(one, drawn.svgs[one.id], place.ids) for one in every},
        "drawn": {one.id for one in drawn.headline},
        "further": [one.id for one in drawn.headline if one.id not in summary.headline],
        "sets": [found for found in drawn.sets if found.where is None],
        "counterparts": [found for found in drawn.sets if found.where is not None],
        "listed": _listed(drawn),
        "heat": heat_map(summary, _points_figures(drawn)),
        "here": place.ids,
        "files": place.files,
        **{f"h{level + 1}": f"h{place.level + level}" for level in range(4)},
    }


def _points_figures(drawn: Drawn) -> dict[Point, str]:
    """Return the id of the first figure of each point that has one of its own."""
    return {
        point: f"figure-{found.figures[0].id}"
        for found in reversed(drawn.sets)
        if found.figures
        for point in found.points
    }


def _listed(drawn: Drawn) -> list[tuple[str, str | None, str]]:
    """Return what has a published counterpart: that, the id of ours, and what it is in words.

    Without an id it could not be drawn. The run is named where one counterpart is not the only.
    """
    found: list[tuple[str, str | None, str, str]] = [
        (one.where, one.id, one.title, "") for one in drawn.headline if one.where is not None
    ]
    for part in drawn.sets:
        for one in part.figures:
            if one.where is not None:
                flow = f", flow {one.flow}" if one.flow else ""
                found.append((one.where, one.id, f"{part.title}{flow}", f", {part.run}"))
        if part.where is not None:
            found += [(part.where, None, f"not drawn, {why}", "") for why in part.missing]
    twice = Counter((where, words) for where, _, words, _ in found)
    return [
        (where, name, f"{words}{run}" if twice[where, words] > 1 else words)
        for where, name, words, run in found
    ]


def _program(library: Callable[[], str] | None, *, moves: bool) -> dict[str, Any]:
    player = animation.script() if moves else ""
    script = zoomable.program(library() if library else None, player)
    digest = zoomable.digest(script)
    look = Markup(animation.style()) if moves else ""
    return {"script": script, "script_digest": digest, "colours": zoomable.COLOURS, "added": look}
