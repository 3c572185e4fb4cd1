"""Listed packets and captures in a study file: what is read, swept, and refused."""

from __future__ import annotations

import pytest

from model.cell import Cell
from testbed.planning.findings import find
from tests.support.study_file import UNPUBLISHED, Edit, cells, edited, problems, study, swept


def added(text: str) -> Edit:
    """Return the edit that adds a section."""
    return ("compare:\n", f"{text}compare:\n")


def listed(cell: Cell) -> dict[str, tuple[int, ...]]:
    return {flow.id: flow.drop_data_pkts for flow in cell.flows}


def test_a_study_drops_nothing_unless_it_says_so() -> None:
    assert listed(cells()[0]) == {"T": (), "S": ()}


def test_listed_packets_are_in_order_whatever_the_order_they_are_written_in() -> None:
    found = cells(added("drops:\n  T: {data_packets: [20, 8]}\n"))[0]
    assert listed(found) == {"T": (8, 20), "S": ()}


@pytest.mark.parametrize(("text", "wanted"), [("8", (8,)), ("none", ())])
def test_one_packet_may_stand_for_itself_and_none_is_a_word(
    text: str, wanted: tuple[int, ...]
) -> None:
    assert listed(cells(added(f"drops:\n  T: {{data_packets: {text}}}\n"))[0])["T"] == wanted


def test_one_packet_per_point_can_be_swept() -> None:
    found = cells(
        added("drops:\n  S: {data_packets: [8]}\n"), swept("drops.S.data_packets: [8, 7, none]")
    )
    assert [cell.point for cell in found] == [
        {"drop_data_pkts": 8}, {"drop_data_pkts": 7}, {"drop_data_pkts": "none"},
    ]  # fmt: skip
    assert [listed(cell)["S"] for cell in found] == [(8,), (7,), ()]


def test_two_flows_swept_are_told_apart() -> None:
    found = cells(
        added("drops:\n  T: {data_packets: 8}\n  S: {data_packets: 8}\n"),
        swept("drops.T.data_packets: [8]\n  drops.S.data_packets: [7]"),
    )
    assert [cell.point for cell in found] == [{"T_drop_data_pkts": 8, "S_drop_data_pkts": 7}]


def test_more_packets_than_a_program_holds_are_refused() -> None:
    numbers = ", ".join(map(str, range(1, 1002)))
    text = edited(added(f"drops:\n  T: {{data_packets: [{numbers}]}}\n"))
    assert [problem.split(": ", 1)[1] for problem in problems(text)] == [
        "drops.T.data_packets: too many packets: wanted at most 1000 packets, got 1001"
    ]


@pytest.mark.parametrize(
    ("section", "pcap", "captured"),
    [("", False, False), ("", True, True), ("collect: {captures: true}\n", False, True),
     ("collect: {captures: false}\n", True, True), ("collect: {}\n", False, False)],
)  # fmt: skip
def test_captures_are_what_the_study_or_the_command_line_asks_for(
    section: str, pcap: bool, captured: bool
) -> None:
    assert cells(added(section), pcap=pcap)[0].collect.pcap is captured


ALTERNATIVE = "assumptions:\n  - {id: x, text: x, why: x, alternatives: [{network.pairs: 3}]}\n"
CAPTURES_AT = "collect: {captures_at: [{network.bottleneck.loss.data: 1 %}]}\n"


def test_captures_at_some_points_only_and_where_an_assumption_is_varied_there() -> None:
    loaded = study(
        UNPUBLISHED, swept("network.bottleneck.loss.data: [1 %, 2 %]"), added(CAPTURES_AT),
        ("assumptions:\n", ALTERNATIVE),
    )  # fmt: skip
    found = {point.words(): loaded.captures(point) for point in loaded.all_points}
    assert found == {
        "loss_frac=0.01": True, "loss_frac=0.02": False,
        "loss_frac=0.01, pairs=3": True, "loss_frac=0.02, pairs=3": False,
    }  # fmt: skip


@pytest.mark.parametrize(("loss", "fires"), [("1 %", True), ("0 %", False)])
def test_one_seed_is_enough_where_nothing_is_left_to_chance(loss: str, fires: bool) -> None:
    loaded = study(
        UNPUBLISHED, swept("network.bottleneck.rate: [3 Mbit/s]"), ("data: 1 %", f"data: {loss}"),
        ("duration: 1000 s", "duration: 10 s"),  # over before SCTP's first heartbeat
    )  # fmt: skip
    found = find(loaded, seeds=(1,)).warnings
    assert ("one-seed" in {warning.rule for warning in found}) is fires
    several = find(loaded, seeds=(1, 2)).warnings
    assert ("seeds-alike" in {warning.rule for warning in several}) is not fires
