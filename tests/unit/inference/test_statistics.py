"""Intervals against textbook numbers, and their limits."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.inference.statistics import estimate, inside, student_t

#: Student (1908), hours of sleep gained by ten patients, as in R's ``t.test(sleep, paired)``.
SLEEP_GAIN_H = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]


@pytest.mark.parametrize(
    ("degrees_of_freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)],
)
def test_student_t_as_in_printed_tables(degrees_of_freedom: int, quantile: float) -> None:
    assert student_t(degrees_of_freedom) == pytest.approx(quantile, abs=5e-4)


def test_confidence_interval_of_a_textbook_sample() -> None:
    found = estimate(SLEEP_GAIN_H)
    assert found.n == 10
    assert found.mean == pytest.approx(1.58)
    assert found.sd == pytest.approx(1.229995, abs=1e-6)
    assert found.ci95 == pytest.approx((0.7001142, 2.4598858), abs=1e-7)
    # 2.262157 x 1.229995 x sqrt(1 + 1/10) = 2.918250
    assert found.pi95 == pytest.approx((1.58 - 2.918250, 1.58 + 2.918250), abs=1e-5)
    assert found.reason is None


def test_two_runs_by_hand() -> None:
    # mean 11, s = sqrt(2), t(1) = 12.7062; CI 12.7062 x 1 = 12.7062; PI 12.7062 x sqrt(2 x 1.5)
    found = estimate([10.0, 12.0])
    assert found.sd == pytest.approx(math.sqrt(2))
    assert found.ci95 == pytest.approx((-1.7062, 23.7062), abs=1e-4)
    assert found.pi95 == pytest.approx((11 - 22.0078, 11 + 22.0078), abs=1e-4)


def test_one_run_has_no_interval() -> None:
    found = estimate([7.0])
    assert (found.n, found.mean) == (1, 7.0)
    assert (found.sd, found.ci95, found.pi95) == (None, None, None)
    assert found.reason == "one run: no spread can be estimated"


def test_no_run_has_nothing() -> None:
    found = estimate([])
    assert (found.n, found.mean, found.sd, found.ci95, found.pi95) == (0, None, None, None, None)
    assert found.reason == "no run counts"


def test_equal_runs_have_no_spread_at_all() -> None:
    found = estimate([0.1] * 7)
    assert (found.mean, found.sd, found.ci95, found.pi95) == (0.1, 0.0, (0.1, 0.1), (0.1, 0.1))


@pytest.mark.parametrize(
    ("value", "wanted"), [(1.0, True), (2.0, True), (2.01, False), (None, None)]
)
def test_inside_counts_the_ends(value: float | None, wanted: bool | None) -> None:
    assert inside(value, (1.0, 2.0)) is wanted


def test_inside_an_unknown_interval_is_unknown() -> None:
    assert inside(1.0, None) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_the_order_of_runs_does_not_matter_and_prediction_is_wider(values: list[float]) -> None:
    found = estimate(values)
    assert found == estimate(values[::-1])
    assert found.ci95 is not None
    assert found.pi95 is not None
    assert found.mean is not None
    assert found.pi95[0] <= found.ci95[0] <= found.mean <= found.ci95[1] <= found.pi95[1]
