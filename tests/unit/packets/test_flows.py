"""What probes, iperf3 and counters wrote becomes typed rows; anything else is a ParseError."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.raw.flows import (
    Received,
    Sent,
    counters,
    flow_row,
    iperf3_received,
    json_lines,
    probe_received,
    probe_sent,
    unconnected,
)
from model.errors import ParseError
from model.run_files.traffic_tables import FlowRow, IntervalRow
from tests.support.recorded import text, value, wireless_cell

CELL = wireless_cell()
TCP, SCTP = CELL.flows
UDP = dataclasses.replace(TCP, protocol="udp")
EPOCH_NS = 4_000_000_000
RECORDED = {
    name: text(f"probes-0.1.0/{name}.jsonl")
    for name in ("tcp_recv", "tcp_send", "sctp_recv", "sctp_send")
}
SERVER = text("iperf3-3.18/server.json")


def interval(flow: str, start_s: float, end_s: float, goodput_bytes: int) -> IntervalRow:
    return IntervalRow(flow=flow, start_s=start_s, end_s=end_s, goodput_bytes=goodput_bytes)


def test_recorded_tcp_receiver() -> None:
    # First byte at 4768793088 ns, last at 116089708544 ns; the experiment's zero at 4 s.
    assert probe_received(RECORDED["tcp_recv"], TCP, EPOCH_NS, "x") == Received(
        window_bytes=2_875_728,
        total_bytes=3_379_632,
        first_byte_s=0.768793088,
        last_byte_s=112.089708544,
        intervals=(
            interval("T", 0, 1, 2896),
            interval("T", 1, 2, 17376),
            interval("T", 111, 112, 49232),
            interval("T", 112, 113, 20272),
        ),
    )


def test_flows_that_never_connected_are_one_warning() -> None:
    silent = Received(
        window_bytes=0, total_bytes=0, first_byte_s=None, last_byte_s=None, intervals=()
    )

    def row(flow: Any, connect_s: float | None) -> FlowRow:
        return flow_row(flow, CELL, silent, Sent(connect_s=connect_s, retransmitted_pkts=None), {})

    none, some = row(TCP, None), row(SCTP, 0.5)
    assert unconnected([some, row(UDP, None)]) == []
    (found,) = unconnected([none, some])
    assert (found["rule"], found["where"]) == ("never-connected", "flow T")
    assert "before the flow's end: T. Goodput 0 is what was delivered" in found["text"]
    (many,) = unconnected([none] * 12)
    assert many["where"] == "12 of 12 flows"
    assert many["text"].count("T, ") == 10


def test_recorded_sctp_receiver() -> None:
    received = probe_received(RECORDED["sctp_recv"], SCTP, EPOCH_NS, "x")
    assert (received.window_bytes, received.total_bytes) == (4_199_200, 4_493_144)
    assert (received.first_byte_s, received.last_byte_s) == (1.28305792, 104.736196352)
    assert received.intervals[-1] == interval("S", 104, 105, 52128)


def sent(connect_s: float | None, pkts: int | None) -> Sent:
    return Sent(connect_s=connect_s, retransmitted_pkts=pkts)


@pytest.mark.parametrize(
    ("name", "flow", "found"),
    [
        ("tcp_send", TCP, sent(0.508411648, 35)),
        ("sctp_send", SCTP, sent(1.022672384, 37)),
        ("tcp_send", UDP, sent(None, None)),
    ],
)
def test_recorded_senders(name: str, flow: Any, found: Sent) -> None:
    assert probe_sent(RECORDED[name], flow, "x") == found


@pytest.mark.parametrize(
    ("connect_s", "told", "of_data"),
    [(0.5, None, 7), (1.5, None, None), (1.5, 1, 6), (3.5, 2, 5), (0.5, 0, 7)],
)
def test_a_syn_that_was_sent_again_is_no_data(
    connect_s: float, told: int | None, of_data: int | None
) -> None:
    effective: dict[str, Any] = {"event": "effective"}
    if told is not None:
        effective["handshake_retransmitted_segments"] = told
    totals = {"event": "totals", "connect_s": connect_s, "retransmitted_segments": 7}
    text = f"{json.dumps(effective)}\n{json.dumps(totals)}\n"
    assert probe_sent(text, TCP, "x") == sent(connect_s, of_data)


def totals(**changes: Any) -> str:
    """Return a receiver's last line, with changes; a value of ... leaves the key out."""
    values = {
        "event": "totals",
        "goodput_bytes": 20,
        "window_goodput_bytes": 10,
        "first_byte_t_ns": 5_500_000_000,
        "last_byte_t_ns": None,
    }
    return json.dumps({k: v for k, v in (values | changes).items() if v is not ...}) + "\n"


