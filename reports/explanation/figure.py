"""The figure of an explanation: a metric along the sweep, as it is, with all mechanisms, published.

Pure.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from model.run_files.comparing.explanation import Explanation
from reports.explanation.tables import label_of, points_of, quantity_of
from reports.figures.chart import GOOD, KERNEL, PUBLISHED, Figure, Key, layered, marked
from reports.figures.sweep_axis import axis_of

AS_IS, WITH_ALL, PAPER = "the kernel as it is", "with all mechanisms as published", "published"
_LOOKS: dict[str, dict[str, Any]] = {
    PAPER: {"type": "point", "shape": "diamond", "size": 62, "strokeWidth": 1.6, "opacity": 1,
            "color": PUBLISHED},
    AS_IS: {"type": "circle", "size": 58, "opacity": 1, "color": KERNEL},
    WITH_ALL: {"type": "square", "size": 50, "opacity": 1, "color": GOOD},
}  # fmt: skip
#: What is at one place stands side by side.
_ASIDE_PX = {PAPER: 0, AS_IS: -7, WITH_ALL: 7}


def figure(found: Explanation) -> Figure:
    """Return the figure of the metric that is told of first."""
    metric = found.metric
    quantity, points = quantity_of(found, metric), points_of(found, metric)
    axis = axis_of(found.parameters, points)
    everything = max(found.runs, key=lambda run: len(run.mechanisms)).run
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _LOOKS}
    for level in found.levels:
        if level.metric != metric or level.run not in (found.runs[0].run, everything):
            continue
        place = {"x": axis.place(level.point)}
        name = WITH_ALL if level.run == everything else AS_IS
        if level.mean is not None and level.ci95 is not None:
            low, high = (end * quantity.scale for end in level.ci95)
            rows[name].append({**place, "y": level.mean * quantity.scale, "lo": low, "hi": high})
        if name == AS_IS and level.published is not None:
            rows[PAPER].append({**place, "y": level.published * quantity.scale})
    title = (
        f"{label_of(found, metric)} ({quantity.unit})" if quantity.unit else label_of(found, metric)
    )
    scale = alt.Scale(zero=False, nice=True, padding=6)
    y, low_y = (alt.Y(f"{field}:Q", title=title, scale=scale) for field in ("y", "lo"))
    layers = []
    for name, mark in _LOOKS.items():
        data, aside = alt.InlineData(values=rows[name]), {"xOffset": _ASIDE_PX[name]}
        layers.append(marked(data, {**mark, **aside}).encode(axis.x(), y))
        bar = {"type": "rule", "strokeWidth": 1.6, "color": mark["color"], **aside}
        if name != PAPER:
            layers.append(marked(data, bar).encode(axis.x(), low_y, y2="hi"))
    keys = [Key(name, mark) for name, mark in _LOOKS.items() if rows[name]]
    spec, zoomable = layered(layers, keys)
    return Figure(
        id="explanation", title=f"{label_of(found, metric)}, as it is and as published", spec=spec,
        zoomable=zoomable,
        caption="Discs and squares with bars: means over seeds with 95 % confidence intervals. "
        "Diamonds: published.",
    )  # fmt: skip
