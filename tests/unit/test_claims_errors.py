"""Verdicts are not brittle: effects planted in synthetic runs are found, and none where none is.

A study is drawn many times from a known truth; a verdict is wrong if it contradicts that truth. The
seed is fixed, so the tests repeat; the bounds are quantiles of the binomial distribution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from reports.claims.verdicts import LEVEL
from reports.records import Claim
from reports.replication import next_runs
from reports.statistics import student_t
from tests.claims_study import Runs, claim, comparison, judged

pytestmark = pytest.mark.unit

DRAWS = 800
#: How often at most, or at least, something of this probability is seen in so many draws.
SURE = 0.999
LOSSES = (0.01, 0.02, 0.03)


def at_most(p: float, draws: int = DRAWS) -> int:
    return int(stats.binom.ppf(SURE, draws, p))


def at_least(p: float, draws: int = DRAWS) -> int:
    return int(stats.binom.ppf(1 - SURE, draws, p))


def normal(rng: np.random.Generator, mean: float, sd: float, runs: int) -> list[float]:
    return [float(x) for x in rng.normal(mean, sd, runs)]


def wrong_and_right(
    claims: list[Claim],
    truth: list[bool],
    draw: Callable[[np.random.Generator], Runs],
    draws: int = DRAWS,
    first_round: int | None = None,
) -> tuple[int, list[int]]:
    """Return how many studies have a wrong verdict, and how often each claim's is right."""
    rng = np.random.default_rng(20050401)
    wrong, right = 0, [0] * len(claims)
    for _ in range(draws):
        found = [verdict.verdict for verdict in judged(claims, draw(rng), first_round=first_round)]
        says = {"holds": True, "refuted": False}
        wrong += any(v in says and says[v] != t for v, t in zip(found, truth, strict=True))
        right = [
            n + (v in says and says[v] == t)
            for n, v, t in zip(right, found, truth, strict=True)
        ]  # fmt: skip
    return wrong, right


def test_where_nothing_is_none_is_found() -> None:
    """Five claims that are false by a hair, of unrelated metrics: the worst case."""
    metrics = ["utilisation_pct", "jain_flows", "share_S_pct", "loss_S_frac", "loss_T_frac"]
    claims = [claim(comparison(name, low=0), name=name) for name in metrics]
    draws = 2000
    wrong, _ = wrong_and_right(
        claims, [False] * 5, lambda rng: {m: {0.01: normal(rng, 0, 1, 8)} for m in metrics}, draws
    )
    assert wrong <= at_most(LEVEL, draws)
    assert wrong >= at_least(1 - (1 - LEVEL / 5) ** 5, draws)  # nor more careful than it says


def test_no_verdict_is_wrong_where_protocols_are_alike() -> None:
    """Both protocols' goodputs have one mean; the claims are of a wireless study's kind."""
    claims = [
        claim(*(comparison("pct_increase", p, low=0) for p in LOSSES), name="ahead"),
        claim(
            *(comparison("pct_increase", 0.02, versus=("pct_increase", p), low=0)
              for p in (0.01, 0.03)), name="peak",
        ),
        claim(comparison("pct_increase", 0.01, low=-3, high=3), name="alike"),
    ]  # fmt: skip

    def draw(rng: np.random.Generator) -> Runs:
        s, t = ({p: normal(rng, 100e3, 8e3, 10) for p in LOSSES} for _ in range(2))
        increase = {p: [100 * (a / b - 1) for a, b in zip(s[p], t[p], strict=True)] for p in LOSSES}
        return {"goodput_S_bps": s, "goodput_T_bps": t, "pct_increase": increase}

    wrong, _ = wrong_and_right(claims, [False, False, True], draw)
    assert wrong <= at_most(LEVEL)


#: What is planted: by how many per cent S is ahead, and how many runs see it.
AHEAD = ((-12.0, 10), (12.0, 10), (25.0, 5))