def test_a_flow_of_which_nothing_arrived_has_no_first_byte() -> None:
    received = probe_received(totals(first_byte_t_ns=None), TCP, EPOCH_NS, "x")
    assert (received.first_byte_s, received.last_byte_s, received.intervals) == (None, None, ())
    assert probe_received(totals(), TCP, EPOCH_NS, "x").first_byte_s == 1.5


def test_retransmissions_that_a_sender_does_not_tell_are_unknown() -> None:
    line = json.dumps({"event": "totals", "connect_s": None})
    assert probe_sent(line, TCP, "x") == Sent(connect_s=None, retransmitted_pkts=None)


INTERVAL = '{"event": "interval", "start_s": 0, "end_s": 1, "goodput_bytes": 5}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x: no 'totals' record (the program was cut short)"),
        (INTERVAL, "x: no 'totals' record (the program was cut short)"),
        (RECORDED["tcp_recv"][:-40], 'x:8: not JSON: got {"event":"totals"'),
        (INTERVAL + "Segmentation fault\n", "x:2: not JSON: got Segmentation fault"),
        (totals() + "\n", "x:2: not JSON"),
        ("[1]\n", "x:1: not a JSON object: got [1]"),
        ("5\n", "x:1: not a JSON object: got 5"),
        (totals(goodput_bytes=...), "x: no 'goodput_bytes' in the 'totals' record: got event, "),
        (
            totals(goodput_bytes="20"),
            "x: 'goodput_bytes' in the 'totals' record: wanted int, got '20'",
        ),
        (totals(goodput_bytes=None), "wanted int, got None"),
        (totals(goodput_bytes=True), "wanted int, got True"),
        (totals(window_goodput_bytes=1.5), "wanted int, got 1.5"),
        (totals(first_byte_t_ns="soon"), "wanted int or NoneType, got 'soon'"),
        (totals(last_byte_t_ns=...), "x: no 'last_byte_t_ns' in the 'totals' record"),
        (
            INTERVAL.replace("end_s", "stop_s") + totals(),
            "x: no 'end_s' in the 'interval' record: got event, goodput_bytes, start_s, stop_s",
        ),
    ],
)
def test_what_a_receiver_did_not_write_is_named(content: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        probe_received(content, TCP, EPOCH_NS, "x")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["tcp_send", "sctp_send"])
def test_a_sender_cut_short_is_named(name: str) -> None:
    flow = TCP if name.startswith("tcp") else SCTP
    lines = RECORDED[name].splitlines(keepends=True)
    with pytest.raises(ParseError, match="x: no 'totals' record"):
        probe_sent("".join(lines[:-1]), flow, "x")
    with pytest.raises(ParseError, match=r"x:4: not JSON"):
        probe_sent(RECORDED[name][:-9], flow, "x")
    with pytest.raises(ParseError, match="no 'connect_s' in the 'totals' record"):
        probe_sent(totals(), flow, "x")


def test_recorded_iperf3_server() -> None:
    flow = dataclasses.replace(TCP, generator="iperf3", stop_s=200.0)
    received = iperf3_received(SERVER, flow, "x")
    assert received.intervals == (
        interval("T", 0, 1.001001, 2896),
        interval("T", 1.001001, 2.000038, 17376),
        interval("T", 2.000038, 3.001001, 50680),
        interval("T", 199.000715, 200.001, 53576),
        interval("T", 200.001, 200.509462, 30408),
    )
    # The last interval ends more than half a second after the flow: 2896 + 17376 + 50680 + 53576.
    assert received.window_bytes == 124_528
    assert received.total_bytes == 154_936
    assert (received.first_byte_s, received.last_byte_s) == (None, None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            text("iperf3-3.18/refused.json"),
            "x: iperf3 failed: got unable to connect to server - server may have stopped running",
        ),
        ('{"error": "the server has terminated"}', "x: iperf3 failed: got the server has"),
        ("", "x: not an iperf3 result"),
        (SERVER[:2000], "x: not an iperf3 result: got {"),
        ("iperf3: error - unable to bind\n", "x: not an iperf3 result: got iperf3: error"),
        ("[]", "x: not an iperf3 result: got []"),
        ("null", "x: not an iperf3 result"),
        ("{}", "x: not an iperf3 result: got {} (KeyError('intervals'))"),
        ('{"intervals": [{"streams": []}]}', "(KeyError('sum'))"),
        ('{"intervals": [{"sum": {"start": 0, "end": 1, "bytes": Infinity}}]}', "not an iperf3"),
        ('{"intervals": [{"sum": {"start": null, "end": 1, "bytes": 1}}]}', "not an iperf3"),
    ],
)
def test_what_is_no_iperf3_result_is_named(content: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        iperf3_received(content, TCP, "x")
    assert message in str(caught.value)


@given(st.text())
def test_any_text_is_parsed_or_a_parse_error(content: str) -> None:
    for whole in (content, INTERVAL + content):
        for parse in (
            lambda t: probe_received(t, TCP, EPOCH_NS, "x"),
            lambda t: probe_sent(t, SCTP, "x"),
            lambda t: iperf3_received(t, TCP, "x"),
        ):
            with contextlib.suppress(ParseError):
                parse(whole)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=3,
)


