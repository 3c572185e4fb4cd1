"""How sure runs make it that a mean, or a ratio of two means, lies in a range. Pure.

Two p-values come out: ``p_inside`` is small if the runs show that it lies inside, ``p_outside``
if they show that it lies outside. Invariant: if it really lies outside (or on a bound), the
probability that ``p_inside`` is at most x is at most x, and the same the other way round, as far as
``benchmarks/claim_errors.py`` finds; docs/claims.md has its table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from reports.inference.distributions import (
    chi2_quantile,
    normal_below,
    normal_density,
    t_above,
    t_below,
)
from reports.inference.estimates import ratio_of_means
from reports.inference.statistics import Interval, estimate
from reports.store.sample import Quotient, Share

#: Values this close, relative to their size, are equal: what is left is the arithmetic's rounding.
ROUNDING = 1e-12
#: Where the distribution of a variance is looked at, as quantiles of the normal one: far into its
#: tails, where small p-values come from.
QUANTILES = np.linspace(-6, 6, 201)
#: A limit is near if it is less than so many standard deviations away: so many that few runs, whose
#: own deviation is too small by chance, are not taken for far.
NEAR = 30
Floats = npt.NDArray[np.float64]
#: A ratio's deviation from a bound, per run: (x - (1 + bound / 100) y), in the units of x.
Margins = Callable[[float], Floats]


@dataclass(frozen=True, kw_only=True)
class Range:
    """The values wanted; a bound of None is none, ``strict`` leaves the bounds themselves out."""

    low: float | None
    high: float | None
    strict: bool


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The least and the most that what is judged can be; None is none."""

    low: float | None = None
    high: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, kw_only=True)
class Chance:
    """What the runs leave to chance: nothing, or something that shows (in any metric) or not."""

    none: bool
    shows: bool


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
    values: Sequence[float], wanted: Range, chance: Chance, limits: Limits = NO_LIMITS
) -> Decision:
    """Return whether the mean of what each run gave lies in a range."""
    x = np.array(values, dtype=np.float64)
    if not len(x):
        return undecided("no run counts")
    found = estimate([float(value) for value in x])
    return _decide(
        lambda bound: x - bound, float(np.abs(x).max()), wanted, chance, found.mean, found.ci95,
        limits,
    )  # fmt: skip


def decide_shares(shares: Sequence[Share], wanted: Range, chance: Chance) -> Decision:
    """Return whether the mean of a share of things counted in each run lies in a range.

    Where all of them, or none, went so in every run, there is no spread, but there are so many
    trials: were the share a bound, all of m would go so with its m-th power. That takes the trials
    of all runs as independent and alike. Else runs are what any metric's are.
    """
    found = decide_mean([one.value for one in shares], wanted, chance, Limits(low=0.0, high=1.0))
    true, trials = sum(one.true for one in shares), sum(one.of for one in shares)
    if chance.none or found.p_inside is None or true not in (0, trials):
        return found
    share = 1.0 if true else 0.0
    inside, outside = [], []
    for bound, is_low in ((wanted.low, True), (wanted.high, False)):
        if bound is None:
            continue
        within = bound <= share if is_low else bound >= share
        likely = min(1.0, max(0.0, bound if true else 1 - bound)) ** trials
        inside.append(likely if within else 1.0)
        outside.append(1.0 if within else likely)
    return replace(
        found,
        p_inside=max(inside),
        p_outside=min(1.0, len(outside) * min(outside)),
        reason=ALL_OR_NONE.format("all" if true else "none", trials, found.n),
    )


#: Values that a quotient can be by.
_POSITIVE = Range(low=0.0, high=None, strict=True)
#: What runs rest on that are all, or none, of what was counted.
ALL_OR_NONE = "{} of {} in {} runs, taken as so many independent trials"


def decide_ratio(
    of: Sequence[float], over: Sequence[float], wanted: Range, chance: Chance
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
        lambda bound: x - (1 + bound / 100) * y, scale, wanted, chance, found.mean, found.ci95
    )  # fmt: skip


