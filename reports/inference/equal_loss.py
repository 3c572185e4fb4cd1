"""The increase at equal realised loss: what groups would differ by had both lost alike. Pure.

Analysis of covariance: at every point an intercept, over all points one slope of the increase on
ln(loss_over / loss_of); the intercepts are the increases at equal loss. Invariant: a point one of
whose runs lacks a loss has no adjusted value, and what is too little to fit has none either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.run_files.summary_points import LossAdjustment
from model.words import how_many
from reports.inference.distributions import f_above, same_spread_p
from reports.inference.statistics import Estimate, around, student_t, unknown

Floats = npt.NDArray[np.float64]
#: One run: ln(loss_over / loss_of), None where a loss is 0 or unknown; and its increase in %.
Run = tuple[float | None, float]
#: Fewer runs at a point tell nothing of its own spread.
RUNS_FOR_SPREAD = 3
NO_LOSS = "a group's realised loss is 0 or not known in {} of {} runs"


@dataclass(frozen=True)
class _Data:
    """The runs of all usable points: point number, log ratio of losses and increase of each."""

    point: npt.NDArray[np.int64]
    log_ratio: Floats
    increase: Floats
    points: int

    def intercepts(self) -> Floats:
        """Return one column per point that is 1 for its runs."""
        return np.asarray(self.point[:, None] == np.arange(self.points), dtype=np.float64)


def _unfitted(data: _Data, reason: str) -> LossAdjustment:
    return LossAdjustment(
        runs=len(data.increase), degrees_of_freedom=0, slope=None, slope_ci95=None, plain_sd=None,
        residual_sd=None, equal_slopes_p=None, equal_spread_p=None, reason=reason,
    )  # fmt: skip


def _collect(points: Sequence[Sequence[Run]]) -> tuple[_Data, list[int]]:
    """Return the data, and the points in it; a point with an unknown loss is left out whole."""
    usable = [i for i, runs in enumerate(points) if runs and all(x is not None for x, _ in runs)]
    rows = [(place, x, y) for place, i in enumerate(usable) for x, y in points[i]]
    return _Data(
        point=np.array([row[0] for row in rows], dtype=np.int64),
        log_ratio=np.array([row[1] for row in rows], dtype=np.float64),
        increase=np.array([row[2] for row in rows], dtype=np.float64),
        points=len(usable),
    ), usable


def _residuals(design: Floats, values: Floats) -> tuple[Floats, Floats, int]:
    """Return the coefficients of least squares, what they leave, and the design's rank."""
    found, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    return np.asarray(found, dtype=np.float64), values - design @ found, int(rank)


def _equal_slopes_p(data: _Data, common: Floats, rank: int) -> float | None:
    """Return the p value of the F test of one slope against one for each point."""
    each = data.intercepts()
    _, own, own_rank = _residuals(np.hstack([each, each * data.log_ratio[:, None]]), data.increase)
    left = len(own) - own_rank
    noise = float(own @ own)
    if left < 1 or own_rank == rank or noise == 0:
        return None
    gained = float(common @ common) - noise
    return f_above(gained / (own_rank - rank) / (noise / left), own_rank - rank, left)


def _equal_spread_p(data: _Data, residuals: Floats) -> float | None:
    """Return the p value of Brown and Forsythe's test of equal spread at all points."""
    groups = [residuals[data.point == point] for point in range(data.points)]
    if len(groups) < 2 or min(len(group) for group in groups) < RUNS_FOR_SPREAD:
        return None
    if not residuals.any():
        return None
    return same_spread_p(groups)


def _fit(data: _Data) -> tuple[LossAdjustment, list[Estimate]]:
    """Return the fit and the estimate at each of its points."""
    runs = len(data.increase)
    degrees = runs - data.points - 1
    if degrees < 1:
        return _unfitted(
            data, f"too few runs for a slope: {runs} at {how_many(data.points, 'point')}"
        ), []
    design = np.hstack([data.intercepts(), data.log_ratio[:, None]])
    found, rest, rank = _residuals(design, data.increase)
    if rank < design.shape[1]:
        return _unfitted(data, "the groups' losses differ alike in all runs of a point"), []
    sd = math.sqrt(float(rest @ rest) / degrees)
    errors = sd * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    t = student_t(degrees)
    ends = [around(float(y), t * float(error)) for y, error in zip(found, errors, strict=True)]
    _, plain, _ = _residuals(data.intercepts(), data.increase)
    fit = LossAdjustment(
        runs=runs,
        degrees_of_freedom=degrees,
        slope=float(found[-1]),
        slope_ci95=ends[-1],
        plain_sd=math.sqrt(float(plain @ plain) / (runs - data.points)),
        residual_sd=sd,
        equal_slopes_p=_equal_slopes_p(data, rest, rank),
        equal_spread_p=_equal_spread_p(data, rest),
        reason=None,
    )
    return fit, [
        Estimate(n=int((data.point == i).sum()), mean=float(found[i]), sd=sd, ci95=ends[i],
                 pi95=None, reason=None)
        for i in range(data.points)
    ]  # fmt: skip


def at_equal_loss(
    points: Sequence[Sequence[Run]],
) -> tuple[LossAdjustment, tuple[Estimate, ...]]:
    """Return the fit over all points, and the increase at equal loss at each; n counts its runs.

    ``sd`` of the estimates is the fit's, ``pi95`` is not given: what was published of one run is
    not a run at equal loss.
    """
    data, usable = _collect(points)
    fit, fitted = _fit(data)
    by_point = dict(zip(usable, fitted, strict=True)) if fitted else {}
    return fit, tuple(
        by_point.get(i) or unknown(len(runs), _why_not(runs, fit)) for i, runs in enumerate(points)
    )


def _why_not(runs: Sequence[Run], fit: LossAdjustment) -> str:
    if not runs:
        return "no run counts"
    missing = sum(x is None for x, _ in runs)
    return NO_LOSS.format(missing, len(runs)) if missing else str(fit.reason)
