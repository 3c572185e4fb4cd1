"""Mean, confidence interval and prediction interval over seeds, and where a published value lies.

A published number is one run: it is an ordinary draw if it lies in the *prediction* interval of one
further run; the *confidence* interval says where the mean is.
Pure. Invariant: what cannot be estimated is null with a reason.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from reports.inference.distributions import t_quantile

LEVEL = 0.95
#: Why one run has no interval.
ONE_RUN = "one run: no spread can be estimated"

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What n independent runs say about one quantity; intervals are at the 95 % level."""

    n: int
    mean: float | None
    sd: float | None
    ci95: Interval | None
    pi95: Interval | None
    reason: str | None


def student_t(degrees_of_freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t (2.776 for 4 degrees of freedom)."""
    return t_quantile((1 + LEVEL) / 2, degrees_of_freedom)


def around(centre: float, half: float) -> Interval:
    """Return the interval of this half width."""
    return (centre - half, centre + half)


def unknown(n: int, reason: str) -> Estimate:
    """Return the estimate of what the n runs that have it cannot tell."""
    return Estimate(n=n, mean=None, sd=None, ci95=None, pi95=None, reason=reason)


def no_run() -> Estimate:
    """Return the estimate from no run."""
    return unknown(0, "no run counts")


def estimate(values: Sequence[float]) -> Estimate:
    """Return the estimate from independent runs.

    Student's t: mean +- t s / sqrt(n) for the mean, mean +- t s sqrt(1 + 1/n) for one further run,
    with n - 1 degrees of freedom and s the sample standard deviation.
    """
    n = len(values)
    if n == 0:
        return no_run()
    mean = statistics.mean(values)
    if n == 1:
        return Estimate(n=1, mean=mean, sd=None, ci95=None, pi95=None, reason=ONE_RUN)
    sd = statistics.stdev(values)
    t = student_t(n - 1)
    return Estimate(
        n=n,
        mean=mean,
        sd=sd,
        ci95=around(mean, t * sd / math.sqrt(n)),
        pi95=around(mean, t * sd * math.sqrt(1 + 1 / n)),
        reason=None,
    )


def inside(value: float | None, bounds: Interval | None) -> bool | None:
    """Return whether the value lies in the closed interval; None if either is not known."""
    if value is None or bounds is None:
        return None
    return bounds[0] <= value <= bounds[1]
