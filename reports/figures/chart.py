"""What all figures share: size, colours, axes, legend, how layers become a chart and a picture.

Invariants: one definition gives the picture for print and the one the page can zoom into, which
only has more: what follows the pointer. Colours are those the page knows in both its schemes
(style.css.j2). A chart holds its data and names no address; drawing it needs neither browser nor
network, and equal charts give equal bytes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import polars as pl
import vl_convert
from altair.utils import schemapi

#: Of a whole figure, and of what its axes enclose.
WIDTH_PX, HEIGHT_PX = 500, 250

INK, FAINT_INK, GRID = "#1c1b19", "#6f6a62", "#e4e0d8"
KERNEL, PUBLISHED, GOOD, BAD = "#0f5c8c", "#b3541e", "#2b6b3f", "#a32a2a"

#: The axes a reader can zoom.
Axes = Sequence[Literal["x", "y"]]

#: A Vega-Lite mark: its type and style.
Mark = Mapping[str, Any]

#: One look for each of several lines: four colours, then the same with other strokes.
_COLOURS = (KERNEL, PUBLISHED, GOOD, BAD)
_DASHES = ((), (5, 3), (2, 2))
#: The number of the look that TCP and SCTP have wherever they are told apart.
_PROTOCOLS = {"TCP": 0, "SCTP": 1}

#: What only a pointer finds, near a point of a curve.
NEAR: Mark = {"type": "point", "size": 90, "opacity": 0, "filled": True}

#: A resource dictionary of a PDF page: the writer lists its entries in random order.
_PDF_RESOURCES = re.compile(rb"(<<\n)((?:[ ]+/[a-z]{2}\d+ [^\n]*\n)+)")
#: Names inside a picture: the library numbers them on from picture to picture.
_SVG_NAME = re.compile(r'(?<=id=")clip\d+(?=")')
#: Where a picture says places, in more digits than any eye or printer has.
_SVG_PLACES = re.compile(r'(?<= )(?:transform|d|x2|y2)="[^"]*"')
#: What changes nothing: an opacity of 1, the width of a stroke that is not there. And parts' roles:
#: to who cannot see it a picture is one, named where it is placed.
_SVG_NEEDLESS = re.compile(
    r' opacity="1"|(?<=fill="#[0-9a-f]{6}") stroke-width="2"'
    r'| role="graphics-\w+"| aria-roledescription="[^"]*"'
)
_SVG_NUMBER = re.compile(r"-?\d+\.\d{3,}")

_ZOOM = "zoom"
#: The wheel alone scrolls the page. A drag ends where a touch became a scrolling of the page.
_WHEEL = "wheel![event.ctrlKey || event.metaKey]"
_DRAG = "[pointerdown, window:pointerup] > window:pointermove![event.buttons]"
_LEGEND_ROW_PX, _LEGEND_SYMBOL_PX, _LEGEND_LETTER_PX = 16, 26, 5.7
_LEGEND_WIDE_PX, _LEGEND_NARROW_PX = 405, 250


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: a file name without ending, what it shows in words, and its Vega-Lite charts.

    ``spec`` is what is printed; ``zoomable`` is the same to zoom into. ``flow`` is the one flow it
    shows, ``where`` the published figure it is the counterpart of; either may be None.
    """

    id: str
    title: str
    caption: str
    spec: Mapping[str, Any]
    zoomable: Mapping[str, Any]
    flow: str | None = None
    where: str | None = None


@dataclass(frozen=True)
class Key:
    """One entry of a legend: its words, the mark it explains, and the symbol's form."""

    name: str
    mark: Mark
    form: Literal["point", "line", "bar"] = "point"


def unchecked() -> contextlib.AbstractContextManager[None]:
    """Return a block in which charts are not held against Vega-Lite's schema.

    Altair does that for every part of every chart, which is a third of a report's time; the tests
    of each figure, which are outside such a block, have it do so.
    """
    block: contextlib.AbstractContextManager[None] = schemapi.debug_mode(False)
    return block


