"""Two independent samples: against scipy's own tests, and by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.inference import independent
from reports.inference.independent import Batch, batch, between, distributions_p

pytestmark = pytest.mark.unit

A, B = (10.0, 12.0, 9.0, 11.5, 10.5), (13.0, 12.5, 14.0)


def test_the_interval_is_welch_s() -> None:
    found = between(batch(A), batch(B), margin=None)
    welch = stats.ttest_ind(B, A, equal_var=False)
    assert found.difference == pytest.approx(13.1666666667 - 10.6)
    assert found.ci95 == pytest.approx(tuple(welch.confidence_interval(0.95)), rel=1e-12)
    assert found.ci90 == pytest.approx(tuple(welch.confidence_interval(0.90)), rel=1e-12)
    assert found.p_equivalent is None
    assert found.p_different is None


def test_the_tests_are_two_one_sided_ones() -> None:
    margin = 4.0
    found = between(batch(A), batch(B), margin=margin)
    shifted = [one - margin for one in B]
    upper = stats.ttest_ind(shifted, A, equal_var=False, alternative="less").pvalue
    lower = stats.ttest_ind([b + margin for b in B], A, equal_var=False, alternative="greater")
    assert found.p_equivalent == pytest.approx(max(upper, lower.pvalue), rel=1e-9)
    beyond = stats.ttest_ind(shifted, A, equal_var=False, alternative="greater").pvalue
    assert found.p_different == pytest.approx(min(1.0, 2 * beyond), rel=1e-9)


def test_numbers_means_and_spreads_are_enough() -> None:
    of = stats.ttest_ind_from_stats(20.0, 2.0, 8, 15.0, 5.0, 30, equal_var=False)
    found = between(Batch(n=30, mean=15.0, sd=5.0), Batch(n=8, mean=20.0, sd=2.0), margin=1.0)
    assert found.ci95 is not None
    half = (found.ci95[1] - found.ci95[0]) / 2
    df = stats.t.sf(0, 1)
    assert df == 0.5
    assert found.difference == 5.0
    # The interval that just leaves out 0 is as wide as the p-value says.
    error = 5.0 / of.statistic
    freedom = (4 / 8 + 25 / 30) ** 2 / ((4 / 8) ** 2 / 7 + (25 / 30) ** 2 / 29)
    assert half == pytest.approx(stats.t.ppf(0.975, freedom) * error, rel=1e-9)


def test_the_standardised_difference_is_by_hand() -> None:
    # Deviations 1 and 3 with 4 and 2 degrees of freedom: pooled variance (4 + 18) / 6.
    found = between(Batch(n=5, mean=0, sd=1), Batch(n=3, mean=2, sd=3), margin=None)
    assert found.standardised == pytest.approx(2 / math.sqrt(22 / 6))


def test_one_replicate_has_a_difference_and_no_interval() -> None:
    found = between(batch([10.0]), batch(B), margin=1.0)
    assert (found.ci95, found.p_equivalent, found.reason) == (None, None, independent.ONE)
    assert found.difference == pytest.approx(3.1666666667)


def test_without_a_spread_the_values_decide() -> None:
    same = between(batch([3.0, 3.0]), batch([3.0, 3.0]), margin=0.1)
    assert (same.difference, same.p_equivalent, same.p_different) == (0.0, 0.0, 1.0)
    apart = between(batch([3.0, 3.0]), batch([4.0, 4.0]), margin=0.1)
    assert (apart.p_equivalent, apart.p_different) == (1.0, 0.0)
    assert apart.reason == independent.NO_SPREAD


def test_distributions_are_compared_where_replicates_are_enough() -> None:
    assert distributions_p(batch([1, 2, 3]), batch([4, 5, 6]))[1] == (
        "too few replicates (3 and 3): none could show a difference"
    )
    p, why = distributions_p(batch([1, 2, 3, 4]), batch([5, 6, 7, 8]))
    assert p == pytest.approx(2 / math.comb(8, 4))
    assert why is None
    assert distributions_p(batch(A), Batch(n=9, mean=1, sd=1)) == (None, independent.SUMMARY)


_VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=8)


@given(_VALUES, _VALUES, st.floats(0.01, 1e6))
def test_swapping_both_changes_signs_only(x: list[float], y: list[float], margin: float) -> None:
    one = between(batch(x), batch(y), margin=margin)
    other = between(batch(y), batch(x), margin=margin)
    assert one.difference == -other.difference
    assert one.p_equivalent == other.p_equivalent
    assert one.p_different == other.p_different
    if one.ci95 is not None:
        assert other.ci95 is not None
        assert one.ci95 == pytest.approx((-other.ci95[1], -other.ci95[0]))


@given(_VALUES, st.randoms())
def test_the_order_of_replicates_changes_nothing(values: list[float], rng: object) -> None:
    shuffled = list(values)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert between(batch(values), batch(shuffled), margin=None).difference == 0.0


@pytest.mark.parametrize(
    ("first", "second", "unit"),
    [
        (Batch(n=3, mean=1.0, sd=1.0), Batch(n=3, mean=1e200, sd=1e200), 5e199),
        (Batch(n=3, mean=0.0, sd=0.0), Batch(n=3, mean=1e-200, sd=1e-200), 5e-201),
        (Batch(n=3, mean=1e-200, sd=1e-200), Batch(n=10**9, mean=2e-200, sd=3e-200), 1.5e-200),
    ],
)
def test_numbers_whose_squares_no_float_holds_are_compared(
    first: Batch, second: Batch, unit: float
) -> None:
    """The same as of numbers near 1: what is told does not change with scale."""
    scale = max(abs(first.mean), abs(second.mean))
    near = [
        Batch(n=one.n, mean=one.mean / scale, sd=(one.sd or 0.0) / scale) for one in (first, second)
    ]
    found = between(first, second, margin=0.03, unit=unit)
    wanted = between(*near, margin=0.03, unit=unit / scale)
    for name in ("difference", "p_equivalent", "p_different", "standardised", "ci95"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), rel=1e-9)
