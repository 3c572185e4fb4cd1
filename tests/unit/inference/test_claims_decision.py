"""What runs say of a range: hand-worked t-tests, ratios of means, runs that are all equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.inference.decision import (
    Chance,
    Limits,
    Range,
    decide_mean,
    decide_quotient,
    decide_ratio,
    decide_shares,
)
from reports.store.sample import Share

RANDOM = Chance(none=False, shows=True)
SILENT = Chance(none=False, shows=False)
CERTAIN = Chance(none=True, shows=False)
POSITIVE = Range(low=0, high=None, strict=True)


def test_a_mean_above_a_bound() -> None:
    # 1, 2, 3, 4: mean 2.5, s = 1.29099, t = 2.5 / (1.29099 / 2) = 3.87298 with 3 degrees of
    # freedom; a table of t gives p = 0.0152 one-sided (t(0.985) = 3.896, t(0.98) = 3.482)
    found = decide_mean([1, 2, 3, 4], POSITIVE, RANDOM)
    assert (found.n, found.estimate, found.equal, found.reason) == (4, 2.5, False, None)
    assert found.p_inside == pytest.approx(0.01523, abs=1e-5)
    assert found.p_outside == pytest.approx(1 - 0.01523, abs=1e-5)
    assert found.ci95 == pytest.approx((0.4457, 4.5543), abs=1e-4)


def test_a_range_needs_both_sides_and_one_side_leaves_it() -> None:
    # mean 2.5 in 0 ... 4: t = 3.873 from below, (4 - 2.5) / 0.6455 = 2.324 from above: p = 0.0513
    found = decide_mean([1, 2, 3, 4], Range(low=0, high=4, strict=False), RANDOM)
    assert found.p_inside == pytest.approx(0.0513, abs=1e-4)
    # in -4 ... 0: outside on one of two sides, so twice 0.01523
    found = decide_mean([1, 2, 3, 4], Range(low=-4, high=0, strict=False), RANDOM)
    assert found.p_outside == pytest.approx(2 * 0.01523, abs=2e-5)
    assert found.p_inside == pytest.approx(1 - 0.01523, abs=1e-5)


def test_a_ratio_is_that_of_the_means() -> None:
    # means 110 and 100: 10 %; the mean of the runs' own ratios is 12.1 %
    of, over = [90.0, 110.0, 130.0], [110.0, 100.0, 90.0]
    found = decide_ratio(of, over, POSITIVE, RANDOM)
    assert found.estimate == pytest.approx(10)
    # of - over: -20, 10, 40: mean 10, s = 30, t = 10 / (30 / sqrt 3) = 0.57735: p = 0.3110
    assert found.p_inside == pytest.approx(0.31102, abs=1e-5)
    # at least 5 %: of - 1.05 over: -25.5, 5, 35.5: mean 5, s = 30.5, t = 0.28394: p = 0.40157
    found = decide_ratio(of, over, Range(low=5, high=None, strict=False), RANDOM)
    assert found.p_inside == pytest.approx(0.40157, abs=1e-5)


def test_fiellers_interval_is_where_the_test_turns() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(120, 10, 8), rng.normal(100, 10, 8)
    interval = decide_ratio(list(x), list(y), POSITIVE, RANDOM).ci95
    assert interval is not None
    for end, sides in ((interval[0], "p_inside"), (interval[1], "p_outside")):
        found = decide_ratio(list(x), list(y), Range(low=end, high=None, strict=True), RANDOM)
        assert getattr(found, sides) == pytest.approx(0.025, abs=1e-9)


def test_a_quotient_of_two_differences_is_that_of_the_means_whatever_their_signs() -> None:
    # means 10 and -5: -2; of + 1 over, with the signs turned: -10 + 5, by run -6, -5, -4; s = 1,
    # t = -5 / (1 / sqrt 3) = -8.66025, 2 degrees of freedom: p(above) = 0.99346
    of, over = [10.0, 10.0, 10.0], [-4.0, -5.0, -6.0]
    wanted = Range(low=-1, high=None, strict=False)
    found = decide_quotient(of, over, wanted, RANDOM)
    assert (found.n, found.estimate) == (3, -2)
    assert found.p_inside == pytest.approx(0.99346, abs=1e-5)
    # below -1: as likely as that alone, or as that over is not negative: t = 5 / (1 / sqrt 3),
    # p = 0.00654, which is the same here
    assert found.p_outside == pytest.approx(0.00654, abs=1e-5)
    turned = decide_quotient([-x for x in of], [-y for y in over], wanted, RANDOM)
    assert turned == found
    assert found.ci95 is not None
    assert found.ci95[0] < -2 < found.ci95[1]


def test_a_quotient_is_no_surer_than_the_sign_of_what_it_is_divided_by() -> None:
    # over: -1, 1, 3: mean 1, s = 2, t = 1 / (2 / sqrt 3) = 0.86603: p = 0.23888
    found = decide_quotient(
        [500.0, 501.0, 502.0], [-1.0, 1.0, 3.0], Range(low=0, high=None, strict=True), RANDOM
    )
    assert found.p_inside == pytest.approx(0.23888, abs=1e-5)
    assert decide_quotient([1.0, 2.0], [1.0, -1.0], POSITIVE, RANDOM).p_inside is None
    assert decide_quotient([], [], POSITIVE, RANDOM).reason == "no run counts"


def test_a_quotient_on_a_bound_is_judged_wrongly_no_oftener_than_stated() -> None:
    rng, level, draws = np.random.default_rng(2), 0.05, 4000
    wrong = [0, 0]
    for _ in range(draws):
        x, y = rng.normal(-30, 30, 12), rng.normal(20, 20, 12)
        found = decide_quotient(list(x), list(y), Range(low=-1.5, high=None, strict=True), RANDOM)
        for side, p in enumerate((found.p_inside, found.p_outside)):
            wrong[side] += p is not None and p <= level
    slack = 3 * (draws * level * (1 - level)) ** 0.5
    assert max(wrong) <= draws * level + slack
    assert min(wrong) >= draws * level / 4  # so it is not only never sure


def test_a_ratio_to_what_may_be_nothing_has_no_ends() -> None:
    assert decide_ratio([1.0, 2.0, 3.0], [-5.0, 1.0, 5.0], POSITIVE, RANDOM).ci95 is None
    assert decide_ratio([1.0], [1.0], POSITIVE, RANDOM).ci95 is None
    found = decide_ratio([1.0, 2.0], [0.0, 0.0], POSITIVE, RANDOM)
    assert (found.p_inside, found.estimate) == (None, None)
    assert found.reason == "what it is compared with is 0"


@pytest.mark.parametrize("runs", [1, 4])
def test_where_nothing_is_left_to_chance_the_value_decides(runs: int) -> None:
    found = decide_mean([3.0] * runs, POSITIVE, CERTAIN)
    assert (found.p_inside, found.p_outside, found.ci95) == (0, 1, None)
    assert "nothing is left to chance" in str(found.reason)
    found = decide_mean([-3.0] * runs, POSITIVE, CERTAIN)
    assert (found.p_inside, found.p_outside) == (1, 0)


def test_on_the_bound_it_matters_whether_it_belongs() -> None:
    for strict, inside in ((True, 1), (False, 0)):
        found = decide_mean([2.0, 2.0], Range(low=2, high=None, strict=strict), CERTAIN)
        assert (found.p_inside, found.p_outside) == (inside, 1 - inside)
    # 1.1 x 300 is not 330 in binary: rounding must not decide
    found = decide_ratio([330.0] * 3, [300.0] * 3, Range(low=10, high=None, strict=True), CERTAIN)
    assert (found.p_inside, found.p_outside) == (1, 0)


def test_equal_runs_without_a_limit_tell_of_the_median() -> None:
    found = decide_mean([3.0] * 8, Range(low=2.5, high=3.5, strict=True), RANDOM)
    assert (found.p_inside, found.equal) == (1 / 256, True)
    assert found.reason == (
        "all 8 runs equal: by the sign test, which is about the median, p = 1/2^8"
    )
    found = decide_mean([4.0] * 8, Range(low=2.5, high=3.5, strict=True), RANDOM)
    assert (found.p_inside, found.p_outside) == (1, 2 / 256)


def test_equal_runs_between_limits_tell_of_the_mean() -> None:
    """None of ten, at least 90 % wanted: a mean of 90 % needs nine runs in ten at 100 %."""
    share = Limits(low=0.0, high=1.0)
    found = decide_mean([0.0] * 10, Range(low=0.9, high=None, strict=False), RANDOM, share)
    assert found.p_outside == pytest.approx(0.1**10)
    assert found.reason == "all 10 runs equal: p = 0.1^10, by how far off others could be"
    # All of ten: one run in ten at nothing would do, and stay unseen with 0.9^10 = 35 %.
    found = decide_mean([1.0] * 10, Range(low=0.9, high=None, strict=False), RANDOM, share)
    assert found.p_inside == pytest.approx(0.9**10)
    # Never cannot be shown by any number of runs.
    found = decide_mean([0.0] * 10, Range(low=None, high=0.0, strict=False), RANDOM, share)
    assert found.p_inside == 1


def test_what_decides_of_two_bounds_is_what_is_told() -> None:
    """A time of 1 s, 0.9 to 1.1 s wanted: below is a limit, 0, and above there is none."""
    wanted, times = Range(low=0.9, high=1.1, strict=False), Limits(low=0.0)
    found = decide_mean([1.0] * 10, wanted, RANDOM, times)
    # One run in ten at 0 would do: that is less sure than the sign test of the upper bound.
    assert found.p_inside == pytest.approx(0.9**10)
    assert found.reason == "all 10 runs equal: p = 0.9^10, by how far off others could be"
    found = decide_mean([1.2] * 10, wanted, RANDOM, times)
    assert found.p_outside == pytest.approx(2 * (1.1 / 1.2) ** 10)
    assert found.reason == "all 10 runs equal: p = 0.917^10, by how far off others could be"
    found = decide_mean([0.5] * 10, wanted, RANDOM, times)
    assert found.p_outside == 2 / 1024
    assert found.reason == (
        "all 10 runs equal: by the sign test, which is about the median, p = 1/2^10"
    )


def test_near_a_limit_few_runs_are_not_enough() -> None:
    """Squares of normal values are like this ten times as often as Student's t says."""
    runs = [0.999, 0.995, 0.998, 0.990, 0.9995]
    wanted = Range(low=0.98, high=None, strict=False)
    near = decide_mean(runs, wanted, RANDOM, Limits(low=0.0, high=1.0))
    far = decide_mean(runs, wanted, RANDOM)
    assert far.p_inside is not None
    assert near.p_inside is not None
    assert near.p_inside > 10 * far.p_inside
    beyond = decide_mean(runs, Range(low=1.5, high=None, strict=False), RANDOM, Limits(high=1.0))
    assert beyond.p_inside == pytest.approx(1)


