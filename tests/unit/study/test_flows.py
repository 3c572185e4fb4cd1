"""Flows in a study file: their copies, congestion controls, and the window they are measured in."""

from __future__ import annotations

import pytest

from model.cell import OF_HOSTS
from model.errors import StudyError
from testbed.planning.findings import find
from testbed.study.vocabulary import CONGESTION_CONTROLS
from tests.support.study_file import UNPUBLISHED, Edit, cells, line_of, study, swept

PAIRS: Edit = ("pairs: 2", "pairs: 6")
T_THREE: Edit = ("pair: 1\n", "pair: 1\n    copies: 3\n")
RECORDED: Edit = ("network:\n", "collect: {messages: true}\nnetwork:\n")
S_NEXT: Edit = ("pair: 2\n", "pair: next\n    copies: 2\n")


def test_copies_have_names_pairs_and_ports_of_their_own() -> None:
    flows = cells(PAIRS, T_THREE, S_NEXT)[0].flows
    assert [(f.id, f.group, f.source, f.destination, f.port) for f in flows] == [
        ("T1", "T", 0, 0, 5001),
        ("T2", "T", 1, 1, 5002),
        ("T3", "T", 2, 2, 5003),
        ("S1", "S", 3, 3, 5004),
        ("S2", "S", 4, 4, 5005),
    ]


def test_messages_at_a_rate_and_their_times() -> None:
    found = cells(
        ("    protocol: tcp\n", "    protocol: tcp\n    rate: 463.36 kbit/s\n"),
        RECORDED,
    )
    tcp, sctp = found[0].flows
    assert (tcp.rate_bps, sctp.rate_bps) == (463_360, 0)
    assert all(cell.records_messages_of(flow) for cell in found for flow in cell.flows)
    assert not any(cell.records_messages_of(flow) for cell in cells() for flow in cell.flows)


def test_where_no_flow_has_messages_they_cannot_be_recorded() -> None:
    with pytest.raises(StudyError, match="no flow has messages that could be recorded"):
        study(RECORDED, ("generator: probe\n", "generator: iperf3\n"))


COUNTED: Edit = ("network:\n", "collect: {acknowledgements: true}\nnetwork:\n")


def test_acknowledgements_are_counted_where_asked_for_or_needed() -> None:
    assert all(cell.collect.acknowledgements for cell in cells(COUNTED))
    assert not any(cell.collect.acknowledgements for cell in cells())
    for name in ("ack_bandwidth_T_bps", "sack_bandwidth_S_bps"):
        asked: Edit = ("metrics: [", f"metrics: [{name}, ")
        assert all(cell.collect.acknowledgements for cell in cells(asked))


def test_where_no_flow_has_acknowledgements_they_cannot_be_counted() -> None:
    with pytest.raises(StudyError, match="no flow has acknowledgements that could be counted"):
        study(COUNTED, ("generator: probe\n", "generator: iperf3\n"))


def test_one_copy_keeps_its_name() -> None:
    flows = cells(("pair: 1\n", "pair: 1\n    copies: 1\n"), ("pair: 2\n", "pair: next\n"))[0].flows
    assert [(f.id, f.source, f.port) for f in flows] == [("T", 0, 5001), ("S", 1, 5002)]


def test_the_first_flow_of_a_list_has_pair_1_next() -> None:
    flows = cells(("pair: 1\n", "pair: next\n"))[0].flows
    assert [f.source for f in flows] == [0, 1]


def test_the_number_of_copies_can_be_swept() -> None:
    found = cells(
        PAIRS, ("pair: 2\n", "pair: next\n"),
        swept("flows.T.copies: [1, 3]\n  flows.S.copies: [2]"),
    )  # fmt: skip
    assert [cell.point for cell in found] == [
        {"T_copies": 1, "S_copies": 2}, {"T_copies": 3, "S_copies": 2},
    ]  # fmt: skip
    assert [[f.id for f in cell.flows] for cell in found] == [
        ["T", "S1", "S2"], ["T1", "T2", "T3", "S1", "S2"],
    ]  # fmt: skip


