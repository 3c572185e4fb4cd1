"""A study's decisive number over two swept settings, as a table whose cells have colours. Pure.

Invariant: every number is printed; a colour only repeats it. Escaping is the template's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from model.run_files.point import Point
from model.run_files.study import INCREASE
from reports.measures.metrics import Metric
from reports.measures.quantities import called, interval, number, setting_label, typographic
from reports.verdict.limits import limits_of, within
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary

#: Tables with more rows are folded.
MOST_ROWS = 8


@dataclass(frozen=True, kw_only=True)
class HeatCell:
    """A mean and its interval; ``part`` of the deepest colour, of what is ``more`` or ``less``.

    ``link`` is the id of the figure that shows the point.
    """

    text: str
    interval: str
    part: float
    side: Literal["more", "less"]
    link: str


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """The table: rows by the first swept setting, columns by the second."""

    caption: str
    metric: str
    corner: str
    across: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    centred: bool

    @property
    def folded(self) -> bool:
        """Whether it is too high to be seen unasked."""
        return len(self.rows) > MOST_ROWS


def heat_map(summary: Summary, links: Mapping[Point, str]) -> HeatMap | None:
    """Return the table of a study; None unless two settings were run in every combination.

    Args:
        summary: of the study.
        links: the ids of figures that show single points.
    """
    if len(summary.parameters) != 2 or not summary.headline:
        return None
    down, across = summary.parameters
    at = {
        (values[down.name], values[across.name]): point
        for point in summary.points
        for values in [point.point.as_dict()]
    }
    lows, highs = (list(dict.fromkeys(pair[place] for pair in at)) for place in (0, 1))
    if min(len(lows), len(highs)) < 2 or len(at) < len(lows) * len(highs):
        return None
    name = INCREASE if INCREASE in summary.headline else summary.headline[0]
    metric = summary.metric_table()[name]
    unit = f" in {metric.quantity.unit}" if metric.quantity.unit else ""
    shade = _Shade([point.metrics[name] for point in at.values()], centred=name == INCREASE)
    return HeatMap(
        caption=f"{metric.label}{unit}: the mean of the runs, and its 95 % interval",
        metric=name,
        corner=setting_label(down.path),
        across=setting_label(across.path),
        heads=tuple(called(across, value) for value in highs),
        rows=tuple(
            (
                called(down, low),
                tuple(_cell(at[low, high], metric, shade, links) for high in highs),
            )
            for low in lows
        ),
        centred=name == INCREASE,
    )


class _Shade:
    """How deep a value's colour is: by its distance from 0, or from the least of all."""

    def __init__(self, found: Sequence[MetricSummary], *, centred: bool) -> None:
        means = [one.estimate.mean for one in found if one.estimate.mean is not None] or [0.0]
        self._from = 0.0 if centred else min(means)
        self._far = max(abs(mean - self._from) for mean in means) or 1.0

    def part(self, mean: float | None) -> float:
        """Return the part of the deepest colour, with its sign; 0 if there is no mean."""
        return 0.0 if mean is None else (mean - self._from) / self._far


def _cell(
    point: PointSummary, metric: Metric, shade: _Shade, links: Mapping[Point, str]
) -> HeatCell:
    found = point.metrics[metric.name]
    mean, ci95 = found.estimate.mean, found.estimate.ci95
    part = shade.part(mean)
    bounds = within(limits_of(metric.name), ci95) if ci95 else None
    return HeatCell(
        text=typographic(number(mean, metric.quantity)),
        interval=typographic(interval(bounds, metric.quantity)) if bounds else "",
        part=round(abs(part), 3),
        side="less" if part < 0 else "more",
        link=links.get(point.point, f"figure-{metric.name}"),
    )
