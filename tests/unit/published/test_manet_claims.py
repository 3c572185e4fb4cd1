"""The claims of the study ``manet`` compare what their words say, and no word goes beyond them."""

from __future__ import annotations

import itertools

import pytest

from testbed.points.claims import Comparison
from testbed.points.load_study import STUDIES_FOLDER, load_study

STUDY = load_study(STUDIES_FOLDER / "manet.yaml")
CLAIMS = {claim.id: claim for claim in STUDY.settings.claims}
SPEEDS = (1.0, 5.0, 20.0)
#: What a case is, whatever the speed: protocol, interfaces, and whether ends move.
CASE = ("protocol", "multihoming", "ends")
#: The publication's three, as SCTP has them.
PRINTED = {
    ("sctp", "none", "move"), ("sctp", "same-channel", "move"), ("sctp", "same-channel", "stay"),
}  # fmt: skip
OF_THREE_CASES = (
    "sctp-below-tcp",
    "narrow-margin",
    "sack-bandwidth-above",
    "sack-bandwidth-ten-times",
    "ack-packets-ten-times",
    "gap-is-sack-bandwidth",
)


def compared(claim: str) -> tuple[Comparison, ...]:
    ids = [one.id for one in STUDY.settings.claims]
    return STUDY.comparisons[ids.index(claim)]


def at(index: int) -> tuple[tuple[object, ...], object]:
    values = STUDY.points[index].values
    return tuple(values[name] for name in CASE), values["max_mps"]


@pytest.mark.parametrize("claim", OF_THREE_CASES)
def test_sctp_is_beside_tcp_in_the_three_printed_cases_at_each_speed(claim: str) -> None:
    found = [at(one.point) for one in compared(claim)]
    assert sorted(found) == sorted(itertools.product(PRINTED, SPEEDS))
    for one in compared(claim):
        (_, _, ends), speed = at(one.point)
        assert one.versus is not None
        assert at(one.versus[1]) == (("tcp", "none", ends), speed)


def test_the_text_names_the_three_cases_and_no_fourth() -> None:
    text = CLAIMS["sctp-below-tcp"].text
    assert "over one interface with ends that move" in text
    assert "over two with ends that move, and over two with ends that stay" in text


def test_connect_times_are_compared_between_any_two_of_three_speeds() -> None:
    claims = ("connect-time-without-trend", "connect-time-without-trend-between")
    pairs: dict[tuple[object, ...], set[frozenset[object]]] = {}
    for one in itertools.chain.from_iterable(map(compared, claims)):
        assert one.versus is not None
        case, speed = at(one.point)
        other_case, other = at(one.versus[1])
        assert other_case == case
        pairs.setdefault(case, set()).add(frozenset({speed, other}))
    any_two = set(map(frozenset, itertools.combinations(SPEEDS, 2)))
    assert pairs == dict.fromkeys(
        PRINTED | {("tcp", "none", "move"), ("tcp", "none", "stay")}, any_two
    )


def test_multihoming_may_worsen_what_it_is_said_not_to_improve() -> None:
    (low,) = {one.low for one in compared("multihoming-brings-nothing")}
    (high,) = {one.high for one in compared("multihoming-brings-nothing")}
    assert (low, high) == (None, 20.0)


@pytest.mark.parametrize(
    "claim", ["overheads-hamper", "sack-is-the-reason", "same-congestion-control"]
)
def test_the_publications_explanations_are_listed_though_none_can_be_tested(claim: str) -> None:
    assert CLAIMS[claim].untested
    assert not compared(claim)