def test_equal_runs_whose_seeds_do_nothing_and_one_run_decide_nothing() -> None:
    for values in ([3.0] * 8, [3.0]):
        found = decide_mean(values, POSITIVE, SILENT)
        assert (found.p_inside, found.p_outside, found.estimate) == (None, None, 3.0)
        assert found.reason
    assert decide_mean([3.0], POSITIVE, RANDOM).reason == "one run: no spread can be estimated"
    assert decide_mean([], POSITIVE, RANDOM).reason == "no run counts"
    assert decide_ratio([], [], POSITIVE, RANDOM).reason == "no run counts"


NUMBERS = st.floats(min_value=-1e9, max_value=1e9, allow_nan=False)


@given(
    st.lists(NUMBERS, min_size=1, max_size=8),
    st.one_of(st.none(), NUMBERS),
    st.one_of(st.none(), NUMBERS),
    st.booleans(),
    st.sampled_from([RANDOM, SILENT, CERTAIN]),
    st.sampled_from([Limits(), Limits(low=-1e9, high=1e9), Limits(high=1e9)]),
)
def test_no_numbers_are_found_inside_and_outside(
    values: list[float], low: float | None, high: float | None, strict: bool, chance: Chance,
    limits: Limits,
) -> None:  # fmt: skip
    if (low is None and high is None) or (low is not None and high is not None and low > high):
        low, high = 0.0, None
    found = decide_mean(values, Range(low=low, high=high, strict=strict), chance, limits)
    assert (found.p_inside is None) == (found.p_outside is None)
    if found.p_inside is not None and found.p_outside is not None:
        assert 0 <= found.p_inside <= 1
        assert 0 <= found.p_outside <= 1
        assert not (found.p_inside < 0.5 and found.p_outside < 0.5)


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8),
    st.floats(min_value=-1e6, max_value=1e6),
)
def test_any_pairs_give_a_ratio_or_a_reason(pairs: list[tuple[float, float]], low: float) -> None:
    of, over = [x for x, _ in pairs], [y for _, y in pairs]
    found = decide_ratio(of, over, Range(low=low, high=None, strict=True), RANDOM)
    assert (found.p_inside is None) == (found.p_outside is None)
    assert found.p_inside is not None or found.reason