@given(name=st.sampled_from(sorted(json.loads(totals()))), put=JSON)
def test_any_value_in_a_record_is_typed_or_a_parse_error(name: str, put: Any) -> None:
    with contextlib.suppress(ParseError):
        received = probe_received(totals(**{name: put}), TCP, EPOCH_NS, "x")
        assert type(received.total_bytes) is type(received.window_bytes) is int
    with contextlib.suppress(ParseError):
        iperf3_received(json.dumps({"intervals": [{"sum": put}, put]}), TCP, "x")


@given(cut=st.integers(0, len(SERVER) - 2))
def test_an_iperf3_result_cut_anywhere_is_a_parse_error(cut: int) -> None:
    with pytest.raises(ParseError):
        iperf3_received(SERVER[:cut], TCP, "x")


def test_json_lines_keep_their_order() -> None:
    assert json_lines('{"a": 1}\n{"a": 2}\n', "x") == [{"a": 1}, {"a": 2}]
    assert json_lines("", "x") == []


def test_recorded_counters() -> None:
    rows = value("probes-0.1.0/counters.json")
    counted = counters(rows, "T")
    assert counted == {"queue_offered": 2372, "loss_offered": 2363, "loss_passed": 2337}
    assert counters(rows, "X") == {}


def test_recorded_flow_row() -> None:
    row = flow_row(
        TCP,
        CELL,
        probe_received(RECORDED["tcp_recv"], TCP, EPOCH_NS, "x"),
        probe_sent(RECORDED["tcp_send"], TCP, "x"),
        counters(value("probes-0.1.0/counters.json"), "T"),
    )
    assert row == FlowRow(
        flow="T",
        group="T",
        protocol="tcp",
        generator="probe",
        goodput_bytes=2_875_728,
        goodput_bps=230_058.24,  # 2875728 bytes * 8 / 100 s
        total_bytes=3_379_632,
        connect_s=0.508411648,
        first_byte_s=0.768793088,
        last_byte_s=112.089708544,
        queue_offered_pkts=2372,
        queue_dropped_pkts=9,  # 2372 - 2363
        loss_offered_pkts=2363,
        loss_dropped_pkts=26,  # 2363 - 2337
        loss_frac=26 / 2363,
        retransmitted_pkts=35,
    )


def test_goodput_is_over_the_whole_run_for_every_flow() -> None:
    received = Received(
        window_bytes=1000, total_bytes=1000, first_byte_s=None, last_byte_s=None, intervals=()
    )
    sent = Sent(connect_s=None, retransmitted_pkts=None)
    # From 20 s on, yet 8000 bits in the run's 100 s: flows of one run must add up.
    late = dataclasses.replace(TCP, start_s=20.0, stop_s=500.0)
    assert flow_row(late, CELL, received, sent, {}).goodput_bps == 80.0


@pytest.mark.parametrize(
    ("counted", "row"),
    [
        ({}, (None, None, None, None, None)),
        ({"queue_offered": 5}, (5, None, None, None, None)),
        ({"queue_offered": 5, "loss_offered": 5}, (5, 0, 5, None, None)),
        ({"loss_offered": 0, "loss_passed": 0}, (None, None, 0, 0, None)),
        ({"queue_offered": 5, "loss_offered": 4, "loss_passed": 3}, (5, 1, 4, 1, 0.25)),
    ],
)
def test_what_was_not_counted_is_unknown_and_never_zero(
    counted: dict[str, int], row: tuple[float | None, ...]
) -> None:
    received = Received(
        window_bytes=0, total_bytes=0, first_byte_s=None, last_byte_s=None, intervals=()
    )
    made = flow_row(TCP, CELL, received, Sent(connect_s=None, retransmitted_pkts=None), counted)
    assert row == (
        made.queue_offered_pkts,
        made.queue_dropped_pkts,
        made.loss_offered_pkts,
        made.loss_dropped_pkts,
        made.loss_frac,
    )