def look(number: int, name: str = "") -> dict[str, Any]:
    """Return colour and stroke of one of several lines, or those its name always has."""
    place = _PROTOCOLS.get(name, number)
    dash = _DASHES[place // len(_COLOURS) % len(_DASHES)]
    colour = {"color": _COLOURS[place % len(_COLOURS)]}
    return {**colour, "strokeDash": list(dash)} if dash else colour


def marked(data: alt.InlineData, mark: Mark) -> alt.Chart:
    """Return data drawn with a mark, inside the axes only."""
    return alt.Chart(data, mark=alt.MarkDef(**mark, clip=True))


def drawn(rows: pl.DataFrame, mark: Mark) -> alt.Chart:
    """Return the rows of a table drawn with a mark; in the chart they stand as columns."""
    columns = alt.InlineData(values=[rows.to_dict(as_series=False)])
    return marked(columns, mark).transform_flatten([*rows.columns])


def layered(
    layers: Sequence[alt.Chart],
    keys: Sequence[Key],
    *,
    hover: Sequence[alt.Chart] = (),
    zoom: Axes = ("x", "y"),
    reach: Mapping[str, Sequence[float]] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the chart of some layers for print and for the page.

    The first layer's x and y are those that zoom; ``hover`` is what only a pointer finds, where no
    later layer lies over it. ``reach`` is how far an axis has something to show, by its letter,
    where that is more than it shows at first.
    """
    select = alt.selection_interval(
        name=_ZOOM, bind="scales", encodings=list(zoom), zoom=_WHEEL, translate=_DRAG
    )
    first, *rest = layers
    whole = _chart([first.add_params(select), *hover, *rest])
    zoomable = whole.to_dict(validate=schemapi.DEBUG_MODE)
    # Otherwise a name made by the library, which its versions may change.
    zoomable["layer"][0]["name"] = zoomable["params"][0]["views"][0] = "zoomed"
    legend = _legend(keys)
    printed = {key: value for key, value in zoomable.items() if key != "params"}
    printed["layer"] = [*zoomable["layer"][:1], *zoomable["layer"][1 + len(hover) :], *legend]
    zoomable["layer"] = [*zoomable["layer"], *legend]
    if reach:
        zoomable["usermeta"] = {"reach": {axis: list(ends) for axis, ends in reach.items()}}
    return printed, zoomable


def _chart(layers: Sequence[alt.Chart]) -> alt.LayerChart:
    chart: alt.LayerChart = (
        alt.layer(*layers)
        .properties(
            width=WIDTH_PX,
            height=HEIGHT_PX,
            background="transparent",
            padding=4,
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .configure(aria=False, font="Liberation Sans, Arimo, Helvetica, Arial, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            domainColor=FAINT_INK,
            tickColor=FAINT_INK,
            gridColor=GRID,
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=12,
            titlePadding=8,
            labelFlush=False,
        )
        .configure_axisX(grid=False)
    )
    return chart


def _places(keys: Sequence[Key], room_px: int) -> list[tuple[float, int]]:
    """Return where each key goes, in rows above the plot that are at most ``room_px`` long."""
    rows: list[list[float]] = [[]]
    x_px = 6.0
    for key in keys:
        length_px = _LEGEND_SYMBOL_PX + _LEGEND_LETTER_PX * len(key.name)
        if rows[-1] and x_px + length_px > room_px:
            rows.append([])
            x_px = 6.0
        rows[-1].append(x_px)
        x_px += length_px
    lowest = len(rows) - 1
    return [
        (x, -_LEGEND_ROW_PX * (lowest - number + 1)) for number, row in enumerate(rows) for x in row
    ]


def _either(wide_px: float, narrow_px: float) -> dict[str, Any]:
    """Return a place that depends on how wide the plot is."""
    return {"value": {"expr": f"width < {_LEGEND_WIDE_PX} ? {narrow_px:g} : {wide_px:g}"}}


def _legend(keys: Sequence[Key]) -> list[dict[str, Any]]:
    """Return the layers of a legend above the plot, in more rows where the page is narrow."""
    layers: list[dict[str, Any]] = []
    places = zip(_places(keys, _LEGEND_WIDE_PX), _places(keys, _LEGEND_NARROW_PX), strict=True)
    for key, ((x_px, y_px), (narrow_x_px, narrow_y_px)) in zip(keys, places, strict=True):
        place = {"x": _either(x_px, narrow_x_px), "y": _either(y_px, narrow_y_px)}
        words = {**place, "x": _either(x_px + 10, narrow_x_px + 10)}
        if key.form == "bar":
            place["y"] = _either(y_px - 6, narrow_y_px - 6)
            place["y2"] = _either(y_px + 6, narrow_y_px + 6)
        elif key.form == "line":
            place["x"] = _either(x_px - 6, narrow_x_px - 6)
            place["x2"] = _either(x_px + 6, narrow_x_px + 6)
        # Said, because charts that zoom clip every mark that does not say.
        symbol = {**key.mark, "clip": False}
        if key.form == "line":
            symbol["type"] = "rule"
        layers += [
            {"data": _ONE, "mark": symbol, "encoding": place},
            {"data": _ONE, "mark": {**_WORDS, "text": key.name}, "encoding": words},
        ]
    return layers


#: One row without columns: drawn once.
_ONE: dict[str, Any] = {"values": [{}]}
_WORDS = {"type": "text", "align": "left", "baseline": "middle", "color": INK, "fontSize": 11,
          "clip": False}  # fmt: skip


def render_svg(figure: Figure) -> str:
    """Return the figure as SVG text; names inside it are its own, places to 0.01 pixels."""
    drawn = str(vl_convert.vegalite_to_svg(dict(figure.spec), allowed_base_urls=[]))
    for number, name in enumerate(_SVG_NAME.findall(drawn)):
        own = f"{figure.id}-{number}"
        drawn = drawn.replace(f'id="{name}"', f'id="{own}"').replace(
            f"url(#{name})", f"url(#{own})"
        )
    drawn = _SVG_NEEDLESS.sub("", drawn)
    return _SVG_PLACES.sub(lambda place: _SVG_NUMBER.sub(_hundredths, place[0]), drawn)


def _hundredths(number: re.Match[str]) -> str:
    """Return a number in pixels to two places, without ending zeros."""
    text = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def render_pdf(svg: str) -> bytes:
    """Return a drawn figure as PDF; its resource lists are sorted, so equal figures are equal."""
    drawn: bytes = vl_convert.svg_to_pdf(svg)
    return _PDF_RESOURCES.sub(
        lambda found: found[1] + b"".join(sorted(found[2].splitlines(keepends=True))), drawn
    )
