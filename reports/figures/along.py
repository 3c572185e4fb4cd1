"""One chart per metric along a swept setting where others are swept, too: a line for each. Pure.

What stands for a printed figure of "this against that for both protocols": means with their
confidence intervals, joined where nothing but the setting differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from model.run_files.quantity import Quantity
from reports.figures.chart import Figure, Key, layered, look, marked
from reports.figures.lines import Lines
from reports.figures.sweep_axis import y_scale
from reports.measures.metrics import Metric
from reports.measures.quantities import setting_label, setting_quantity
from reports.verdict.limits import limits_of, within
from reports.verdict.points import PointSummary
from reports.verdict.summary import Summary

#: Shapes of lines in order: to who sees no colours they are told apart by them.
_SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left",
    "triangle-right",
)  # fmt: skip
#: Bars of different lines at one value stand side by side.
_ASIDE_PX = 4.0


def is_claimed(summary: Summary, metric: str, along: str) -> bool:
    """Return whether a claim compares a metric where nothing but this setting differs."""
    for verdict in summary.verdicts:
        for judged in verdict.comparisons:
            one = judged.comparison
            if one.versus is None or metric not in (one.metric, one.versus.metric):
                continue
            here, there = one.point.as_dict(), one.versus.point.as_dict()
            if {name for name in here if here[name] != there.get(name)} == {along}:
                return True
    return False


def along_figure(
    summary: Summary, metric: Metric, lines: Lines, where: str | None
) -> Figure | None:
    """Return the chart of a metric along a setting, by that name; None if no point has a value."""
    points = {one.point: one for one in summary.points}
    name = lines.parameter.name
    largest = max(lines.place(point) for _, line in lines.lines for point in line)
    quantity = setting_quantity(name, largest)
    unit = f" ({metric.quantity.unit})" if metric.quantity.unit else ""
    title = setting_label(lines.parameter.path)
    x = alt.X(
        "x:Q", title=f"{title} ({quantity.unit})" if quantity.unit else title,
        scale=alt.Scale(zero=False, padding=14),
    )  # fmt: skip
    drawn = [
        (called, _rows([points[one] for one in line if one in points], metric, lines, quantity))
        for called, line in lines.lines
    ]
    if not any(rows for _, rows in drawn):
        return None
    lowest, highest = (
        pick(row[end] for _, rows in drawn for row in rows)
        for pick, end in ((min, "lo"), (max, "hi"))
    )
    scale = y_scale(metric.name, lowest, highest)
    y, low_y = (alt.Y(f"{at}:Q", title=metric.label + unit, scale=scale) for at in ("y", "lo"))
    layers, keys = [], []
    middle = (len(lines.lines) - 1) / 2
    for number, (called, rows) in enumerate(drawn):
        if not rows:
            continue
        style = look(number)
        colour, aside = style["color"], {"xOffset": _ASIDE_PX * (number - middle)}
        data = alt.InlineData(values=[{**row, "line": called or "mean"} for row in rows])
        mark = {"type": "point", "shape": _SHAPES[number % len(_SHAPES)], "filled": True,
                "size": 55, "opacity": 1, "color": colour}  # fmt: skip
        digits = f".{metric.quantity.decimals}f"
        told = [
            alt.Tooltip("line:N", title="what"), alt.Tooltip("x:Q", title=title),
            alt.Tooltip("y:Q", title=metric.label + unit, format=digits),
            alt.Tooltip("lo:Q", title="from", format=digits),
            alt.Tooltip("hi:Q", title="to", format=digits), alt.Tooltip("n:Q", title="runs"),
        ]  # fmt: skip
        bar = {"type": "rule", "strokeWidth": 1.6, "color": colour, **aside}
        stroke = {"type": "line", "strokeWidth": 1.4, **style, **aside}
        layers += [
            marked(data, stroke).encode(x, y), marked(data, bar).encode(x, low_y, y2="hi"),
            marked(data, {**mark, **aside}).encode(x, y, tooltip=told),
        ]  # fmt: skip
        keys.append(Key(called or "mean", mark))
    spec, zoomable = layered(layers, keys)
    shared = f": {lines.shared}" if lines.shared else ""
    return Figure(
        id=f"{metric.name}-along-{name}",
        title=f"{metric.label}, by {title[:1].lower()}{title[1:]}{shared}",
        caption="Marks with bars: means over the runs with 95 % confidence intervals; a mark "
        "without a bar: a single run, or runs that are all equal. Lines join what differs in "
        "nothing else.",
        spec=spec, zoomable=zoomable, where=where,
    )  # fmt: skip


def _rows(
    points: Sequence[PointSummary], metric: Metric, lines: Lines, quantity: Quantity
) -> list[dict[str, Any]]:
    rows = []
    for one in points:
        found = one.metrics[metric.name].estimate
        if found.mean is None:
            continue
        low, high = within(limits_of(metric.name), found.ci95 or (found.mean, found.mean))
        scale = metric.quantity.scale
        rows.append(
            {
                "x": lines.place(one.point) * quantity.scale, "y": found.mean * scale,
                "lo": low * scale, "hi": high * scale, "n": found.n,
            }
        )  # fmt: skip
    return rows
