"""Which runs, with which losses, the increase at equal loss is fitted to. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from model.run_files.cells import RunWarning
from model.run_files.point import Point
from model.run_files.study import Compare, Study
from model.run_files.summary_points import LossAdjustment
from reports.inference.equal_loss import at_equal_loss
from reports.inference.statistics import Estimate, unknown
from reports.measures.metrics import Value

INCREASE = "pct_increase"
#: Below this p value one slope, or one spread, is not believed of all points: 5 % for both tests.
DOUBTFUL_P = 0.05 / 2


class _Cell(Protocol):
    """What is needed of a measuring cell of the summary."""

    @property
    def point(self) -> Point: ...

    @property
    def excluded(self) -> str | None: ...

    @property
    def values(self) -> Mapping[str, Value]: ...


def _log_ratio(values: Mapping[str, Value], compare: Compare) -> float | None:
    """Return ln(loss_over / loss_of); None if either is 0 or not known."""
    of, over = (values[f"loss_{group}_frac"].value for group in (compare.of, compare.over))
    return math.log(over / of) if of and over else None


def adjusted_increases(
    study: Study, cells: Sequence[_Cell]
) -> tuple[LossAdjustment | None, dict[Point, Estimate]]:
    """Return the fit over the runs that count, and the increase at equal loss by point.

    None and nothing if the study compares no groups. A point one of whose runs has no increase has
    none at equal loss either, for the same reason.
    """
    if study.compare is None:
        return None, {}
    runs: dict[Point, list[tuple[float | None, float]]] = {point: [] for point in study.points}
    lacking: dict[Point, Estimate] = {}
    for cell in cells:
        if cell.excluded is not None:
            continue
        increase = cell.values[INCREASE]
        if increase.value is None:
            lacking[cell.point] = unknown(0, f"a run has no increase: {increase.reason}")
            continue
        runs[cell.point].append((_log_ratio(cell.values, study.compare), increase.value))
    fitted = [point for point in study.points if point not in lacking]
    fit, found = at_equal_loss([runs[point] for point in fitted])
    return fit, {**dict(zip(fitted, found, strict=True)), **lacking}


def doubts(fit: LossAdjustment | None) -> tuple[RunWarning, ...]:
    """Return a warning if one slope or one spread does not fit all points."""
    if fit is None:
        return ()
    p_values = {"slope": fit.equal_slopes_p, "spread": fit.equal_spread_p}
    found = {what: p for what, p in p_values.items() if p is not None}
    wrong = [f"{what} (p = {p:.2g})" for what, p in found.items() if p < DOUBTFUL_P]
    if not wrong:
        return ()
    return (
        RunWarning(
            rule="adjustment-doubtful",
            where=INCREASE,
            text=f"The points do not share one {' nor one '.join(wrong)}; the increase at equal "
            "loss assumes they do. Trust the plain one.",
        ),
    )
