"""The figures of a report: one chart per headline metric, drawn without browser or network.

Each shows what the paper printed against the kernel's runs: mean with its confidence interval, the
prediction interval of one further run as a band, every single run. Invariant: equal summaries give
equal bytes, SVG and PDF alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from reports.display import setting, setting_label, setting_number, setting_quantity
from reports.metrics import Metric
from reports.records import Parameter, Point
from reports.summary import CellSummary, PointSummary, Summary

WIDTH_PX, HEIGHT_PX = 420, 250

#: Drawn in these colours; the page replaces them by its own in dark mode (style.css.j2).
INK, FAINT_INK, GRID = "#1c1b19", "#6f6a62", "#e4e0d8"
KERNEL, PUBLISHED = "#0f5c8c", "#b3541e"

PAPER, MEAN, RUN, BAND = "published", "kernel mean, 95 % CI", "one run", "95 % of single runs"

#: Series in the order of the legend, with the width each takes there.
_LEGEND = {PAPER: 78, MEAN: 148, RUN: 66, BAND: 120}
_COLOURS = {PAPER: PUBLISHED, MEAN: KERNEL, RUN: FAINT_INK, BAND: KERNEL}

Row = dict[str, float | str | None]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: a file name without ending, what it shows in words, and its Vega-Lite chart."""

    id: str
    title: str
    caption: str
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class _Axis:
    """The x axis: numbers if one number is swept, else one tick per point."""

    title: str
    numeric: bool
    names: tuple[str, ...]
    ticks: tuple[str, ...]

    def place(self, point: Point) -> float | str:
        settings = point.as_dict()
        if self.numeric:
            return setting_number(self.names[0], float(settings[self.names[0]]))
        return _words(point, self.names)


def _words(point: Point, names: tuple[str, ...]) -> str:
    settings = point.as_dict()
    return ", ".join(setting(name, settings[name]) for name in names) or "as published"


def _axis(parameters: tuple[Parameter, ...], points: tuple[PointSummary, ...]) -> _Axis:
    names = tuple(parameter.name for parameter in parameters)
    numeric = len(names) == 1 and all(
        not isinstance(point.point.as_dict()[names[0]], str) for point in points
    )
    titles = [setting_label(parameter.path) for parameter in parameters]
    if numeric and setting_quantity(names[0]).unit:
        titles = [f"{titles[0]} ({setting_quantity(names[0]).unit})"]
    return _Axis(
        title="; ".join([*titles[:1], *(f"{t[:1].lower()}{t[1:]}" for t in titles[1:])]) or "Point",
        numeric=numeric,
        names=names,
        ticks=tuple(_words(point.point, names) for point in points),
    )


def _point_rows(points: tuple[PointSummary, ...], metric: Metric, axis: _Axis) -> list[Row]:
    rows: list[Row] = []
    scale = metric.quantity.scale
    for point in points:
        found, x = point.metrics[metric.name], axis.place(point.point)
        if found.estimate.pi95:
            low, high = found.estimate.pi95
            rows.append({"x": x, "lo": low * scale, "hi": high * scale, "series": BAND})
        if found.estimate.mean is not None:
            low, high = found.estimate.ci95 or (found.estimate.mean, found.estimate.mean)
            row: Row = {"x": x, "y": found.estimate.mean * scale, "series": MEAN}
            rows.append({**row, "lo": low * scale, "hi": high * scale})
        if found.published is not None:
            rows.append({"x": x, "y": float(found.published) * scale, "series": PAPER})
    return rows


def _run_rows(cells: tuple[CellSummary, ...], metric: Metric, axis: _Axis) -> list[Row]:
    scale = metric.quantity.scale
    return [
        {"x": axis.place(cell.point), "y": value * scale, "series": RUN}
        for cell in cells
        if cell.excluded is None and (value := cell.values[metric.name].value) is not None
    ]


def _x(axis: _Axis) -> alt.X:
    if axis.numeric:
        return alt.X("x:Q", title=axis.title, scale=alt.Scale(zero=False, padding=14))
    ticks = list(dict.fromkeys(axis.ticks))
    return alt.X("x:N", title=axis.title, sort=ticks, axis=alt.Axis(labelAngle=-30))


def _symbol(chart: alt.Chart, series: str, aside_px: int = 0) -> alt.Chart:
    colour = _COLOURS[series]
    marked: alt.Chart
    if series == PAPER:
        marked = chart.mark_point(
            shape="diamond", size=62, strokeWidth=1.6, opacity=1, color=colour
        )
    elif series == BAND:
        marked = chart.mark_rule(strokeWidth=11, opacity=0.16, color=colour)
    else:
        size, opacity = (58, 1.0) if series == MEAN else (14, 0.7)
        marked = chart.mark_circle(size=size, opacity=opacity, color=colour, xOffset=aside_px)
    return marked


