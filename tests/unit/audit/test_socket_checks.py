"""Samples against totals, windows against acknowledgements, hosts against probes: all exact."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from collectors.audit.socket_checks import checks
from collectors.sockets import protocol as protocol_counters
from collectors.sockets.protocol import protocol_table
from collectors.sockets.sockets import COLUMNS, sockets_table
from collectors.trace import congestion as congestion_events
from model.cell import Cell
from model.check import Check
from model.tolerances import EXACT, Tolerances
from tests.support.recorded import value, wireless_cell
from tests.support.recorded_sockets import EPOCH_NS, KERNELS, samples

CELL = wireless_cell(duration_s=12.0)
ENDS = [(flow, side) for flow in ("T", "S") for side in ("sender", "receiver")]


def recorded(kernel: str, *, cell: Cell = CELL, **changes: Any) -> dict[str, Check]:
    """Return the comparisons of a recorded cell by what and where; a total can be changed."""
    totals = {
        (flow, side): value(f"sockets-{kernel}/{flow}.{side}.jsonl") | changes
        for flow, side in ENDS
    }
    sockets = sockets_table(samples(kernel), CELL.flows, EPOCH_NS)
    protocol = protocol_table(samples(kernel), CELL.flows, EPOCH_NS)
    found = checks(cell, sockets, protocol, None, totals)
    return {f"{check.check}, {check.where}": check for check in found}


GROWS = "socket counters grow to the totals, flow"


@pytest.mark.parametrize("kernel", KERNELS)
def test_recorded_samples_agree_with_all_totals(kernel: str) -> None:
    found = recorded(kernel)
    assert set(found) == {
        f"{GROWS} T, sender", f"{GROWS} T, receiver", f"{GROWS} S, sender", f"{GROWS} S, receiver",
        "read from the socket, flow T, receiver", "Tcp RetransSegs, src1, sender",
        "Sctp OutOrderChunks + OutUnorderChunks, src2, sender",
        "Sctp InOrderChunks + InUnorderChunks, dst2, receiver",
    }  # fmt: skip
    assert {check.agrees for check in found.values()} == {True}


def test_a_sample_above_its_total_disagrees() -> None:
    found = recorded("7.3", segs_out=106)
    assert found[f"{GROWS} T, sender"].agrees is False
    assert found[f"{GROWS} T, sender"].got == "sent_pkts: highest sample 107, total 106"
    assert found[f"{GROWS} S, sender"].agrees is True


def test_what_a_flow_sends_after_its_stop_is_not_in_its_totals() -> None:
    flows = tuple(dataclasses.replace(flow, stop_s=8.0) for flow in CELL.flows)
    stopped = dataclasses.replace(CELL, flows=flows)
    sampled = sockets_table(samples("7.3"), CELL.flows, EPOCH_NS).filter(flow="T", side="sender")
    by_stop = sampled.filter(pl.col("t_s") <= 8.0)["sent_pkts"].max()
    assert isinstance(by_stop, int)
    assert recorded("7.3", cell=stopped, segs_out=by_stop)[f"{GROWS} T, sender"].agrees is True
    assert recorded("7.3", cell=stopped, segs_out=by_stop - 1)[f"{GROWS} T, sender"].agrees is False


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("window_goodput_bytes", "read from the socket, flow T, receiver"),
        ("retransmitted_segments", "Tcp RetransSegs, src1, sender"),
        ("unordered_chunks_out", "Sctp OutOrderChunks + OutUnorderChunks, src2, sender"),
        ("unordered_chunks_in", "Sctp InOrderChunks + InUnorderChunks, dst2, receiver"),
    ],
)
def test_another_total_disagrees_and_an_unknown_one_says_nothing(name: str, where: str) -> None:
    totals: dict[str, Any] = {name: 10**9}
    assert recorded("7.3", **totals)[where].agrees is False
    totals = {name: None}
    assert recorded("7.3", **totals)[where].agrees is None


@pytest.mark.parametrize(
    ("more_bytes", "agrees"), [(-1, None), (-1448, None), (-1449, False), (1, False)]
)
def test_a_segment_that_comes_at_the_end_says_nothing(more_bytes: int, agrees: bool | None) -> None:
    found = recorded("7.3", window_goodput_bytes=130320 + more_bytes)
    assert found["read from the socket, flow T, receiver"].agrees is agrees


def test_what_was_read_before_the_measuring_window_does_not_count() -> None:
    receiver = sockets_table(samples("7.3"), CELL.flows, EPOCH_NS).filter(
        flow="T", side="receiver", t_s=6.0
    )
    before = int(receiver["received_bytes"][0] - receiver["receive_queue_bytes"][0])
    where = "read from the socket, flow T, receiver"
    cell = dataclasses.replace(CELL, measure_from_s=6.0)

    def agrees(window_bytes: int, cell: Cell = cell) -> bool | None:
        return recorded("7.3", cell=cell, window_goodput_bytes=window_bytes)[where].agrees

    assert 0 < before < 130320
    assert agrees(130320 - before) is True
    assert agrees(130320) is False
    # Either sample may hold one segment more.
    assert agrees(130320 - before + 1448) is None
    assert agrees(130320 - before - 1449) is False
    # Nobody looked at 6.5 s.
    assert agrees(130320 - before, dataclasses.replace(CELL, measure_from_s=6.5)) is None


def test_what_is_not_known_is_no_disagreement() -> None:
    nothing = {end: dict[str, Any]() for end in ENDS}
    sockets = sockets_table(samples("7.3"), CELL.flows, EPOCH_NS)
    empty = pl.DataFrame(schema=protocol_counters.COLUMNS)
    assert {c.agrees for c in checks(CELL, sockets, empty, None, nothing)} == {None}
    sockets = sockets.clear()
    assert {c.agrees for c in checks(CELL, sockets, empty, None, nothing)} == {None}


def test_flows_of_others_are_not_compared() -> None:
    flows = tuple(dataclasses.replace(flow, generator="iperf3") for flow in CELL.flows)
    cell = dataclasses.replace(CELL, flows=flows)
    nothing = {end: dict[str, Any]() for end in ENDS}
    sockets = sockets_table(samples("7.3"), CELL.flows, EPOCH_NS)
    protocol = protocol_table(samples("7.3"), CELL.flows, EPOCH_NS)
    found = checks(cell, sockets, protocol, None, nothing)
    assert [check.agrees for check in found] == [None] * 3  # the hosts' counters


def test_a_counter_that_runs_back_disagrees() -> None:
    sockets = sockets_table(samples("7.3"), CELL.flows, EPOCH_NS)
    late = pl.col("t_s") == 6.0
    sockets = sockets.with_columns(sent_bytes=pl.when(late).then(0).otherwise("sent_bytes"))
    totals = {(flow, side): value(f"sockets-7.3/{flow}.{side}.jsonl") for flow, side in ENDS}
    empty = pl.DataFrame(schema=protocol_counters.COLUMNS)
    found = {(c.check, c.where): c for c in checks(CELL, sockets, empty, None, totals)}
    assert found["socket counters grow to the totals", "flow T, sender"].agrees is False


def windows(
    protocol: str,
    sample: dict[str, Any],
    *events: tuple[float, str, int | None],
    tolerances: Tolerances = EXACT,
) -> list[Check]:
    """Return the comparison of windows for one sample at 5 s and events of its flow."""
    flow = "T" if protocol == "tcp" else "S"
    plain = {
        "t_s": 5.0, "node": "src1", "flow": flow, "protocol": protocol, "side": "sender",
        "state": "established", "local_port": 9, "path": "10.2.2.2", "retransmit_timer_s": 1.0,
        "cwnd_segments": 10, "cwnd_bytes": 14480,
    }  # fmt: skip
    sockets = pl.DataFrame([plain | sample], schema=COLUMNS)
    unit = "cwnd_segments" if protocol == "tcp" else "cwnd_bytes"
    rows = [
        {"t_s": t_s, "flow": flow, "protocol": protocol, "event": event, "local_port": 9,
         "path": "10.2.2.2", "mtu_bytes": 1500, "state": "active", unit: cwnd}
        for t_s, event, cwnd in events
    ]  # fmt: skip
    congestion = pl.DataFrame(rows, schema=congestion_events.COLUMNS)
    told = congestion_events.by_flow(congestion, CELL.flows)
    empty = pl.DataFrame(schema=protocol_counters.COLUMNS)
    totals = {end: dict[str, Any]() for end in ENDS}
    cell = dataclasses.replace(CELL, flows=tuple(f for f in CELL.flows if f.id == flow))
    found = checks(cell, sockets, empty, told, totals, tolerances)
    return [check for check in found if check.check == "window sampled"]


@pytest.mark.parametrize(
    ("protocol", "sample", "events", "agrees"),
    [
        ("tcp", {}, [(4.9, "ack", 9), (5.1, "ack", 10), (5.2, "ack", 11)], True),
        ("tcp", {}, [(5.1, "ack", 11)], False),
        ("sctp", {}, [(5.1, "ack", 14480)], True),
        ("sctp", {}, [(5.1, "ack", 14481)], False),
        # A heartbeat was due: half of it, at least four packets.
        ("sctp", {}, [(5.1, "ack", 7240)], None),
        ("sctp", {"cwnd_bytes": 4396}, [(5.1, "ack", 6000)], None),
        ("sctp", {"cwnd_bytes": 4396}, [(5.1, "ack", 5844)], False),
        ("sctp", {"cwnd_bytes": 6000}, [(5.1, "ack", 6000)], True),
        # Something happened between, or may have: nothing follows.
        ("tcp", {}, [(5.05, "retransmit", None), (5.1, "ack", 5)], None),
        ("tcp", {}, [(5.05, "state", None), (5.1, "ack", 5)], None),
        ("tcp", {}, [(5.00005, "ack", 11)], None),
        ("sctp", {}, [(6.0, "ack", 1500)], None),
        ("sctp", {"retransmit_timer_s": None}, [(5.1, "ack", 1500)], None),
        ("tcp", {"state": "fin wait 1"}, [(5.1, "ack", 11)], None),
        # A path that was down when it was sampled has answered a heartbeat since.
        ("sctp", {"path_state": "inactive"}, [(5.1, "ack", 1500)], None),
        ("sctp", {"path_state": "potentially failed"}, [(5.1, "ack", 1500)], None),
        ("sctp", {"path_state": "active"}, [(5.1, "ack", 1500)], False),
        ("tcp", {"local_port": 8}, [(5.1, "ack", 11)], None),
        ("tcp", {}, [], None),
    ],
)
def test_a_window_is_the_one_the_next_acknowledgement_meets(
    protocol: str,
    sample: dict[str, Any],
    events: list[tuple[float, str, int | None]],
    agrees: bool | None,
) -> None:
    (check,) = windows(protocol, sample, *events)
    assert check.agrees is agrees


def test_who_samples_in_real_time_may_wake_up_late() -> None:
    event = (5.004, "ack", 11)
    (strict,) = windows("tcp", {}, event)
    (told,) = windows("tcp", {}, event, tolerances=Tolerances(start_s=10e-3))
    assert (strict.agrees, told.agrees) == (False, None)