AT_LEAST_90 = Range(low=0.9, high=None, strict=False)


def p_of(*counts: tuple[int, int], wanted: Range = AT_LEAST_90) -> tuple[float, float]:
    found = decide_shares([Share(*count) for count in counts], wanted, RANDOM)
    assert found.p_inside is not None
    assert found.p_outside is not None
    return found.p_inside, found.p_outside


def test_all_or_none_of_many_losses_are_as_sure_as_so_many_trials() -> None:
    assert p_of((10, 10), (4, 4)) == pytest.approx((0.9**14, 1.0))
    assert p_of((0, 10), (0, 4)) == pytest.approx((1.0, 0.1**14))
    seldom = Range(low=None, high=0.1, strict=False)
    assert p_of((0, 10), (0, 4), wanted=seldom) == pytest.approx((0.9**14, 1.0))
    assert p_of((10, 10), (4, 4), wanted=seldom) == pytest.approx((1.0, 0.1**14))
    between = Range(low=0.2, high=0.9, strict=False)
    assert p_of((10, 10), (4, 4), wanted=between) == pytest.approx((1.0, 2 * 0.9**14))
    found = decide_shares([Share(10, 10), Share(4, 4)], AT_LEAST_90, RANDOM)
    assert found.reason == "all of 14 in 2 runs, taken as so many independent trials"


