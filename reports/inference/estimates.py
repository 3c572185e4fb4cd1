"""What a point's runs say of a metric: its mean, or the ratio of two means. Pure.

The mean of ratios weighs every run alike; the ratio of means weighs each by its denominator, as if
all runs were one long one. Invariants: an interval is bounded, or null with the reason. A run
without the metric leaves no estimate at all: the other runs' mean would be that of a selection, for
what is missing is seldom missing by chance.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reports.inference.statistics import (
    ONE_RUN,
    Estimate,
    Interval,
    estimate,
    no_run,
    student_t,
    unknown,
)
from reports.measures.metrics import Value
from reports.store.sample import Quotient

Floats = npt.NDArray[np.float64]
#: Why one run has no interval where no packet is lost at random.
ALL_THERE_IS = "one run is all there is: nothing is left to chance"


def ratio_of_means(runs: Sequence[Quotient]) -> Estimate:
    """Return mean(numerators) / mean(denominators) over independent runs, denominators positive.

    The interval holds every rho that a two-sided t test of mean(numerator - rho * denominator) = 0
    does not reject (E. C. Fieller, Journal of the Royal Statistical Society B 16(2), 1954); neither
    ``sd`` nor ``pi95`` is defined for it.
    """
    n = len(runs)
    if n == 0:
        return no_run()
    numerators = np.array([run.scale * run.numerator for run in runs])
    denominators = np.array([run.denominator for run in runs])
    # In units of their own size neither squares leave the range of numbers.
    sizes = float(np.abs(numerators).max()) or 1.0, float(denominators.max())
    over, under, unit = numerators / sizes[0], denominators / sizes[1], sizes[0] / sizes[1]
    centre = float(over.mean() / under.mean())
    ends, reason = (None, ONE_RUN) if n == 1 else _fieller(over, under, centre)
    bounds = ends and (unit * ends[0], unit * ends[1])
    return Estimate(n=n, mean=unit * centre, sd=None, ci95=bounds, pi95=None, reason=reason)


def _fieller(over: Floats, under: Floats, centre: float) -> tuple[Interval | None, str | None]:
    """Return the ends of Fieller's interval about the estimate, or why it has none.

    With e = over - centre * under, whose mean is 0, rho = centre + d is not rejected where
    (1 - g) d**2 + 2 w cov(e, under) d - w var(e) <= 0; bounded only if g = w var(under) < 1.
    """
    n = len(over)
    t = student_t(n - 1)
    ((var_rest, shared), (_, var_under)) = np.cov(over - centre * under, under, ddof=1)
    w = t**2 / (n * float(under.mean()) ** 2)
    g = w * var_under
    if not g < 1:
        return None, (
            "the denominator is too uncertain for a bounded interval: its mean is "
            f"{t / math.sqrt(g):.2g} standard errors, Fieller's needs more than {t:.3g}"
        )
    middle = centre - w * shared / (1 - g)
    half = math.sqrt(w * (var_rest * (1 - g) + w * shared**2)) / (1 - g)
    return (float(middle - half), float(middle + half)), None


def _missing(values: Sequence[Value]) -> Estimate | None:
    """Return the estimate that is none because a run lacks the metric; None if all have it."""
    nulls = [value.reason for value in values if value.reason is not None]
    if not nulls:
        return None
    there = len(values) - len(nulls)
    return unknown(there, f"null in {len(nulls)} of {len(values)} cells: {nulls[0]}")


def _alone(found: Estimate, *, chance: bool) -> Estimate:
    """Return the estimate; that of one run has another reason if nothing is left to chance."""
    if found.n != 1 or found.mean is None or chance:
        return found
    return dataclasses.replace(found, reason=ALL_THERE_IS)


def estimated(values: Sequence[Value], *, chance: bool) -> Estimate:
    """Return the mean over runs with its intervals; ``chance``: runs lose packets at random."""
    numbers = [value.value for value in values if value.value is not None]
    return _missing(values) or _alone(estimate(numbers), chance=chance)


def estimated_ratio(values: Sequence[Value], *, chance: bool) -> Estimate | None:
    """Return the ratio of the means of a metric that is a quotient; None of any other."""
    parts = [value.parts for value in values if value.parts is not None]
    if not parts:
        return None
    return _missing(values) or _alone(ratio_of_means(parts), chance=chance)
