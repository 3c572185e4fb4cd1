"""A metric over all points in a small picture: the kernel beside what was published. Pure.

Points stand side by side in the study's order, so names as well as numbers have their place; no
line joins them. The interval is that of the mean, inside what the metric can be.
"""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from reports.figures.plain.shapes import LETTER_PX, line, mark, picture, ticks, words
from reports.measures.metrics import Metric
from reports.measures.quantities import as_printed, called, number, typographic
from reports.verdict.limits import limits_of, within
from reports.verdict.points import MetricSummary
from reports.verdict.summary import Summary
from reports.verdict.words import Words

_WIDTH_PX, _HEIGHT_PX = 260.0, 132.0
_LEFT_PX, _TOP_PX, _FOOT_PX = 44.0, 8.0, 108.0
_TICKS = 3


def multiple(summary: Summary, metric: Metric) -> Markup | None:
    """Return the picture of a metric; None if no point has a number."""
    found = [point.metrics[metric.name] for point in summary.points]
    shown = [value for one in found for value in _values(one, metric)]
    if not shown:
        return None
    low, high = min(shown), max(shown)
    if high - low < abs(high) * 1e-6 or high == low:
        low, high = min(0.0, low * 1.2), max(0.0, high * 1.2) or 1.0

    def height(value: float) -> float:
        return _FOOT_PX - 6 - (value - low) / (high - low) * (_FOOT_PX - _TOP_PX - 12)

    parts = []
    for tick in ticks(low, high, _TICKS):
        text = typographic(f"{tick:.10g}")
        parts.append(line(_LEFT_PX, height(tick), _WIDTH_PX, height(tick), "row"))
        parts.append(words(_LEFT_PX - 5, height(tick) + 4, text, "faint", "end"))
    step = (_WIDTH_PX - _LEFT_PX) / len(found)
    places = _places(summary)
    for index, (place, one) in enumerate(zip(places, found, strict=True)):
        parts += _point(one, metric, summary.system, _LEFT_PX + step * (index + 0.5), place, height)
    parts += _below(places, step)
    label = f"{metric.label} at {len(found)} points" if len(found) > 1 else metric.label
    return picture(label, _WIDTH_PX, _HEIGHT_PX, parts)


def _values(found: MetricSummary, metric: Metric) -> list[float]:
    """Return all there is to show of a point, in the unit shown."""
    values = (found.estimate.mean, *_ci95(found, metric), found.published)
    return [float(value) * metric.quantity.scale for value in values if value is not None]


def _ci95(found: MetricSummary, metric: Metric) -> tuple[float, ...]:
    return within(limits_of(metric.name), found.estimate.ci95) if found.estimate.ci95 else ()


def _point(
    found: MetricSummary, metric: Metric, system: str, x: float, place: str,
    height: Callable[[float], float],
) -> list[Markup]:  # fmt: skip
    quantity, parts = metric.quantity, []
    mean, published = found.estimate.mean, found.published
    if mean is not None:
        if found.estimate.ci95:
            low, high = (end * quantity.scale for end in _ci95(found, metric))
            parts.append(line(x - 3, height(low), x - 3, height(high), "bar"))
        told = f"{place}: {system} {typographic(number(mean, quantity))}{quantity.suffix}"
        parts.append(mark("kernel", x - 3, height(mean * quantity.scale), told, 3.2))
    if published is not None:
        printed = typographic(as_printed(published, quantity))
        told = f"{place}: published {printed}{quantity.suffix}"
        parts.append(mark("published", x + 4, height(float(published) * quantity.scale), told, 3))
    return parts


def _places(summary: Summary) -> list[str]:
    """Return points as a small picture names them: by the settings that tell them apart."""
    namer = Words(summary.metric_table(), summary.parameters)
    naming = namer.naming(point.point for point in summary.points)
    telling = [one for one in summary.parameters if one.name in naming]
    values = [point.point.as_dict() for point in summary.points]
    return [", ".join(called(one, at[one.name]) for one in telling) or "all runs" for at in values]


def _below(places: list[str], step: float) -> list[Markup]:
    """Return the names of the points: all where there is room, else the first and the last."""
    y = _HEIGHT_PX - 8
    fits = all(len(one) * LETTER_PX < step - 4 for one in places)
    if fits or len(places) == 1:
        return [
            words(_LEFT_PX + step * (index + 0.5), y, one, "faint", "middle")
            for index, one in enumerate(places)
        ]
    return [
        words(_LEFT_PX, y, places[0], "faint"),
        words(_WIDTH_PX, y, places[-1], "faint", "end"),
    ]
