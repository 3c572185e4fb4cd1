"""Distributions and tests of scipy, loaded when something is first asked of them.

Loading them takes longer than most commands do otherwise, and few come to need them; of those most
need distributions only, whose functions alone are loaded in a third of the time. Pure. Invariant:
each gives what ``scipy.stats`` gives to the last bit, which is what tests compare with.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def t_below(t: Floats | float, df: float) -> Any:
    """Return how likely Student's t is at most this."""
    from scipy import special

    return special.stdtr(df, t)


def t_above(t: Floats | float, df: float) -> Any:
    """Return how likely Student's t is more than this."""
    from scipy import special

    return special.stdtr(df, -t)


def t_quantile(p: float, df: float) -> float:
    """Return which t is at least that large as often as ``p``, above 0 and below 1, says."""
    from scipy import special

    return float(special.stdtrit(df, p))


def normal_below(z: Floats) -> Any:
    """Return how likely a normal value is at most this."""
    from scipy import special

    return special.ndtr(z)


def normal_density(z: Floats) -> Any:
    """Return the density of normal values there."""
    return np.exp(-(z**2) / 2.0) / math.sqrt(2 * math.pi)


def chi2_quantile(p: Floats, df: float) -> Any:
    """Return the value of chi squared below which it is as often as ``p`` says."""
    from scipy import special

    return 2 * special.gammaincinv(df / 2, p)


def f_above(f: float, numerator_df: int, denominator_df: int) -> float:
    """Return how likely F is more than this; by rounding it may be a little less than 0."""
    from scipy import special

    return float(special.fdtrc(numerator_df, denominator_df, max(f, 0.0)))


def same_distribution_p(x: Sequence[float] | Floats, y: Sequence[float] | Floats) -> float:
    """Return the p-value of Kolmogorov and Smirnov's exact test of two samples."""
    from scipy import stats

    with warnings.catch_warnings():
        # Of samples as alike as can be the exact value comes to more than 1 by rounding; scipy then
        # warns and takes the asymptotic one, which is 1.
        warnings.filterwarnings("ignore", "ks_2samp: Exact calculation unsuccessful")
        return float(stats.ks_2samp(x, y, method="exact").pvalue)


def same_spread_p(groups: Sequence[Floats]) -> float:
    """Return the p-value of Brown and Forsythe's test of equal spread."""
    from scipy import stats

    return float(stats.levene(*groups, center="median").pvalue)
