"""Equivalence of two labs: by hand, by simulation, and what no swap or unit may change."""

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from reports.inference.distributions import same_distribution_p
from reports.inference.equivalence import (
    NO_SPREAD,
    Apart,
    Pairs,
    apart,
    corrected,
    correlation,
)


def pairs(differences: Any, covariates: Any = None, size: float = 1.0) -> Pairs:
    """Return pairs of one point."""
    d = np.array(differences, dtype=float)
    beside = np.zeros((len(d), 0)) if covariates is None else np.array(covariates, dtype=float)
    return Pairs(differences=d, covariates=beside.reshape(len(d), -1), size=size)


def one(differences: Any, margin: float | None, covariates: Any = None) -> Apart:
    (found,) = apart([pairs(differences, covariates)], margin)
    return found


def p_of(found: Apart) -> tuple[float, float]:
    assert found.p_equivalent is not None
    assert found.p_different is not None
    return found.p_equivalent, found.p_different


def test_two_one_sided_tests_by_hand() -> None:
    # Mean 1, deviation 1, three pairs: standard error 1 / sqrt(3) and 2 degrees of freedom, for
    # which P(T > t) = (1 - t / sqrt(2 + t^2)) / 2. The nearer bound of +-3 is 2 away: t^2 = 12.
    found = one([0, 1, 2], 3.0)
    assert p_of(found) == pytest.approx(((1 - math.sqrt(12 / 14)) / 2, 1.0))
    assert found.difference == 1
    assert found.ci95 is not None
    assert found.ci90 is not None
    # Student's t of 2 degrees of freedom: 4.3027 at 95 %, 2.9200 at 90 %.
    assert found.ci95[1] == pytest.approx(1 + 4.30265 / math.sqrt(3), rel=1e-5)
    assert found.ci90[0] == pytest.approx(1 - 2.91999 / math.sqrt(3), rel=1e-5)
    # Twice as far as the margin of 0.5: t^2 = 3 (1 / 2)^2, and two tests.
    assert p_of(one([0, 1, 2], 0.5))[1] == pytest.approx(1 - math.sqrt(0.75 / 2.75))


def test_a_difference_at_equal_loss_by_hand() -> None:
    # d = 2 + 3 e + r with e = -1 to 3 and rests r = (1, -1, 0, -1, 1), which go with neither: at
    # e = 0 it is 2; r r = 4 over 5 - 2 degrees of freedom, 1/5 + 1/10 of it by where 0 lies.
    e, r = np.arange(-1, 4), np.array([1, -1, 0, -1, 1])
    found = one(2 + 3 * e + r, 10.0, e)
    assert found.adjusted
    assert found.difference == pytest.approx(2)
    assert found.ci95 is not None
    half = 3.182446 * math.sqrt(4 / 3 * (1 / 5 + 1 / 10))  # Student's t, 3 degrees of freedom
    assert found.ci95 == pytest.approx((2 - half, 2 + half), abs=1e-5)
    # Two points of the same slope: each has its own intercept.
    both = apart([pairs(2 + 3 * e + r, e), pairs(5 + 3 * e - r, e)], 10.0)
    assert [found.difference for found in both] == pytest.approx([2, 5])


def test_few_pairs_are_not_adjusted() -> None:
    found = one([0.0, 1.0, 2.0], 3.0, [1.0, 2.0, 3.0])
    assert not found.adjusted
    assert found == one([0.0, 1.0, 2.0], 3.0)
    assert not one(np.arange(9.0), 3.0, np.zeros((9, 1))).adjusted  # nothing to go by


SAMPLES = st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=2, max_size=8)


def with_covariate(differences: list[float]) -> list[float]:
    return [math.sin(3 * index) + 0.2 for index in range(len(differences))]


@given(SAMPLES, SAMPLES, st.floats(0.01, 9), st.booleans())
@example([1.0, 1.0, 1.0], [2.0, 2.0], 1.5, False)
def test_swapping_the_labs_changes_signs_only(
    first: list[float], second: list[float], margin: float, covariate: bool
) -> None:
    def of(sign: int) -> list[Apart]:
        beside = [
            sign * np.array(with_covariate(d)) if covariate else None for d in (first, second)
        ]
        points = zip((first, second), beside, strict=True)
        return apart([pairs(sign * np.array(d), e, size=10.0) for d, e in points], margin)

    for here, there in zip(of(1), of(-1), strict=True):
        assert there.difference == pytest.approx(-here.difference, abs=1e-9)
        assert p_of(there) == pytest.approx(p_of(here), abs=1e-9)
        assert there.seeds_wanted == here.seeds_wanted
        assert there.adjusted == here.adjusted
        for mine, theirs in ((here.ci90, there.ci90), (here.ci95, there.ci95)):
            assert (mine is None) == (theirs is None)
            if mine is not None and theirs is not None:
                assert mine == pytest.approx((-theirs[1], -theirs[0]), abs=1e-9)


