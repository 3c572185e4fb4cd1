"""Whether two labs' means are within a margin of each other, or farther apart than that. Pure.

Two one-sided tests (Schuirmann, J. Pharmacokinet. Biopharm. 15(6), 1987) of differences run by run
of the same seed: such pairs are independent of each other, however the two runs of one go together.
Differences are taken at equal realised loss where that is known: least squares on what the two runs
differ by in the logarithm of each group's loss, with one slope for all points and a spread for each
(a control variate: labs draw their losses alike, so that difference is 0 in the mean).
Invariants: swapping the labs changes signs only; the tests say what the intervals show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.run_files.comparing.judged import Verdict
from reports.inference import distributions
from reports.inference.statistics import Interval

Floats = npt.NDArray[np.float64]
LEVEL = 0.05
#: How sure a number of seeds is to be of deciding.
POWER = 0.8
MOST_SEEDS = 10_000
#: Fewer degrees of freedom at a point are not spent on slopes.
LEAST_FREEDOM = 2
#: Spreads this small, relative to the values, are the arithmetic's rounding.
ROUNDING = 1e-12
NO_SPREAD = "all differences equal: by the sign test, which is about the median"


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """One point: the difference of both labs' runs of each seed, and in what else these differ.

    ``differences`` has n values, ``covariates`` n rows; ``size`` is that of the values before.
    """

    differences: Floats
    covariates: Floats
    size: float


@dataclass(frozen=True, kw_only=True)
class Apart:
    """How far two means are apart; what cannot be told is None, with the reason.

    ``p_equivalent`` is small if they are shown to be within the margin, ``p_different`` if they are
    shown to be farther apart; ``seeds_wanted`` is about how many pairs show one of the two with a
    chance of 80 %, if difference and spread are as they look.
    """

    difference: float
    ci90: Interval | None
    ci95: Interval | None
    p_equivalent: float | None
    p_different: float | None
    seeds_wanted: int | None
    adjusted: bool
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class _Estimate:
    """A mean difference, the standard deviation of one pair's, its own error, and its freedom."""

    difference: float
    sd: float
    error: float
    df: float
    n: int
    size: float
    adjusted: bool


def apart(points: Sequence[Pairs], margin: float | None, tests: int = 1) -> list[Apart]:
    """Return for each point how far the labs are apart there, in the unit of the differences.

    Args:
        points: at least two pairs each, all with the same covariates.
        margin: how far apart is still equivalent; None: no margin.
        tests: of how many the one for a difference is, for ``seeds_wanted``.
    """
    return [_judged(one, margin, tests) for one in _adjusted(points) or map(_plain, points)]


def _plain(point: Pairs) -> _Estimate:
    n = len(point.differences)
    sd = float(point.differences.std(ddof=1))
    return _Estimate(
        difference=float(point.differences.mean()), sd=sd, error=sd / math.sqrt(n), df=n - 1, n=n,
        size=point.size, adjusted=False,
    )  # fmt: skip


def _adjusted(points: Sequence[Pairs]) -> list[_Estimate]:
    """Return the differences where the covariates are 0; nothing if there is too little to tell."""
    own = [one.covariates - one.covariates.mean(axis=0) for one in points]
    within = np.concatenate(own)
    centred = np.concatenate([one.differences - one.differences.mean() for one in points])
    slopes, _, rank, _ = np.linalg.lstsq(within, centred, rcond=None)
    freedom = [len(one.differences) - 1 - rank / len(points) for one in points]
    if rank == 0 or min(freedom) < LEAST_FREEDOM:
        return []
    ends = np.cumsum([len(one.differences) for one in points])[:-1]
    rests = np.split(centred - within @ slopes, ends)
    variances = [float(r @ r) / df for r, df in zip(rests, freedom, strict=True)]
    bread = np.linalg.pinv(within.T @ within)
    meat = sum(v * (e.T @ e) for v, e in zip(variances, own, strict=True))
    of_slopes = bread @ meat @ bread
    found = []
    for one, variance, df in zip(points, variances, freedom, strict=True):
        n, at = len(one.differences), one.covariates.mean(axis=0)
        found.append(
            _Estimate(
                difference=float(one.differences.mean() - at @ slopes), sd=math.sqrt(variance),
                error=math.sqrt(variance / n + float(at @ of_slopes @ at)), df=df, n=n,
                size=one.size, adjusted=True,
            )
        )  # fmt: skip
    return found