@pytest.mark.parametrize(("ahead_pct", "runs"), AHEAD)
def test_a_planted_increase_is_found_with_the_power_it_should_have(
    ahead_pct: float, runs: int
) -> None:
    """Two claims, sd 8 % of each flow's goodput, 12 % or 25 % ahead or behind at every point.

    The power of one comparison is that of a t-test; all three have to hold.
    """
    truth = ahead_pct > 0
    claims = [
        claim(*(comparison("pct_increase", p, low=0) for p in LOSSES), name="ahead"),
        claim(comparison("utilisation_pct", high=20), name="below"),
    ]
    sd, mean = 0.08, 100e3

    def draw(rng: np.random.Generator) -> Runs:
        s = {p: normal(rng, mean * (1 + ahead_pct / 100), sd * mean, runs) for p in LOSSES}
        t = {p: normal(rng, mean, sd * mean, runs) for p in LOSSES}
        used = {0.01: normal(rng, 18, 1, runs)}
        return {"goodput_S_bps": s, "goodput_T_bps": t, "utilisation_pct": used}

    wrong, right = wrong_and_right(claims, [truth, True], draw)
    assert wrong <= at_most(LEVEL)
    away = abs(ahead_pct) / 100 / (sd * np.sqrt(2)) * np.sqrt(runs)
    one = stats.nct.sf(stats.t.ppf(1 - LEVEL / 2, runs - 1), runs - 1, away)
    each = stats.nct.sf(stats.t.ppf(1 - LEVEL / 6, runs - 1), runs - 1, away)
    power = one**3 if truth else 1 - (1 - each) ** 3
    assert right[0] >= at_least(power)
    assert right[0] <= at_most(power)


def test_one_point_of_many_that_contradicts_refutes() -> None:
    """S is far ahead at two points and behind at one: that one decides."""
    claims = [claim(*(comparison("pct_increase", p, low=0) for p in LOSSES))]
    ahead = dict(zip(LOSSES, (1.4, 1.4, 0.85), strict=True))

    def draw(rng: np.random.Generator) -> Runs:
        s = {p: normal(rng, 100e3 * ahead[p], 8e3, 10) for p in LOSSES}
        return {
            "goodput_S_bps": s,
            "goodput_T_bps": {p: normal(rng, 100e3, 8e3, 10) for p in LOSSES},
        }

    wrong, right = wrong_and_right(claims, [False], draw, 1000)
    assert wrong == 0
    assert right[0] >= 850


def test_lopsided_runs_are_wrong_at_most_twice_as_often() -> None:
    """Skewness 0.5 and the mean exactly on the bound, from the side the long tail misleads."""
    metrics = ["utilisation_pct", "jain_flows"]
    claims = [claim(comparison(name, high=1), name=name) for name in metrics]

    def draw(rng: np.random.Generator) -> Runs:
        return {metric: {0.01: [float(x) for x in rng.gamma(16, 1 / 16, 10)]} for metric in metrics}

    wrong, _ = wrong_and_right(claims, [False] * 2, draw)
    assert wrong <= at_most(2 * LEVEL)


def added_until_narrow(rng: np.random.Generator, sd: float, at_least: int = 5) -> list[float]:
    """Return runs of mean 0 as ``--reps auto`` adds them, until half an interval is at most 1."""
    values = rng.normal(0, sd, 40)
    n = at_least
    while (half := student_t(n - 1) * values[:n].std(ddof=1) / np.sqrt(n)) > 1 and n < 40:
        n = next_runs(n, half, 1.0, 40)
    return [float(value) for value in values[:n]]


def test_adding_runs_until_an_interval_is_narrow_does_not_make_verdicts_wrong() -> None:
    """Four claims false by a hair, each with as many runs as its own spread asked for.

    Judged by the spread of all runs, 8 to 9 % of such studies would have a wrong verdict.
    """
    sd = 2.0
    where = {"utilisation_pct": 0.01, "jain_flows": 0.02, "share_S_pct": 0.03, "loss_S_frac": 0.04}
    claims = [claim(comparison(name, loss, low=0), name=name) for name, loss in where.items()]

    def draw(rng: np.random.Generator) -> Runs:
        return {name: {loss: added_until_narrow(rng, sd)} for name, loss in where.items()}

    wrong, _ = wrong_and_right(claims, [False] * 4, draw, 2000, first_round=5)
    assert wrong <= at_most(LEVEL, 2000)
    assert wrong >= at_least(1 - (1 - LEVEL / 4) ** 4, 2000)
