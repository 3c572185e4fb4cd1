"""What is said of a study that babeld routes before it runs."""

from __future__ import annotations

import pytest

from testbed.planning.findings import find
from tests.support.ad_hoc_study import study
from tests.support.study_file import Edit

BABEL: Edit = ("protocol: aodv", "protocol: babel")
SHORT: Edit = ("  routing:", "  warm_up: 15.9 s\n  routing:")


def warned(*edits: Edit) -> list[str]:
    found = find(study(*edits), seeds=(1, 2)).warnings
    return [one.text for one in found if one.rule == "short-warm-up"]


def test_a_short_warm_up_is_warned_of() -> None:
    (said,) = warned(BABEL, SHORT)
    assert said.startswith(
        "nodes warm up for 15.9 s, but babeld says hello every 4 s and tells of all its ways every"
        " 16 s: at time zero ways may be missing, and what is sent before there is one is lost"
    )


def test_so_is_that_of_a_study_that_says_nothing() -> None:
    (said,) = warned(BABEL)
    assert said.startswith("nodes warm up for 10 s, but")


@pytest.mark.parametrize("warm_up", ["16 s", "40 s"])
def test_a_longer_one_is_not(warm_up: str) -> None:
    assert warned(BABEL, ("  routing:", f"  warm_up: {warm_up}\n  routing:")) == []


def test_nor_is_that_of_other_protocols() -> None:
    assert warned(SHORT) == warned(SHORT, ("protocol: aodv", "protocol: batman-adv")) == []


def test_who_means_a_short_one_says_so() -> None:
    why = 'acknowledged:\n  - {rule: short-warm-up, why: "the start is what is looked at"}\ngroups:'
    assert warned(BABEL, SHORT, ("groups:", why)) == []