@given(SAMPLES, st.floats(0.01, 9), st.sampled_from([1e-9, 0.125, 1e12]), st.booleans())
def test_p_values_have_no_unit(
    differences: list[float], margin: float, unit: float, covariate: bool
) -> None:
    assume(np.ptp(differences) > 0.01)
    beside = with_covariate(differences) if covariate else None
    here = one(differences, margin, beside)
    (there,) = apart([pairs(unit * np.array(differences), beside, size=unit)], unit * margin)
    assert there.difference == pytest.approx(unit * here.difference, abs=1e-9 * unit)
    assert p_of(there) == pytest.approx(p_of(here), abs=1e-6)


@given(SAMPLES, st.floats(0.01, 9), st.booleans())
def test_the_tests_say_what_the_intervals_show(
    differences: list[float], margin: float, covariate: bool
) -> None:
    assume(np.ptp(differences) > 0.01)
    found = one(differences, margin, with_covariate(differences) if covariate else None)
    assume(found.ci90 is not None and found.ci95 is not None)
    assert found.ci90 is not None
    assert found.ci95 is not None
    assume(all(abs(abs(end) - margin) > 1e-6 for end in (*found.ci90, *found.ci95)))
    p_equivalent, p_different = p_of(found)
    assert (p_equivalent < 0.05) == (-margin < found.ci90[0] and found.ci90[1] < margin)
    assert (p_different < 0.05) == (found.ci95[0] > margin or found.ci95[1] < -margin)


def simulated(random: np.random.Generator, mean: float, n: int) -> list[Pairs]:
    """Return three points of pairs that scatter most by what is beside them."""
    made = []
    for spread in (0.5, 1.0, 1.5):
        beside = random.normal(0, 1, (n, 2))
        made.append(pairs(mean + beside @ [4, -3] + random.normal(0, spread, n), beside))
    return made


def test_what_is_on_the_margin_is_rarely_taken_for_equivalent_or_different() -> None:
    random = np.random.default_rng(5)
    tried = [found for _ in range(500) for found in apart(simulated(random, 1.0, 12), 1.0)]
    assert all(found.adjusted for found in tried)
    for p, most in ((0, 0.05), (1, 0.025)):
        wrong = sum(p_of(found)[p] <= 0.05 for found in tried) / len(tried)
        assert most / 2 <= wrong <= most + 0.015


def test_as_many_seeds_as_wanted_decide_four_times_in_five() -> None:
    random = np.random.default_rng(1)
    for mean, which in ((0.2, 0), (2.0, 1)):
        start = mean + np.array([-1.0, 0.0, 1.0])
        n = one(start, 1.0).seeds_wanted
        assert n is not None
        tried = [one(random.normal(mean, 1.0, n), 1.0) for _ in range(400)]
        decided = sum(p_of(found)[which] <= 0.05 for found in tried)
        assert 0.74 <= decided / len(tried) <= 0.88
    assert one([0.0, 1.0, 2.0], 1.0).seeds_wanted is None  # no number tells what lies on the margin
    (many,) = apart([pairs([1.0, 2.0, 3.0])], 1.0, tests=30)
    few = one([1.0, 2.0, 3.0], 1.0).seeds_wanted
    assert many.seeds_wanted is not None
    assert few is not None
    assert many.seeds_wanted > few


@pytest.mark.parametrize(("n", "p"), [(2, 0.25), (5, 1 / 32)])
def test_pairs_without_a_spread_are_judged_by_the_sign_test(n: int, p: float) -> None:
    same, other = one([0.05] * n, 0.1), one([0.3] * n, 0.1)
    assert (*p_of(same), same.reason, same.ci95) == (p, 1.0, NO_SPREAD, None)
    assert p_of(other) == (1.0, p)


def test_without_a_margin_nothing_is_judged() -> None:
    found = one([-1.0, 0.0], None)
    assert (found.difference, found.p_equivalent, found.p_different) == (-0.5, None, None)
    assert found.ci95 is not None


def test_distributions_by_counting() -> None:
    # Of the 70 ways to deal 8 values to two labs, two set them wholly apart.
    assert same_distribution_p([1, 2, 3, 4], [5, 6, 7, 8]) == pytest.approx(2 / 70)
    assert same_distribution_p([1, 2, 3], [1, 2, 3]) == pytest.approx(1.0)


def test_samples_as_alike_as_can_be_are_compared_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_distribution_p([1, 2, 3, 4, 5], [5, 4, 2, 3, 1.5]) == pytest.approx(1.0)


def test_holms_correction() -> None:
    assert corrected([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert corrected([0.5, 0.9]) == [1.0, 1.0]
    assert corrected([]) == []


def test_correlation_within_points() -> None:
    # Together at each point; the points' own levels, which go against it, do not count.
    points = [np.array([(0.0, 10.0), (1.0, 11.0)]), np.array([(10.0, 0.0), (12.0, 2.0)])]
    assert correlation(points) == pytest.approx(1.0)
    assert correlation([np.array([(0.0, 1.0), (1.0, 0.0)])]) == pytest.approx(-1.0)
    assert correlation([np.array([(1.0, 1.0), (1.0, 2.0)])]) is None