def test_settings_of_a_flow_hold_for_its_copies() -> None:
    found = cells(
        PAIRS, T_THREE, ("pair: 2\n", "pair: 4\n"), swept("flows.T.message: [100 bytes]"),
        ("compare:\n", "drops:\n  T: {data_packets: 8}\ncompare:\n"),
    )[0]  # fmt: skip
    assert [(f.id, f.message_bytes, f.drop_data_pkts) for f in found.flows] == [
        ("T1", 100, (8,)), ("T2", 100, (8,)), ("T3", 100, (8,)), ("S", 1448, ()),
    ]  # fmt: skip


def test_a_misleading_setting_of_copies_is_told_once_and_where_it_is_written() -> None:
    loaded = study(UNPUBLISHED, PAIRS, S_NEXT, T_THREE, ("duration: 1000 s", "duration: 6 s"))
    found = [w for w in find(loaded, seeds=(1, 2)).warnings if w.rule == "short-run"]
    assert [(w.where, w.text.split(" sends")[0]) for w in found] == [
        (f"w.yaml:{line_of(loaded.document.text, '- id: T')}", "flow T1"),
        (f"w.yaml:{line_of(loaded.document.text, '- id: S')}", "flow S1"),
    ]


def test_what_is_published_of_a_copy_names_it() -> None:
    episode = "[{flow: T2, where: Figure 5, values: {dupacks: 3}}]"
    published = f"published:\n  where: Section 4\n  episodes: {episode}\n"
    added: Edit = ("assumptions:\n", f"{published}assumptions:\n")
    assert study(UNPUBLISHED, PAIRS, T_THREE, added).settings.published


RENO: Edit = ("    pair: 1\n", "    pair: 1\n    congestion_control: reno\n")


def controls(*edits: Edit) -> list[list[str]]:
    """Return each flow's congestion control at every point."""
    return [[flow.congestion_control for flow in cell.flows] for cell in cells(*edits)]


def test_the_congestion_control_is_the_hosts_unless_the_flow_says_another() -> None:
    assert controls()[0] == [OF_HOSTS, OF_HOSTS]
    assert controls(RENO)[0] == ["reno", OF_HOSTS]


def test_a_congestion_control_can_be_swept() -> None:
    sweep = swept("flows.T.congestion_control: [hosts, cubic, bbr]")
    assert [flows[0] for flows in controls(RENO, sweep)] == [OF_HOSTS, "cubic", "bbr"]


def test_every_congestion_control_is_the_kernels_own_word() -> None:
    assert all(name == name.lower() and name.isalnum() for name in CONGESTION_CONTROLS)


def test_sctp_has_no_choice_of_congestion_control_but_may_say_so() -> None:
    of_sctp: Edit = ("    pair: 2\n", "    pair: 2\n    congestion_control: hosts\n")
    assert controls(of_sctp)[0][1] == OF_HOSTS


def measured(text: str) -> Edit:
    """Return the edit that adds a measuring window."""
    return ("seeds:", f"measure: {text}\nseeds:")


@pytest.mark.parametrize(
    ("edits", "window"),
    [
        ((), (0.0, 1000.0)),
        ((measured("{}"),), (0.0, 1000.0)),
        ((measured("{from: 50 s}"),), (50.0, 1000.0)),
        ((measured("{from: 50 s, to: end}"),), (50.0, 1000.0)),
        ((measured("{from: 0.5 s, to: 150 s}"),), (0.5, 150.0)),
    ],
)
def test_the_window_is_the_whole_run_unless_the_study_says_less(
    edits: tuple[Edit, ...], window: tuple[float, float]
) -> None:
    cell = cells(*edits)[0]
    assert (cell.measure_from_s, cell.measure_to_s) == window
    assert cell.measured_s() == window[1] - window[0]


IPERF3: Edit = ("generator: probe", "generator: iperf3")


def test_iperf3_counts_the_whole_run_if_it_is_called_a_window() -> None:
    assert study(measured("{from: 0 s, to: end}"), IPERF3).settings.generator == "iperf3"


@pytest.mark.parametrize("start", ["start: 999.6 s", "start: 0.5 s", "start_spread: 1 s"])
def test_a_probe_sends_for_any_time(start: str) -> None:
    flow: Edit = ("    protocol: tcp\n", f"    protocol: tcp\n    {start}\n")
    assert study(flow).settings.generator == "probe"
