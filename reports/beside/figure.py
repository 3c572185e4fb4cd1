"""The figure of a comparison: the metric that differs most along the sweep, run and own. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt

from model.run_files.comparing.own_results import Beside, OwnResults
from reports.beside.tables import unjudged
from reports.figures.chart import GOOD, KERNEL, Figure, Key, layered, marked
from reports.figures.sweep_axis import axis_of
from reports.measures.judged import metric_table, ranked

#: What is at one place stands side by side.
_ASIDE_PX = 7


def told_first(found: OwnResults, metric: str = "") -> str:
    """Return the metric that is drawn: the one asked for, or what differs most."""
    return metric or (ranked(found) or unjudged(found))[0].metric


def figure(found: OwnResults, metric: str = "") -> Figure:
    """Return the figure of a metric: means with 95 % intervals of both, at each point."""
    metric = told_first(found, metric)
    shown = metric_table(found)[metric]
    quantity = shown.quantity
    beside = [one for one in found.comparisons if one.metric == metric]
    axis = axis_of(found.parameters, [one.point for one in beside])
    looks = {
        "the run": {"type": "circle", "size": 58, "opacity": 1, "color": KERNEL},
        found.source: {"type": "square", "size": 50, "opacity": 1, "color": GOOD},
    }
    title = f"{shown.label} ({quantity.unit})" if quantity.unit else shown.label
    scale = alt.Scale(zero=False, nice=True, padding=6)
    y, low_y = (alt.Y(f"{field}:Q", title=title, scale=scale) for field in ("y", "lo"))
    layers, keys = [], []
    for index, (name, mark) in enumerate(looks.items()):
        rows = [_row(axis.place(one.point), one, index, quantity.scale) for one in beside]
        aside = {"xOffset": (2 * index - 1) * _ASIDE_PX}
        data = alt.InlineData(values=rows)
        layers.append(marked(data, {**mark, **aside}).encode(axis.x(), y))
        bars = alt.InlineData(values=[row for row in rows if "lo" in row])
        bar = {"type": "rule", "strokeWidth": 1.6, "color": mark["color"], **aside}
        layers.append(marked(bars, bar).encode(axis.x(), low_y, y2="hi"))
        keys.append(Key(name, mark))
    spec, zoomable = layered(layers, keys)
    return Figure(
        id="comparison", title=f"{shown.label}: the run and {found.source}", spec=spec,
        zoomable=zoomable,
        caption="Means over replicates; bars are 95 % confidence intervals, where there are two "
        "replicates or more.",
    )  # fmt: skip


def _row(place: Any, one: Beside, index: int, scale: float) -> dict[str, Any]:
    batch = (one.run, one.own)[index]
    row: dict[str, Any] = {"x": place, "y": (batch.mean or 0.0) * scale}
    if batch.ci95 is not None:
        row |= {"lo": batch.ci95[0] * scale, "hi": batch.ci95[1] * scale}
    return row