def decide_quotient(
    of: Sequence[float], over: Sequence[float], wanted: Range, chance: Chance
) -> Decision:
    """Return whether the quotient of two means, of either sign, is in a range.

    ``of`` and ``over`` are of the same runs, in the same order. Where the mean of over is positive,
    the quotient exceeds b if the mean of of - b over is positive, and the other way round. So it
    is decided only as surely as the sign of over's mean is known.
    """
    x, y = np.array(of, dtype=np.float64), np.array(over, dtype=np.float64)
    if not len(x):
        return undecided("no run counts")
    sign = 1.0 if y.mean() > 0 else -1.0
    x, y = sign * x, sign * y
    positive = decide_mean([float(value) for value in y], _POSITIVE, chance)
    if positive.p_inside is None or not y.mean() > 0:
        return undecided(positive.reason or "what it is divided by is 0", len(x))
    scale = float(max(np.abs(x).max(), np.abs(y).max()))
    found = ratio_of_means([Quotient(float(a), float(b), 1) for a, b in zip(x, y, strict=True)])
    made = _decide(lambda bound: x - bound * y, scale, wanted, chance, found.mean, found.ci95)
    if made.p_inside is None or made.p_outside is None:
        return made
    least = positive.p_inside
    return replace(made, p_inside=max(made.p_inside, least), p_outside=max(made.p_outside, least))


@dataclass(frozen=True)
class _Sides:
    """How likely such margins are if their mean is 0 or less, and if it is 0 or more."""

    if_below: float
    if_above: float


def _decide(
    margins: Margins, scale: float, wanted: Range, chance: Chance,
    mean: float | None, ci95: Interval | None, limits: Limits = NO_LIMITS,
) -> Decision:  # fmt: skip
    n = 0
    sides: list[_Sides] = []
    equal: list[bool] = []
    reasons: list[str | None] = []
    for bound, sign, ahead, behind in (
        (wanted.low, 1, limits.high, limits.low),
        (wanted.high, -1, limits.low, limits.high),
    ):
        if bound is None:
            continue
        margin = sign * margins(bound)
        n, size = len(margin), max(scale, float(np.abs(margin).max()))
        room = _Room(
            ahead=None if ahead is None else max(0.0, sign * (ahead - bound)),
            behind=None if behind is None else max(0.0, sign * (bound - behind)),
        )
        equal.append(bool(np.ptp(margin) <= ROUNDING * size))
        if not equal[-1]:
            sides.append(_Sides(*map(float, by_spread(margin, room.ahead))))
            reasons.append(None)
            continue
        cannot = _worthless(n, chance)
        if cannot:
            return Decision(
                n=n, estimate=mean, ci95=None, p_inside=None, p_outside=None, equal=n > 1,
                reason=cannot,
            )  # fmt: skip
        found = _of_equal_runs(float(margin.mean()), n, size, room, chance, strict=wanted.strict)
        sides.append(found[0])
        reasons.append(found[1])
    return Decision(
        n=n,
        estimate=mean,
        ci95=None if all(equal) else ci95,
        p_inside=max(side.if_below for side in sides),
        # Outside is below one bound or above the other: two tests, so twice the smaller.
        p_outside=min(1.0, len(sides) * min(side.if_above for side in sides)),
        equal=all(equal) and n > 1,
        reason=reasons[_deciding(sides)],
    )


def _deciding(sides: Sequence[_Sides]) -> int:
    """Return the bound that decides: the one passed, or else the one that is least surely not."""
    passed = [number for number, side in enumerate(sides) if side.if_below >= side.if_above]
    if passed:
        return min(passed, key=lambda number: sides[number].if_above)
    return max(range(len(sides)), key=lambda number: sides[number].if_below)


@dataclass(frozen=True)
class _Room:
    """How far the limits are from a bound: on the side that is wanted, and on the other."""

    ahead: float | None
    behind: float | None


def _worthless(n: int, chance: Chance) -> str:
    """Return why runs without any spread say nothing; empty if they say something."""
    if chance.none or (n > 1 and chance.shows):
        return ""
    if n == 1:
        return "one run: no spread can be estimated"
    return f"all {n} runs equal in everything: the seeds seem to have no effect"