def _judged(found: _Estimate, margin: float | None, tests: int) -> Apart:
    if found.sd <= ROUNDING * found.size:
        return _without_spread(found, margin)

    def interval(level: float) -> Interval:
        half = distributions.t_quantile((1 + level) / 2, found.df) * found.error
        return found.difference - half, found.difference + half

    # How far inside the nearer bound, in standard errors.
    inside = None if margin is None else (margin - abs(found.difference)) / found.error
    return Apart(
        difference=found.difference,
        ci90=interval(1 - 2 * LEVEL),
        ci95=interval(1 - LEVEL),
        p_equivalent=None if inside is None else 1 - _below(inside, found.df),
        # Beyond one bound or the other: two tests, so twice the smaller.
        p_different=None if inside is None else min(1.0, 2 * _below(inside, found.df)),
        seeds_wanted=None if margin is None else _seeds(found, margin, tests),
        adjusted=found.adjusted,
        reason=None,
    )


def _below(t: float, df: float) -> float:
    return float(distributions.t_below(t, df))


def _without_spread(found: _Estimate, margin: float | None) -> Apart:
    """Return what pairs tell whose differences are all equal."""
    p = 0.5**found.n
    within = margin is not None and abs(found.difference) <= margin
    return Apart(
        difference=found.difference, ci90=None, ci95=None,
        p_equivalent=None if margin is None else p if within else 1.0,
        p_different=None if margin is None else 1.0 if within else p,
        seeds_wanted=None if margin is None else math.ceil(-math.log2(LEVEL)),
        adjusted=found.adjusted, reason=NO_SPREAD,
    )  # fmt: skip


def _seeds(found: _Estimate, margin: float, tests: int) -> int | None:
    """Return how many pairs decide; None if more than can be asked for."""
    size = abs(found.difference)

    def enough(n: int) -> bool:
        df, error = n - 1, found.sd / math.sqrt(n)
        if size >= margin:
            t = distributions.t_quantile(1 - LEVEL / tests / 2, df)
            return _below((size - margin) / error - t, df) >= POWER
        t = distributions.t_quantile(1 - LEVEL, df)
        ends = ((margin - size) / error - t, (margin + size) / error - t)
        return sum(_below(end, df) for end in ends) - 1 >= POWER

    if not enough(MOST_SEEDS):
        return None
    low, high = 1, MOST_SEEDS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def corrected(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm, Scand. J. Statist. 6(2), 1979).

    However they depend on each other, the chance that any of those at most x is of a true
    hypothesis is at most x.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    found, largest = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        found[index] = largest
    return found


def verdict(p_equivalent: float | None, p_different: float | None) -> Verdict:
    """Return what the p-values of both tests show, the second one corrected; null: not judged."""
    if p_equivalent is None or p_different is None:
        return "not judged"
    if p_equivalent <= LEVEL:
        return "equivalent"
    return "different" if p_different <= LEVEL else "not shown"


def correlation(points: Sequence[Floats]) -> float | None:
    """Return how values go together within points; None if one side has no spread.

    ``points`` have a row for each seed, both labs' values.
    """
    x, y = np.concatenate([one - one.mean(axis=0) for one in points]).T
    sizes = np.abs(np.concatenate(points)).max(axis=0)
    spreads = math.sqrt(float(x @ x)), math.sqrt(float(y @ y))
    if any(spread <= ROUNDING * size for spread, size in zip(spreads, sizes, strict=True)):
        return None
    return float(x @ y) / (spreads[0] * spreads[1])
