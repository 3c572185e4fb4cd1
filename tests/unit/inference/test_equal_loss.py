"""The increase at equal loss: worked by hand, against scipy, and with effects that were planted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.inference.equal_loss import Run, at_equal_loss
from reports.inference.increase_at_equal_loss import DOUBTFUL_P, doubts


def test_two_points_by_hand() -> None:
    # Point A: (-1, 8), (1, 12): mean 10 at x 0. Point B: (0, 20), (2, 26): mean 23 at x 1.
    # Within points: Sxy = (-1)(-2) + 1 x 2 + (-1)(-3) + 1 x 3 = 10, Sxx = 2 + 2 = 4: slope 2.5.
    # At equal loss: A 10 - 0 = 10; B 23 - 2.5 x 1 = 20.5.
    # Left over: A -2 + 2.5 = 0.5, -0.5; B -3 + 2.5 = -0.5, 0.5: sum of squares 1, 4 - 2 - 1 = 1
    # degree of freedom, sd 1; without the slope 8 + 18 = 26 over 2 degrees: sd sqrt(13).
    # Standard errors: slope 1 / sqrt(4); A sqrt(1/2 + 0); B sqrt(1/2 + 1/4). t(1) = 12.7062.
    fit, (a, b) = at_equal_loss([[(-1, 8), (1, 12)], [(0, 20), (2, 26)]])
    assert (fit.runs, fit.degrees_of_freedom, fit.reason) == (4, 1, None)
    assert fit.slope == pytest.approx(2.5)
    assert fit.residual_sd == pytest.approx(1)
    assert fit.plain_sd == pytest.approx(math.sqrt(13))
    assert fit.slope_ci95 == pytest.approx((2.5 - 6.35310, 2.5 + 6.35310), abs=1e-5)
    assert (a.n, b.n) == (2, 2)
    assert a.mean == pytest.approx(10)
    assert b.mean == pytest.approx(20.5)
    assert a.ci95 == pytest.approx((10 - 8.98464, 10 + 8.98464), abs=1e-5)
    assert b.ci95 == pytest.approx((20.5 - 11.00389, 20.5 + 11.00389), abs=1e-5)
    assert (fit.equal_slopes_p, fit.equal_spread_p) == (None, None)


RUNS = st.lists(st.tuples(st.floats(-1, 1), st.floats(-100, 100)), min_size=3, max_size=12)


@given(RUNS)
def test_at_one_point_it_is_scipys_regression(runs: list[Run]) -> None:
    x, y = np.array(runs, dtype=float).T
    fit, (found,) = at_equal_loss([runs])
    if np.ptp(x) < 1e-3 or np.ptp(y) < 1e-3:
        return
    wanted = stats.linregress(x, y)
    t = stats.t.ppf(0.975, len(x) - 2)
    assert fit.slope == pytest.approx(wanted.slope, abs=1e-6, rel=1e-6)
    assert found.mean == pytest.approx(wanted.intercept, abs=1e-6, rel=1e-6)
    assert found.ci95 is not None
    half = (found.ci95[1] - found.ci95[0]) / 2
    assert half == pytest.approx(t * wanted.intercept_stderr, abs=1e-3, rel=1e-5)


@given(RUNS, st.floats(-50, 50))
def test_adding_to_all_increases_adds_to_the_adjusted_one(runs: list[Run], more: float) -> None:
    if np.ptp([x for x, _ in runs if x is not None]) < 1e-3:
        return
    _, (one,) = at_equal_loss([runs])
    _, (other,) = at_equal_loss([[(x, y + more) for x, y in runs]])
    assert one.mean is not None
    assert other.mean == pytest.approx(one.mean + more, abs=1e-6, rel=1e-9)


def test_a_point_with_a_loss_of_0_is_left_out_whole_and_says_why() -> None:
    good: list[Run] = [(-0.1, 8), (0.1, 12), (0.2, 15)]
    fit, (one, other, empty) = at_equal_loss([good, [(0.0, 5), (None, 6)], []])
    assert fit.runs == 3
    assert one.mean is not None
    assert (other.n, other.mean) == (2, None)
    assert other.reason == "a group's realised loss is 0 or not known in 1 of 2 runs"
    assert empty.reason == "no run counts"


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([], "too few runs for a slope: 0 at 0 points"),
        ([[(0.1, 8)], [(0.2, 9)]], "too few runs for a slope: 2 at 2 points"),
        ([[(0.1, 8), (0.3, 7)]], "too few runs for a slope: 2 at 1 point"),
        (
            [[(0.0, 8), (0.0, 9), (0.0, 7)]],
            "the groups' losses differ alike in all runs of a point",
        ),
    ],
)
def test_what_cannot_be_fitted_has_a_reason(points: list[list[Run]], reason: str) -> None:
    fit, found = at_equal_loss(points)
    assert (fit.slope, fit.residual_sd, fit.reason) == (None, None, reason)
    assert [(one.mean, one.ci95, one.reason) for one in found] == [(None, None, reason)] * len(
        points
    )


def planted(
    draws: np.random.Generator, slopes: list[float], noise: list[float], runs: int = 6
) -> list[list[Run]]:
    """Return runs at points whose increase at equal loss is 20 per cent."""
    return [
        [
            (float(x), float(20 + slope * x + draws.normal(0, sd)))
            for x in draws.normal(0, 0.1, runs)
        ]
        for slope, sd in zip(slopes, noise, strict=True)
    ]


def test_a_planted_increase_is_covered_as_often_as_it_says_and_in_narrower_intervals() -> None:
    draws = np.random.default_rng(1)
    covered, widths = 0, []
    for _ in range(500):
        fit, found = at_equal_loss(planted(draws, [60.0] * 4, [2.5] * 4))
        assert fit.residual_sd is not None
        assert fit.plain_sd is not None
        widths.append(fit.plain_sd / fit.residual_sd)
        covered += sum(one.ci95 is not None and one.ci95[0] <= 20 <= one.ci95[1] for one in found)
    # 4 estimates of a fit share its slope and spread: 500 independent fits bound the error.
    assert covered / 2000 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 500))
    assert np.median(widths) == pytest.approx(math.hypot(6, 2.5) / 2.5, rel=0.1)


def test_unequal_slopes_and_spreads_are_noticed_and_equal_ones_rarely() -> None:
    draws = np.random.default_rng(2)
    fits = [at_equal_loss(planted(draws, [60.0] * 4, [2.5] * 4))[0] for _ in range(500)]
    for name in ("equal_slopes_p", "equal_spread_p"):
        wrong = sum(getattr(fit, name) < DOUBTFUL_P for fit in fits)
        assert wrong <= stats.binom.ppf(0.999, 500, DOUBTFUL_P)
    slopes = at_equal_loss(planted(draws, [0, 60, 120, 200], [2.5] * 4, runs=12))[0]
    assert slopes.equal_slopes_p is not None
    assert slopes.equal_slopes_p < DOUBTFUL_P
    (warning,) = doubts(slopes)
    assert warning.rule == "adjustment-doubtful"
    assert warning.text.startswith("The points do not share one slope (p = ")
    spread = at_equal_loss(planted(draws, [60.0] * 4, [1, 1, 10, 10], runs=12))[0]
    assert spread.equal_spread_p is not None
    assert spread.equal_spread_p < DOUBTFUL_P
    assert doubts(None) == ()
