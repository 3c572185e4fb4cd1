"""How far the means of two independent samples are apart, and if that is within a margin. Pure.

Welch's t (Biometrika 34, 1947): spreads may differ, and so may numbers. Two one-sided tests against
the margin, as :mod:`reports.inference.equivalence` has them for pairs. Invariants: swapping both
changes signs only; one replicate gives a difference without an interval, and says so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reports.inference.distributions import (
    same_distribution_p,
    t_above,
    t_below,
    t_quantile,
)
from reports.inference.equivalence import LEVEL, ROUNDING
from reports.inference.statistics import Interval, around, student_t

ONE = "one replicate: no spread can be estimated"
NO_SD = "means without their spread"
NO_SPREAD = "no spread on either side: by the values"
SUMMARY = "means and spreads alone: no distribution is known"


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Replicates: their number, mean and standard deviation; their values, if these are known."""

    n: int
    mean: float
    sd: float | None
    values: tuple[float, ...] = ()

    @property
    def ci95(self) -> Interval | None:
        """Student's 95 % interval of the mean."""
        if self.n < 2 or self.sd is None:
            return None
        return around(self.mean, student_t(self.n - 1) * self.sd / math.sqrt(self.n))


@dataclass(frozen=True, kw_only=True)
class Between:
    """The second mean less the first; what cannot be told is None, with the reason.

    ``p_equivalent`` is small if they are shown to be within the margin, ``p_different`` if they are
    shown to be farther apart; ``standardised`` is the difference in pooled standard deviations.
    """

    difference: float
    ci90: Interval | None
    ci95: Interval | None
    p_equivalent: float | None
    p_different: float | None
    standardised: float | None
    reason: str | None


def batch(values: Sequence[float]) -> Batch:
    """Return replicates by their values, at least one: the same whatever their order."""
    n = len(values)
    mean = math.fsum(values) / n
    return Batch(n=n, mean=mean, sd=statistics.stdev(values) if n > 1 else None,
                 values=tuple(values))  # fmt: skip


def between(first: Batch, second: Batch, *, margin: float | None, unit: float = 1.0) -> Between:
    """Return how far two means are apart.

    Args:
        first: what is compared with.
        second: what is compared.
        margin: how far apart is still equivalent, in units; None: no margin.
        unit: what differences are told in.
    """
    difference = (second.mean - first.mean) / unit
    if first.sd is None or second.sd is None:
        reason = ONE if 1 in (first.n, second.n) else NO_SD
        return Between(difference=difference, ci90=None, ci95=None, p_equivalent=None,
                       p_different=None, standardised=None, reason=reason)  # fmt: skip
    size = max(abs(first.mean), abs(second.mean))
    if max(first.sd, second.sd) <= ROUNDING * size:
        return _by_the_values(difference, margin)
    errors = [(one.sd or 0.0) / unit / math.sqrt(one.n) for one in (first, second)]
    error, df = math.hypot(*errors), _freedom(errors, first.n, second.n)
    inside = None if margin is None else (margin - abs(difference)) / error
    return Between(
        difference=difference,
        ci90=around(difference, t_quantile(1 - LEVEL, df) * error),
        ci95=around(difference, t_quantile(1 - LEVEL / 2, df) * error),
        p_equivalent=None if inside is None else float(t_above(inside, df)),
        # Beyond one bound or the other: two tests, so twice the smaller.
        p_different=None if inside is None else min(1.0, 2 * float(t_below(inside, df))),
        standardised=difference * unit / _pooled(first, second),
        reason=None,
    )


def _freedom(errors: Sequence[float], *numbers: int) -> float:
    """Return Welch's and Satterthwaite's degrees of freedom; scaled, so that no square is lost."""
    most = max(errors)
    scaled = [(error / most) ** 2 for error in errors]
    below = sum(part**2 / (n - 1) for part, n in zip(scaled, numbers, strict=True))
    return sum(scaled) ** 2 / below


def _pooled(first: Batch, second: Batch) -> float:
    freedom = first.n + second.n - 2
    return math.hypot(
        *((one.sd or 0.0) * math.sqrt((one.n - 1) / freedom) for one in (first, second))
    )


def _by_the_values(difference: float, margin: float | None) -> Between:
    within = margin is not None and abs(difference) <= margin
    return Between(
        difference=difference, ci90=None, ci95=None,
        p_equivalent=None if margin is None else 0.0 if within else 1.0,
        p_different=None if margin is None else 1.0 if within else 0.0,
        standardised=None, reason=NO_SPREAD,
    )  # fmt: skip


def distributions_p(first: Batch, second: Batch) -> tuple[float | None, str | None]:
    """Return the p-value of one distribution (Kolmogorov, Smirnov), or None and why.

    Of so few replicates that even samples that do not overlap would not reject, nothing is told.
    """
    if not first.values or not second.values:
        return None, SUMMARY
    n, m = len(first.values), len(second.values)
    least = 2 / math.comb(n + m, n)
    if least > LEVEL:
        return None, f"too few replicates ({n} and {m}): none could show a difference"
    return same_distribution_p(first.values, second.values), None
