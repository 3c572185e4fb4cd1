"""The ratio of the means of two quantities over runs, with Fieller's interval. Pure.

The mean of ratios weighs every run alike; the ratio of means weighs each by its denominator, as if
all runs were one long one. Invariant: an interval is bounded, or null with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from reports.inference.statistics import ONE_RUN, Estimate, Interval, no_run, student_t
from reports.store.sample import Quotient

Floats = npt.NDArray[np.float64]


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
