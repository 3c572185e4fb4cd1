"""Whether a metric is known precisely enough at each point, and how many more runs it takes. Pure.

After each round: Student's half-width of the 95 % interval of the mean against the one wanted. A
point stops when it is reached, or at its limit; else it gets twice as many runs. So there are few
numbers of runs at which it can stop, and verdicts are corrected for all of them (:func:`looks`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from model.run_files.point import Point
from model.run_files.study import Precision, Study
from model.run_files.summary import PointReplication
from model.run_files.summary_fields import Stopped
from reports.inference.statistics import estimate, student_t
from reports.measures.metrics import Value


class CellValues(Protocol):
    """What is needed of a finished measuring cell."""

    @property
    def point(self) -> Point:
        """Where on the sweep."""

    @property
    def replicate(self) -> int:
        """Its number at that point, from 1."""

    @property
    def excluded(self) -> str | None:
        """Why it does not count, or None."""

    @property
    def values(self) -> Mapping[str, Value]:
        """Its metrics by name."""


@dataclass(frozen=True, kw_only=True)
class Replication:
    """What is to be known how precisely, and how far each point is.

    ``metric`` is None if it was to be found and no headline metric differs between runs.
    """

    metric: str | None
    precision: Precision
    points: tuple[PointReplication, ...]

    @property
    def chosen(self) -> bool:
        """Whether the metric is the report's choice, not the study's."""
        return self.precision.metric is None


def replication(
    study: Study, cells: Sequence[CellValues], planned: Mapping[Point, int]
) -> Replication | None:
    """Return how far a run is that adds runs as needed; None for one with a fixed number.

    Args:
        study: whose points and precision.
        cells: finished measuring cells.
        planned: how many measuring cells each point has so far.
    """
    precision = study.precision
    if precision is None:
        return None
    counted = [cell for cell in cells if cell.excluded is None]
    metric = precision.metric or _first_that_differs(study, counted, precision.at_least)
    points = []
    for point in study.points:
        here = [cell for cell in counted if cell.point == point]
        values = [cell.values[metric] for cell in here] if metric else []
        points.append(_state(point, values, planned.get(point, 0), precision, metric))
    return Replication(metric=metric, precision=precision, points=tuple(points))


def _first_that_differs(study: Study, cells: Sequence[CellValues], at_least: int) -> str | None:
    """Return the first headline metric with a spread at some point and a value in every run.

    Only the first round is looked at, so that later ones go on with the same metric.
    """
    first = [cell for cell in cells if cell.replicate <= at_least]
    for name in study.metrics:
        values: dict[Point, set[float | None]] = {}
        for cell in first:
            values.setdefault(cell.point, set()).add(cell.values[name].value)
        if not any(None in found for found in values.values()) and any(
            len(found) > 1 for found in values.values()
        ):
            return name
    return None


def _state(
    point: Point, values: Sequence[Value], runs: int, precision: Precision, metric: str | None
) -> PointReplication:
    def state(
        words: str, stopped: Stopped | None = None, half: float | None = None,
        wanted: float | None = None, more: int = 0,
    ) -> PointReplication:  # fmt: skip
        return PointReplication(
            point=point, runs=runs, half_width=half, wanted=wanted, stopped=stopped, more=more,
            words=words,
        )  # fmt: skip

    if runs < precision.at_least:
        return state("begins with these", more=precision.at_least - runs)
    if metric is None:
        return state("no metric the study asks for differs between runs", "equal")
    missing = [value.reason for value in values if value.value is None]
    if missing:
        return state(f"not measured in {len(missing)} of {len(values)} runs: {missing[0]}",
                     "unmeasured")  # fmt: skip
    numbers = [value.value for value in values if value.value is not None]
    found = estimate(numbers)
    if found.mean is None or found.sd is None:
        if runs >= precision.at_most:
            return state(f"fewer than 2 of {runs} runs count", "limit")
        return state("fewer than 2 runs count", more=min(runs, precision.at_most - runs))
    half = student_t(found.n - 1) * found.sd / math.sqrt(found.n)
    wanted = _wanted(precision, found.mean)
    if half <= wanted:
        equal = "all runs equal" if found.sd == 0 else "as narrow as wanted"
        return state(equal, "precise", half, wanted)
    if runs >= precision.at_most:
        return state("not as narrow as wanted at the most runs allowed", "limit", half, wanted)
    more = next_runs(runs, precision.at_most) - runs
    return state("not as narrow as wanted yet", None, half, wanted, more)


def _wanted(precision: Precision, mean: float) -> float:
    if precision.half_width is not None:
        return precision.half_width
    return (precision.relative_half_width or 0.0) * abs(mean)


def next_runs(runs: int, at_most: int) -> int:
    """Return how many runs to have after the next round: twice as many."""
    return min(2 * runs, at_most)


def looks(precision: Precision | None, planned: Iterable[int]) -> int:
    """Return at how many numbers of runs the points of a run can have stopped.

    Whatever decides at which of them, a test at each is wrong at any of them at most as often as
    all of these together. A run that stands at another number (one of an older version, or one
    that was interrupted) may have stopped at any.
    """
    if precision is None:
        return 1
    rounds = [precision.at_least]
    while rounds[-1] < precision.at_most:
        rounds.append(next_runs(rounds[-1], precision.at_most))
    if all(number in rounds for number in planned):
        return len(rounds)
    return precision.at_most - precision.at_least + 1