def _of_equal_runs(
    margin: float, n: int, size: float, room: _Room, chance: Chance, *, strict: bool
) -> tuple[_Sides, str]:
    """Return what runs without any spread are worth, and in words.

    Between limits a mean on the other side of a bound needs runs far beyond it, the rarer the
    further they can be (Markov's inequality). Without a limit there may be one run in a million
    that makes the mean, and what n equal runs tell of is the median, by the sign test.
    """
    on_bound = abs(margin) <= ROUNDING * size
    inside = not strict if on_bound else margin > 0
    if chance.none:
        p, how = 0.0, "nothing is left to chance"
    else:
        beyond = room.behind if inside else room.ahead
        each = 0.5 if beyond is None else beyond / (beyond + abs(margin)) if not on_bound else 1.0
        p = each**n
        how = f"p = {each:.3g}^{n}, by how far off others could be"
        if beyond is None:
            how = f"by the sign test, which is about the median, p = 1/2^{n}"
    words = f"all {n} runs equal: {how}" if n > 1 else f"one run is all there is: {how}"
    return (_Sides(p, 1.0) if inside else _Sides(1.0, p)), words


def by_spread(margin: Floats, ahead: float | None) -> tuple[Floats, Floats]:
    """Return p-values for a mean of 0 or less, and of 0 or more; runs are the last axis.

    ``ahead`` is the most a margin can be; where runs are not far from it, what that makes of them
    counts too.
    """
    below, above = by_t(margin)
    if ahead is None:
        return below, above
    room = ahead - margin
    near = room.mean(axis=-1) < NEAR * room.std(axis=-1, ddof=1)
    at_limit = by_fourth_root(room, ahead)
    return (
        np.where(near, np.maximum(below, at_limit[0]), below),
        np.where(near, np.maximum(above, at_limit[1]), above),
    )


def by_t(margin: Floats) -> tuple[Floats, Floats]:
    """Return Student's p-values for a mean of 0 or less, and of 0 or more; runs are the last axis.

    Runs of which no two differ are the caller's.
    """
    n = margin.shape[-1]
    size = np.abs(margin).max(axis=-1)  # in its units no square leaves the range of numbers
    scaled = margin / size[..., None]
    t = scaled.mean(axis=-1) / (scaled.std(axis=-1, ddof=1) / np.sqrt(n))
    return t_above(t, n - 1), t_below(t, n - 1)


def by_fourth_root(room: Floats, edge: float) -> tuple[Floats, Floats]:
    """Return p-values for a mean of ``room`` of ``edge`` or more, and of ``edge`` or less.

    ``room`` is how far runs are from a limit that none can pass. Near it they are as lopsided as
    squares of normal values, and few runs rarely show the long tail. Their fourth roots are nearly
    normal (Hawkins and Wixley, American Statistician 40(4), 1986); for such, of mean m and
    variance v, the mean of the fourth powers is m^4 + 6 m^2 v + 3 v^2. The p-values are fiducial
    probabilities of that mean, over the distribution of v (as Krishnamoorthy and Wang, J. Statist.
    Plan. Infer. 2016, have for cube roots and the gamma distribution).
    """
    n = room.shape[-1]
    size = max(float(np.abs(room).max()), edge) or 1.0
    roots = (np.maximum(room, 0.0) / size) ** 0.25
    share = chi2_quantile(normal_below(QUANTILES), n - 1)
    weight = normal_density(QUANTILES) / normal_density(QUANTILES).sum()
    v = ((n - 1) * roots.var(axis=-1, ddof=1))[..., None] / share
    squared = np.sqrt(6 * v**2 + edge / size) - 3 * v  # m**2 that makes the mean the edge
    m = np.sqrt(np.maximum(squared, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = normal_below((roots.mean(axis=-1)[..., None] - m) / np.sqrt(v / n))
    beyond = np.where(squared <= 0, 1.0, np.nan_to_num(beyond, nan=1.0)) @ weight
    return beyond, 1 - beyond
