"""Fieller's interval against numbers worked by hand, the test it inverts, and its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from reports.inference.estimates import ratio_of_means
from reports.inference.statistics import Estimate
from reports.store.sample import Quotient


def found_of(*pairs: tuple[float, float]) -> Estimate:
    return ratio_of_means([Quotient(*pair) for pair in pairs])


def test_three_runs_by_hand() -> None:
    # Means 20 and 10: ratio 2. Variances 4 and 1, covariance ((-2)(-1) + 0 + 2 x 1) / 2 = 2.
    # over = 2 x under in every run: nothing is left over, the interval is the point.
    assert found_of((18, 9), (20, 10), (22, 11)).ci95 == pytest.approx((2, 2))
    # Now 22, 20, 18 over 9, 10, 11: covariance -2. Fieller's quadratic A r^2 - 2 B r + C, with
    # t(2) = 4.302653 and t^2 / n = 6.170942:
    #   A = 10^2 - 6.170942 x 1 = 93.829058
    #   B = 20 x 10 - 6.170942 x (-2) = 212.341884
    #   C = 20^2 - 6.170942 x 4 = 375.316232
    #   r = (212.341884 +- sqrt(212.341884^2 - 93.829058 x 375.316232)) / 93.829058
    found = found_of((22, 9), (20, 10), (18, 11))
    assert found.mean == 2.0
    assert found.n == 3
    assert found.ci95 == pytest.approx((1.204066, 3.322077), abs=2e-6)
    assert (found.sd, found.pi95, found.reason) == (None, None, None)


def test_the_mean_of_ratios_is_another_number() -> None:
    # 10 / 10 and 30 / 10 against 20 / 10 and 60 / 40: means of ratios 2 and 1.75.
    assert found_of((10, 10), (30, 10)).mean == 2.0
    assert found_of((20, 10), (60, 40)).mean == pytest.approx(1.6)


def test_an_unbounded_interval_is_none_and_says_why() -> None:
    # Under: mean 2, sd sqrt(2), standard error 1: 2 standard errors, and t(1) = 12.7 is needed.
    found = found_of((1, 1), (5, 3))
    assert found.mean == 1.5
    assert found.ci95 is None
    assert found.reason == (
        "the denominator is too uncertain for a bounded interval: its mean is 2 standard errors, "
        "Fieller's needs more than 12.7"
    )


def test_one_run_and_none() -> None:
    one = found_of((3, 2))
    assert (one.mean, one.ci95, one.reason) == (1.5, None, "one run: no spread can be estimated")
    none = found_of()
    assert (none.n, none.mean, none.reason) == (0, None, "no run counts")


def test_equal_runs_give_the_point() -> None:
    assert found_of(*[(0.3, 0.1)] * 5).ci95 == pytest.approx((3, 3))


POSITIVE = st.floats(0.1, 1e6)
PAIRS = st.lists(st.tuples(st.floats(-1e6, 1e6), POSITIVE), min_size=2, max_size=12)


@given(PAIRS)
@example([(0.0, 9863.0), (0.0, 10311.0), (4.949632740444994e-254, 4481.0)])
def test_it_holds_exactly_what_the_t_test_does_not_reject(pairs: list[tuple[float, float]]) -> None:
    found = found_of(*pairs)
    over, under = np.array(pairs).T
    assert found.mean is not None
    if found.ci95 is None:
        # Unbounded: not even a denominator of mean 0 is rejected.
        assert not stats.ttest_1samp(under, 0.0).pvalue < 0.05 * (1 - 1e-9)
        return
    low, high = found.ci95
    assert low <= found.mean + 1e-9 * abs(found.mean)
    assert high >= found.mean - 1e-9 * abs(found.mean)
    width = high - low
    if width < 1e-6 * (1 + abs(found.mean)) or width > 1e6 * (1 + abs(found.mean)):
        return  # no spread to test with, or so wide that the test cannot tell
    for end in (low, high):
        assert stats.ttest_1samp(over - end * under, 0.0).pvalue == pytest.approx(0.05, rel=1e-3)


@given(PAIRS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_change_nothing(pairs: list[tuple[float, float]], one: float, other: float) -> None:
    found = found_of(*pairs)
    scaled = found_of(*((a * one, b * other) for a, b in pairs))
    assert scaled.mean == pytest.approx(
        found.mean * one / other if found.mean else 0, rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("n", [3, 5, 10])
def test_it_covers_the_true_ratio_as_often_as_it_says(n: int) -> None:
    # Correlated totals of 12 % spread, true ratio 1.2: 2000 draws, 95 % +- 4 standard errors.
    draws = np.random.default_rng(1954)
    common = draws.normal(100, 10, (2000, n))
    over, under = (
        1.2 * common + draws.normal(0, 8, (2000, n)),
        common + draws.normal(0, 6, (2000, n)),
    )
    covered = bounded = 0
    for one, other in zip(over, under, strict=True):
        found = ratio_of_means([Quotient(*pair) for pair in zip(one, other, strict=True)])
        bounded += found.ci95 is not None
        covered += found.ci95 is None or found.ci95[0] <= 1.2 <= found.ci95[1]
    assert covered / 2000 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 2000))
    assert bounded / 2000 > 0.97
