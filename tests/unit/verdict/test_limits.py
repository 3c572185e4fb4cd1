"""What metrics and differences of metrics cannot pass, and what is shown of intervals that do."""

from __future__ import annotations

import pytest

from model.run_files.publication import Comparison
from reports.inference.decision import Decision, Limits
from reports.verdict.limits import limits_of, limits_of_comparison, within
from tests.support.claims_study import WORDS, comparison


@pytest.mark.parametrize(
    ("metric", "shown"),
    [
        ("utilisation_pct", (0.0, 100.0)),
        ("goodput_T_bps", (0.0, 104.0)),
        ("timeouts_T", (0.0, 104.0)),
        ("link_breaks", (0.0, 104.0)),
        ("frames_given_up", (0.0, 104.0)),
        ("pct_increase", (-100.0, 104.0)),
        ("goodput_fit_slope", (-130.0, 104.0)),
    ],
)
def test_intervals_stay_inside_what_a_metric_can_be(
    metric: str, shown: tuple[float, float]
) -> None:
    assert within(limits_of(metric), (-130.0, 104.0)) == shown


@pytest.mark.parametrize(
    ("one", "limits"),
    [
        (comparison("utilisation_pct", low=0.0), Limits(low=0.0, high=100.0)),
        (comparison("goodput_S_bps", low=0.0), Limits(low=0.0)),
        (comparison("pct_increase", low=0.0), Limits(low=-100.0)),
        (
            comparison("utilisation_pct", low=0.0, versus=("utilisation_pct", 0.02)),
            Limits(low=-100.0, high=100.0),
        ),
        (comparison("goodput_S_bps", low=0.0, versus=("goodput_T_bps", 0.01)), Limits()),
        (comparison("goodput_S_bps", low=0.0, versus=("goodput_T_bps", 0.01), relative=True),
         Limits(low=-100.0)),
        (comparison("pct_increase", low=0.0, versus=("pct_increase", 0.02), relative=True),
         Limits()),
    ],
)  # fmt: skip
def test_what_is_compared_has_limits_of_its_own(one: Comparison, limits: Limits) -> None:
    assert limits_of_comparison(one) == limits


def test_words_show_the_possible_part_of_an_interval() -> None:
    found = Decision(
        n=3, estimate=-60.0, ci95=(-140.0, 20.0), p_inside=0.2, p_outside=0.8, equal=False,
        reason=None,
    )  # fmt: skip
    one = comparison("goodput_S_bps", low=0.0, versus=("goodput_T_bps", 0.01), relative=True)
    assert WORDS.short(one, found) == "-60.0 % (-100.0 to 20.0)"
