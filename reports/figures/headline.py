"""One chart per headline metric: what the paper printed against the kernel's runs. Pure.

Each shows the kernel's mean with its confidence interval, the prediction interval of one further
run as a band, and every single run. Where only one run counts, there is that run alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import altair as alt

from reports.figures.along import along_figure, is_claimed
from reports.figures.chart import FAINT_INK, KERNEL, PUBLISHED, Figure, Key, Mark, layered, marked
from reports.figures.lines import lines_of
from reports.figures.sweep_axis import Axis, axis_of, y_scale
from reports.measures.metrics import Metric
from reports.verdict.limits import limits_of, within
from reports.verdict.points import PointSummary
from reports.verdict.summary import Summary

PAPER, MEAN, RUN, BAND = "published", "mean, 95 % CI", "one run", "95 % of single runs"
ALONE = "a run alone"

#: Series in the order of the legend, and how each is drawn.
_MARKS: dict[str, dict[str, Any]] = {
    PAPER: {"type": "point", "shape": "diamond", "size": 62, "strokeWidth": 1.6, "opacity": 1,
            "color": PUBLISHED},
    MEAN: {"type": "circle", "size": 58, "opacity": 1, "color": KERNEL},
    ALONE: {"type": "circle", "size": 58, "opacity": 1, "color": KERNEL},
    RUN: {"type": "circle", "size": 14, "opacity": 0.7, "color": FAINT_INK},
    BAND: {"type": "rule", "strokeWidth": 11, "opacity": 0.16, "color": KERNEL},
}  # fmt: skip
_BAR = {"type": "rule", "strokeWidth": 1.6, "color": KERNEL}
_CAP = {"type": "tick", "thickness": 1.6, "size": 9, "orient": "horizontal", "color": KERNEL}
_LINE = {"type": "line", "strokeWidth": 1.2, "strokeDash": [4, 3], "color": PUBLISHED}
#: An axis from 0 goes this far beyond the one value there is.
HEADROOM = 1.2
#: Single runs stand beside their mean, not on it.
_ASIDE_PX = 9

_SEED = alt.Tooltip("seed:Q", title="seed")

Row = dict[str, float | str | None]


def _point_rows(points: tuple[PointSummary, ...], metric: Metric, axis: Axis) -> list[Row]:
    rows: list[Row] = []
    scale = metric.quantity.scale
    for point in points:
        found, x = point.metrics[metric.name], axis.place(point.point)
        if found.estimate.pi95:
            low, high = within(limits_of(metric.name), found.estimate.pi95)
            rows.append({"x": x, "lo": low * scale, "hi": high * scale, "series": BAND})
        if found.estimate.mean is not None and found.estimate.ci95:
            low, high = within(limits_of(metric.name), found.estimate.ci95)
            row: Row = {"x": x, "y": found.estimate.mean * scale, "series": MEAN}
            rows.append({**row, "lo": low * scale, "hi": high * scale})
        if found.published is not None:
            rows.append({"x": x, "y": float(found.published) * scale, "series": PAPER})
    return rows


def _run_rows(summary: Summary, metric: Metric, axis: Axis) -> list[Row]:
    scale = metric.quantity.scale
    series = {
        point.point: RUN if point.metrics[metric.name].estimate.ci95 else ALONE
        for point in summary.points
    }
    return [
        {
            "x": axis.place(cell.point),
            "y": value * scale,
            "series": series[cell.point],
            "seed": cell.seed,
        }
        for cell in summary.cells
        if cell.excluded is None and (value := cell.values[metric.name].value) is not None
    ]


def _y_axis(rows: list[Row], metric: Metric) -> tuple[alt.Scale, alt.Axis]:
    """Return the y axis; where all values are one as shown, from 0, with a tick at the value."""
    digits = metric.quantity.decimals
    ends = [row[name] for row in rows for name in ("y", "lo", "hi") if name in row]
    numbers = [end for end in ends if isinstance(end, int | float)]
    shown = {round(end, digits) for end in numbers}
    if len(shown) > 1:
        return y_scale(metric.name, min(numbers), max(numbers)), alt.Axis()
    (value,) = shown
    far = value * HEADROOM or 1.0
    scale = alt.Scale(domain=[min(0.0, far), max(0.0, far)], nice=False)
    return scale, alt.Axis(values=sorted({0.0, value}), format=f".{digits}f")


def _layers(rows: list[Row], metric: Metric, axis: Axis, present: list[str]) -> list[alt.Chart]:
    unit = f"{metric.label} ({metric.quantity.unit})" if metric.quantity.unit else metric.label
    x = axis.x()
    scale, ticks = _y_axis(rows, metric)
    y, low_y, high_y = (
        alt.Y(f"{field}:Q", title=unit, scale=scale, axis=ticks) for field in ("y", "lo", "hi")
    )

    def of(series: str, mark: Mark) -> alt.Chart:
        found = alt.InlineData(values=[row for row in rows if row["series"] == series])
        return marked(found, mark)

    def told(*fields: str) -> list[alt.Tooltip]:
        digits = f".{metric.quantity.decimals}f"
        words = {"y": unit, "lo": "from", "hi": "to"}
        place = alt.Tooltip("x:Q" if axis.numeric else "x:N", title=axis.title)
        shown = [alt.Tooltip(f"{name}:Q", title=words[name], format=digits) for name in fields]
        return [alt.Tooltip("series:N", title="what"), place, *shown]

    cap, run = of(MEAN, _CAP), {**_MARKS[RUN], "xOffset": _ASIDE_PX}
    # Between names there is nothing that a line could tell.
    trend = [of(PAPER, _LINE).encode(x, y)] * axis.numeric
    drawn = {
        BAND: [of(BAND, _MARKS[BAND]).encode(x, low_y, y2="hi", tooltip=told("lo", "hi"))],
        RUN: [of(RUN, run).encode(x, y, tooltip=[*told("y"), _SEED])],
        PAPER: [
            *trend,
            of(PAPER, _MARKS[PAPER]).encode(x, y, tooltip=told("y")),
        ],
        ALONE: [of(ALONE, _MARKS[ALONE]).encode(x, y, tooltip=[*told("y"), _SEED])],
        MEAN: [
            of(MEAN, _BAR).encode(x, low_y, y2="hi"),
            cap.encode(x, low_y),
            cap.encode(x, high_y),
            of(MEAN, _MARKS[MEAN]).encode(x, y, tooltip=told("y", "lo", "hi")),
        ],
    }
    order = (BAND, RUN, PAPER, ALONE, MEAN)
    return [part for name in order if name in present for part in drawn[name]]


def _shown_metrics(summary: Summary) -> list[str]:
    """Return the headline metrics; of two shares that add to 100 only the compared one."""
    hidden = set()
    if summary.compare and len(summary.groups) == 2:
        hidden = {f"share_{summary.compare.over}_pct"} & {*summary.headline}
        if f"share_{summary.compare.of}_pct" not in summary.headline:
            hidden = set()
    return [name for name in summary.headline if name not in hidden]


def headline_figures(
    summary: Summary, also: Mapping[str, str | None] = MappingProxyType({})
) -> tuple[Figure, ...]:
    """Return one figure per headline metric, and per metric of ``also``, with anything to show.

    ``also`` says which published figure is the counterpart of each, or None.
    """
    every = [point.point for point in summary.points]
    axis, lines = axis_of(summary.parameters, every), lines_of(summary.parameters, every)
    table = summary.metric_table()
    found = []
    for name in dict.fromkeys((*_shown_metrics(summary), *also)):
        metric = table[name]
        if lines and all(point.metrics[name].published is None for point in summary.points):
            # Along the first setting each metric, along others what the study claims something of.
            made = [
                along_figure(summary, metric, one, also.get(name))
                for place, one in enumerate(lines)
                if not place or is_claimed(summary, name, one.parameter.name)
            ]
            charts = [figure for figure in made if figure]
            # What leads to a metric leads to its first chart.
            found += [dataclasses.replace(one, id=name) for one in charts[:1]] + charts[1:]
            continue
        rows = _point_rows(summary.points, metric, axis) + _run_rows(summary, metric, axis)
        if rows:
            present = [name for name in _MARKS if any(row["series"] == name for row in rows)]
            spec, zoomable = layered(
                _layers(rows, metric, axis, present),
                [_key(one, summary.system) for one in present],
                zoom=("x", "y") if axis.numeric else ("y",),
            )
            found.append(
                Figure(
                    id=name,
                    title=f"{metric.label}, by {axis.title[:1].lower()}{axis.title[1:]}",
                    caption=_caption(present, summary.tables_of(name)),
                    spec=spec,
                    zoomable=zoomable,
                    where=also.get(name),
                )
            )
    return tuple(found)


def _key(series: str, system: str) -> Key:
    called = {MEAN: f"{system} {MEAN}", ALONE: f"{system}, one run"}
    return Key(called.get(series, series), _MARKS[series], "bar" if series == BAND else "point")


def _caption(present: list[str], tables: str) -> str:
    words = {
        PAPER: f"Diamonds: published ({tables}).",
        MEAN: "Discs with bars: the mean of the runs and its 95 % confidence interval.",
        ALONE: "Discs without bars: single runs." if MEAN in present else "Discs: single runs.",
        RUN: "Dots: single runs.",
        BAND: "Bands: where one further run falls with 95 % probability.",
    }
    return " ".join(text for name, text in words.items() if name in present)