def test_few_losses_that_all_go_so_never_refute_it() -> None:
    """Three of three in each of ten runs: no evidence against, and little for it."""
    inside, outside = p_of(*[(3, 3)] * 10)
    assert outside == 1.0
    assert inside == pytest.approx(0.9**30)


def test_shares_between_are_an_ordinary_mean() -> None:
    shares = [Share(95, 100), Share(93, 100), Share(99, 100), Share(96, 100)]
    limits = Limits(low=0.0, high=1.0)
    plain = decide_mean([share.value for share in shares], AT_LEAST_90, RANDOM, limits)
    assert decide_shares(shares, AT_LEAST_90, RANDOM) == plain


def test_one_run_or_nothing_left_to_chance_is_as_before() -> None:
    assert decide_shares([Share(9, 9)], AT_LEAST_90, CERTAIN).p_inside == 0
    assert decide_shares([Share(9, 9)], AT_LEAST_90, RANDOM).p_inside is None


@pytest.mark.parametrize(("true", "of"), [(0.9, (20, 60)), (0.9, (2, 8)), (0.97, (3, 8))])
def test_shares_are_seldom_judged_wrongly(true: float, of: tuple[int, int]) -> None:
    """Each loss goes so with 90 %, on the bound, or with 97 %, so that to refute it is wrong."""
    draws = np.random.default_rng(5)
    wrong = 0
    for _ in range(3000):
        counts = draws.integers(*of, 10)
        shares = [Share(int(draws.binomial(m, true)), int(m)) for m in counts]
        found = decide_shares(shares, AT_LEAST_90, RANDOM)
        p = found.p_inside if true == 0.9 else found.p_outside
        wrong += p is not None and p <= 0.05
    assert wrong / 3000 <= 0.05 + 2.6 * (0.05 * 0.95 / 3000) ** 0.5  # 99 % of such counts
