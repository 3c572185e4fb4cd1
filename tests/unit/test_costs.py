"""What a plan says it costs: the study, its variations, and bounds where seeds are added."""

from __future__ import annotations

import pytest

from testbed.costs import cost_lines, seeds_words
from testbed.plan import Plan, make_plan
from testbed.precision import Precision
from tests.study_file import study
from tests.unit.test_plan import VARIED

pytestmark = pytest.mark.unit


def plan(*, sensitivity: bool = True, precision: Precision | None = None) -> Plan:
    seeds = range(1, 5)
    loaded = study(VARIED)
    return make_plan(
        loaded, seeds=tuple(seeds), lab={}, sensitivity=sensitivity, precision=precision
    )


def test_variations_have_a_line_of_their_own() -> None:
    own, varied = cost_lines(plan(), jobs=1)
    # 28 x 1000 s + 7 x 200 s at 480 s per s, and 1.2 s for each of 35 cells: 103.25 s.
    assert own == (
        "28 measuring cells and 7 calibrations, 8 h 10 min of virtual time,"
        " about 1 min 43 s on 1 cores"
    )
    assert varied.startswith("and 6 measuring cells and 1 calibration, 1 h 43 min of virtual time")
    assert varied.endswith(": sensitivity to assumptions")
    assert cost_lines(plan(sensitivity=False), jobs=1) == [
        own,
        "left out: sensitivity to assumptions (3)",
    ]
    assert seeds_words(plan()) == ("1 to 4", "4")


def test_seeds_as_needed_have_bounds() -> None:
    auto = Precision(metric=None, half_width=None, relative_half_width=0.05, at_least=2, at_most=4)
    own, varied = cost_lines(plan(precision=auto), jobs=2)
    assert own.startswith(
        "14 to 28 measuring cells and 7 calibrations, 4 h 16 min to 8 h 10 min of virtual time,"
    )
    assert varied == cost_lines(plan(), jobs=2)[1]
    assert seeds_words(plan(precision=auto)) == ("1, 2; at most 4", "2 to 4")