def _legend(series: list[str]) -> list[alt.Chart]:
    y_px, x_px = -16, 6
    one, layers = alt.Chart(alt.InlineData(values=[{}])), []
    for name in series:
        place = {"x": alt.value(x_px), "y": alt.value(y_px)}
        if name == BAND:
            place = {**place, "y": alt.value(y_px - 6), "y2": alt.value(y_px + 6)}
        words = one.mark_text(text=name, align="left", baseline="middle", color=INK, fontSize=11)
        layers += [
            _symbol(one, name).encode(**place),
            words.encode(x=alt.value(x_px + 10), y=alt.value(y_px)),
        ]
        x_px += _LEGEND[name]
    return layers


def _layers(rows: list[Row], metric: Metric, axis: _Axis) -> list[alt.Chart]:
    present = [name for name in _LEGEND if any(row["series"] == name for row in rows)]
    unit = f"{metric.label} ({metric.quantity.unit})" if metric.quantity.unit else metric.label
    x = _x(axis)
    y, low_y, high_y = (
        alt.Y(f"{field}:Q", title=unit, scale=alt.Scale(zero=False, nice=True))
        for field in ("y", "lo", "hi")
    )

    def of(series: str) -> alt.Chart:
        return alt.Chart(alt.InlineData(values=[row for row in rows if row["series"] == series]))

    bar = of(MEAN).mark_rule(strokeWidth=1.6, color=KERNEL)
    cap = of(MEAN).mark_tick(thickness=1.6, size=9, orient="horizontal", color=KERNEL)
    line = of(PAPER).mark_line(strokeWidth=1.2, strokeDash=[4, 3], color=PUBLISHED)
    drawn = {
        BAND: [_symbol(of(BAND), BAND).encode(x, low_y, y2="hi")],
        RUN: [_symbol(of(RUN), RUN, aside_px=9).encode(x, y)],
        PAPER: [line.encode(x, y), _symbol(of(PAPER), PAPER).encode(x, y)],
        MEAN: [
            bar.encode(x, low_y, y2="hi"),
            cap.encode(x, low_y),
            cap.encode(x, high_y),
            _symbol(of(MEAN), MEAN).encode(x, y),
        ],
    }
    layers = [part for name in (BAND, RUN, PAPER, MEAN) if name in present for part in drawn[name]]
    return [*layers, *_legend(present)]


def _chart(rows: list[Row], metric: Metric, axis: _Axis) -> dict[str, Any]:
    chart = (
        alt.layer(*_layers(rows, metric, axis))
        .properties(width=WIDTH_PX, height=HEIGHT_PX, background="transparent", padding=4)
        .configure(font="Liberation Sans, Arimo, Helvetica, Arial, sans-serif")
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
    found: dict[str, Any] = chart.to_dict()
    return found


def _shown_metrics(summary: Summary) -> list[str]:
    """Return the headline metrics; of two shares that add to 100 only the compared one."""
    hidden = set()
    if summary.compare and len(summary.groups) == 2:
        hidden = {f"share_{summary.compare.over}_pct"} & {*summary.headline}
        if f"share_{summary.compare.of}_pct" not in summary.headline:
            hidden = set()
    return [name for name in summary.headline if name not in hidden]


def figures(summary: Summary) -> tuple[Figure, ...]:
    """Return one figure per headline metric that has anything to show."""
    axis = _axis(summary.parameters, summary.points)
    table = summary.metric_table()
    found = []
    for name in _shown_metrics(summary):
        metric = table[name]
        rows = _point_rows(summary.points, metric, axis) + _run_rows(summary.cells, metric, axis)
        if rows:
            title = f"{metric.label}, by {axis.title[:1].lower()}{axis.title[1:]}"
            caption = _caption(rows, summary)
            found.append(
                Figure(id=name, title=title, caption=caption, spec=_chart(rows, metric, axis))
            )
    return tuple(found)


def _caption(rows: list[Row], summary: Summary) -> str:
    present = {row["series"] for row in rows}
    words = {
        PAPER: f"Diamonds: published ({summary.published_where}).",
        MEAN: "Discs with bars: the kernel's mean and its 95 % confidence interval.",
        RUN: "Dots: single kernel runs.",
        BAND: "Bands: where one further run falls with 95 % probability.",
    }
    return " ".join(text for name, text in words.items() if name in present)


def render_svg(figure: Figure) -> str:
    """Return the figure as SVG text."""
    return str(vl_convert.vegalite_to_svg(dict(figure.spec), allowed_base_urls=[]))


#: A resource dictionary of a PDF page: the writer lists its entries in random order.
_PDF_RESOURCES = re.compile(rb"(<<\n)((?:[ ]+/[a-z]{2}\d+ [^\n]*\n)+)")


def render_pdf(svg: str) -> bytes:
    """Return a drawn figure as PDF; its resource lists are sorted, so equal figures are equal."""
    drawn: bytes = vl_convert.svg_to_pdf(svg)
    return _PDF_RESOURCES.sub(
        lambda found: found[1] + b"".join(sorted(found[2].splitlines(keepends=True))), drawn
    )
