"""The figure of several kernels: a metric on each of them along the sweep, and as published."""

from __future__ import annotations

from typing import Any

import altair as alt

from model.run_files.comparing.kernels import Kernels, Level
from model.run_files.quantity import Quantity
from reports.figures.chart import BAD, GOOD, INK, KERNEL, PUBLISHED, Figure, Key, layered, marked
from reports.figures.sweep_axis import Axis, axis_of
from reports.kernels.tables import first_metric, metric_table, names

PAPER = "published"
#: How kernels look: in order, and again from the first where there are more.
_LOOKS = (("circle", KERNEL), ("square", GOOD), ("triangle-up", BAD), ("triangle-down", INK))
_PUBLISHED: dict[str, Any] = {
    "type": "point", "shape": "diamond", "size": 62, "strokeWidth": 1.6, "opacity": 1,
    "color": PUBLISHED,
}  # fmt: skip
#: What is at one place stands side by side.
_ASIDE_PX = 7


def figure(found: Kernels) -> Figure:
    """Return the figure of the metric that is told of first."""
    metric = metric_table(found)[first_metric(found)]
    levels = [one for one in found.levels if one.metric == metric.name]
    axis = axis_of(found.parameters, list(dict.fromkeys(one.point for one in levels)))
    unit = f" ({metric.quantity.unit})" if metric.quantity.unit else ""
    scale = alt.Scale(zero=False, nice=True, padding=6)
    y, low_y = (alt.Y(f"{at}:Q", title=metric.label + unit, scale=scale) for at in ("y", "lo"))
    layers, keys = [], []
    for place, kernel in enumerate(names(found)):
        shape, colour = _LOOKS[place % len(_LOOKS)]
        rows = _rows([one for one in levels if one.kernel == kernel], axis, metric.quantity)
        data = alt.InlineData(values=rows)
        mark = {"type": "point", "shape": shape, "filled": True, "size": 55, "opacity": 1,
                "color": colour}  # fmt: skip
        aside = {"xOffset": _ASIDE_PX * (place - (len(found.runs) - 1) / 2)}
        layers.append(marked(data, {**mark, **aside}).encode(axis.x(), y))
        bar = {"type": "rule", "strokeWidth": 1.6, "color": colour, **aside}
        layers.append(marked(data, bar).encode(axis.x(), low_y, y2="hi"))
        keys.append(Key(kernel, mark))
    printed = [
        {"x": axis.place(one.point), "y": one.published * metric.quantity.scale}
        for one in levels
        if one.published is not None and one.kernel == names(found)[0]
    ]
    if printed:
        data = alt.InlineData(values=printed)
        layers.insert(0, marked(data, _PUBLISHED).encode(axis.x(), y))
        keys.append(Key(PAPER, _PUBLISHED))
    spec, zoomable = layered(layers, keys)
    diamonds = " Diamonds: published." if printed else ""
    return Figure(
        id="kernels", title=f"{metric.label} on each kernel", spec=spec, zoomable=zoomable,
        caption=f"Marks with bars: means over seeds with 95 % confidence intervals.{diamonds}",
    )  # fmt: skip


def _rows(levels: list[Level], axis: Axis, quantity: Quantity) -> list[dict[str, Any]]:
    """Return a kernel's levels as they are drawn; a bar of no length where there is no interval."""
    rows = []
    for one in levels:
        if one.mean is None:
            continue
        low, high = (end * quantity.scale for end in one.ci95 or (one.mean, one.mean))
        rows.append(
            {"x": axis.place(one.point), "y": one.mean * quantity.scale, "lo": low, "hi": high}
        )
    return rows
