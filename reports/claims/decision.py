"""How sure runs make it that a mean, or a ratio of two means, lies in a range. Pure.

Two p-values come out: ``p_inside`` is small if the runs show that it lies inside, ``p_outside``
if they show that it lies outside. Invariant: if it really lies outside (or on a bound), the
probability that ``p_inside`` is at most x is at most x, and the same the other way round. That
holds as well where runs were added until an interval was narrow enough: see :class:`Early`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from reports.ratio_of_means import ratio_of_means
from reports.sample import Quotient
from reports.statistics import Interval, estimate

#: Values this close, relative to their size, are equal: what is left is the arithmetic's rounding.
ROUNDING = 1e-12
#: A ratio's deviation from a bound, per run: (x - (1 + bound / 100) y), in the units of x.
Margins = Callable[[float], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Range:
    """The values wanted; a bound of None is none, ``strict`` leaves the bounds themselves out."""

    low: float | None
    high: float | None
    strict: bool


@dataclass(frozen=True, kw_only=True)
class Chance:
    """What the runs leave to chance: nothing, or something that shows (in any metric) or not."""

    none: bool
    shows: bool


#: For each run, whether it was made before anything decided how many there are to be. How far runs
#: lie apart decides when runs are enough, so all of them together look closer than they are; the
#: early ones do not. With their spread and degrees of freedom, and the mean of all, Student's t is
#: exact (C. Stein, Annals of Mathematical Statistics 16(3), 1945): the mean of normal values does
#: not depend on their spread. None: all of them.
Early = Sequence[bool] | None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What ``n`` runs (or pairs of them) say; the p-values are None where they cannot say.

    ``equal`` is whether all of them say exactly the same; ``reason`` is why something is None, or
    what it rests on instead of a spread.
    """

    n: int
    estimate: float | None
    ci95: Interval | None
    p_inside: float | None
    p_outside: float | None
    equal: bool
    reason: str | None


def undecided(reason: str, n: int = 0) -> Decision:
    """Return that nothing can be said, and why."""
    return Decision(
        n=n, estimate=None, ci95=None, p_inside=None, p_outside=None, equal=False, reason=reason
    )


def decide_mean(
    values: Sequence[float], wanted: Range, chance: Chance, early: Early = None
) -> Decision:
    """Return whether the mean of what each run gave lies in a range."""
    x = np.array(values, dtype=np.float64)
    if not len(x):
        return undecided("no run counts")
    found = estimate([float(value) for value in x])
    return _decide(
        lambda bound: x - bound, float(np.abs(x).max()), wanted, chance, found.mean, found.ci95,
        early,
    )  # fmt: skip


def decide_ratio(
    of: Sequence[float], over: Sequence[float], wanted: Range, chance: Chance, early: Early = None
) -> Decision:
    """Return whether by how many per cent the mean of one exceeds that of the other is in a range.

    ``of`` and ``over`` are of the same runs, in the same order. It exceeds it by more than c % if
    the mean of of - (1 + c / 100) over is positive: an ordinary test of a mean, where the mean of
    each run's own ratio is biased (Fieller, Biometrika 1932; J. R. Statist. Soc. B 16(2), 1954).
    """
    x, y = np.array(of, dtype=np.float64), np.array(over, dtype=np.float64)
    if not len(x):
        return undecided("no run counts")
    if not y.mean() > 0:
        return undecided(f"what it is compared with is {y.mean():g}", len(x))
    scale = float(max(np.abs(x).max(), np.abs(y).max()))
    runs = [Quotient(float(a - b), float(b), 100) for a, b in zip(x, y, strict=True)]
    found = ratio_of_means(runs)
    return _decide(
        lambda bound: x - (1 + bound / 100) * y, scale, wanted, chance, found.mean, found.ci95,
        early,
    )  # fmt: skip


@dataclass(frozen=True)
class _Sides:
    """How likely such margins are if their mean is 0 or less, and if it is 0 or more."""

    if_below: float
    if_above: float


@dataclass(frozen=True)
class _Equal:
    """How likely so many equal runs are if the truth lies on the other side, and in words."""

    p: float
    words: str


def _decide(
    margins: Margins, scale: float, wanted: Range, chance: Chance,
    mean: float | None, ci95: Interval | None, early: Early,
) -> Decision:  # fmt: skip
    n = 0
    sides: list[_Sides] = []
    equal: list[bool] = []
    reason = None
    for bound, sign in ((wanted.low, 1), (wanted.high, -1)):
        if bound is None:
            continue
        margin = sign * margins(bound)
        n, size = len(margin), max(scale, float(np.abs(margin).max()))
        equal.append(bool(np.ptp(margin) <= ROUNDING * size))
        if not equal[-1]:
            first = margin if early is None else margin[np.array(early)]
            if len(first) < 2 or np.ptp(first) <= ROUNDING * size:
                return undecided(_no_early_spread(len(first), n), n)
            sides.append(_by_spread(margin, first))
            reason = _early_words(len(first), n)
            continue
        worth = _of_equal_runs(n, chance)
        if isinstance(worth, str):
            return Decision(
                n=n, estimate=mean, ci95=None, p_inside=None, p_outside=None, equal=n > 1,
                reason=worth,
            )  # fmt: skip
        sides.append(_by_sign(float(margin.mean()), size, worth.p, strict=wanted.strict))
        reason = worth.words
    return Decision(
        n=n,
        estimate=mean,
        ci95=None if all(equal) else ci95,
        p_inside=max(side.if_below for side in sides),
        # Outside is below one bound or above the other: two tests, so twice the smaller.
        p_outside=min(1.0, len(sides) * min(side.if_above for side in sides)),
        equal=all(equal) and n > 1,
        reason=reason,
    )


def _of_equal_runs(n: int, chance: Chance) -> _Equal | str:
    """Return what runs without any spread are worth, or why they are worth nothing."""
    if chance.none:
        words = "one run is all there is: nothing is left to chance"
        return _Equal(0.0, f"all {n} runs equal: nothing is left to chance" if n > 1 else words)
    if n == 1:
        return "one run: no spread can be estimated"
    if not chance.shows:
        return f"all {n} runs equal in everything: the seeds seem to have no effect"
    return _Equal(0.5**n, f"all {n} runs equal: by the sign test p = 1/2^{n}")


def _early_words(first: int, n: int) -> str | None:
    return None if first == n else f"judged by the spread of the first {first} of {n} runs"


def _no_early_spread(first: int, n: int) -> str:
    what = "count" if first < 2 else "differ"
    return f"of the first of {n} runs no two {what}: no spread can be estimated"


def _by_spread(margin: np.ndarray, first: np.ndarray) -> _Sides:
    """Return what Student's t says of the mean of all, by the spread of the first of them."""
    size = np.abs(margin).max()  # in its units no square leaves the range of numbers
    error = (first / size).std(ddof=1) / np.sqrt(len(margin))
    t = float((margin / size).mean() / error)
    above, below = (float(tail(t, len(first) - 1)) for tail in (stats.t.sf, stats.t.cdf))
    return _Sides(above, below)


def _by_sign(margin: float, size: float, p: float, *, strict: bool) -> _Sides:
    on_bound = abs(margin) <= ROUNDING * size
    inside = not strict if on_bound else margin > 0
    return _Sides(p, 1.0) if inside else _Sides(1.0, p)
