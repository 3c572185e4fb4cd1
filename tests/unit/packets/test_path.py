"""Delays, jitter and acknowledgement bandwidth against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.packets import columns, path
from collectors.packets.path import accepted_bytes, path_rows
from collectors.packets.seen import FlowPackets, flow_packets
from collectors.tables import packet_evidence
from model.cell import Cell, Flow, from_dict
from model.links import FIFO
from tests.support.recorded import DATA, value, with_bottleneck

CELL: Cell = from_dict(value("lab-cell-7.3/cell.json"))
TCP, SCTP = (dataclasses.replace(flow, stop_s=10.0) for flow in CELL.flows)
TEN_S = dataclasses.replace(CELL, duration_s=10.0, measure_to_s=10.0, flows=(TCP, SCTP))


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return a packets table of these rows; what is not said is null."""
    empty = dict.fromkeys(columns.COLUMNS)
    return pl.DataFrame([{**empty, **row} for row in rows], schema=columns.COLUMNS)


def sent_and_delivered(number: int, sent_s: float, delay_s: float, **more: Any) -> list[Any]:
    row = {"flow": "T", "direction": "data", "packet": number, "ip_bytes": 1000, **more}
    return [
        {**row, "point": "sent", "t_s": sent_s},
        {**row, "point": "delivered", "t_s": sent_s + delay_s},
    ]


def data(number: int, sent_s: float, delay_s: float, seq: int) -> list[Any]:
    return sent_and_delivered(
        number, sent_s, delay_s, seq=seq, payload_bytes=960, tcp_flags=16, ack=1
    )


FOUR = [
    *sent_and_delivered(0, 0.0, 0.5, seq=0, payload_bytes=0, tcp_flags=2),
    *data(1, 1.0, 0.10, 1),
    *data(2, 2.0, 0.14, 961),
    *data(3, 3.0, 0.12, 1921),
    *data(4, 4.0, 0.20, 2881),
]


def test_delay_and_jitter_worked_out_by_hand() -> None:
    row = path_rows(TEN_S, table(*FOUR))[0]
    # Delays 100, 140, 120, 200 ms; differences 40, 20, 80 ms. The handshake carries no data.
    assert row.owd_mean_s == pytest.approx(0.14)
    assert row.owd_min_s == pytest.approx(0.10)
    assert row.owd_max_s == pytest.approx(0.20)
    assert row.owd_p50_s == pytest.approx(0.13)
    assert row.owd_p95_s == pytest.approx(0.14 + 0.85 * 0.06)
    assert row.jitter_mean_s == pytest.approx(0.14 / 3)
    # J += (|D| - J) / 16: 2.5 ms, then 3.59375 ms, then 8.369140625 ms.
    assert row.jitter_rfc3550_s == pytest.approx(0.008369140625)


def test_bandwidth_is_of_the_measuring_window_alone() -> None:
    ack = {"direction": "ack", "payload_bytes": 0, "ip_bytes": 52, "tcp_flags": 16, "ack": 961}
    syn = {**ack, "tcp_flags": 18, "ip_bytes": 60}
    rows = [
        *sent_and_delivered(5, 0.2, 0.3, **syn),
        *sent_and_delivered(6, 1.1, 0.3, **ack),
        *sent_and_delivered(7, 2.1, 0.5, **ack),
        *sent_and_delivered(8, 10.0, 0.3, **ack),
    ]
    row = path_rows(TEN_S, table(*FOUR, *rows))[0]
    assert (row.ack_pkts, row.ack_ip_bytes) == (2, 104)
    assert row.ack_wire_rate_bps == pytest.approx(104 * 8 / 10)
    assert row.data_wire_rate_bps == pytest.approx(5 * 1000 * 8 / 10)
    # The last one leaves when the window is over.
    assert row.ack_owd_mean_s == pytest.approx((0.3 + 0.3 + 0.5) / 3)


def test_a_window_that_begins_later_leaves_out_what_was_before() -> None:
    cell = dataclasses.replace(TEN_S, measure_from_s=2.1, measure_to_s=3.5)
    row = path_rows(cell, table(*FOUR))[0]
    # Packet 3 alone leaves inside; packets 2 and 3 arrive inside.
    assert row.owd_mean_s == pytest.approx(0.12)
    assert row.data_wire_rate_bps == pytest.approx(1000 * 8 / 1.4)
    assert (row.goodput_bytes, row.total_bytes) == (2 * 960, 4 * 960)
    assert row.connect_to_data_s == pytest.approx(1.1)


def test_the_first_byte_counts_from_the_first_packet_of_all() -> None:
    assert path_rows(TEN_S, table(*FOUR))[0].connect_to_data_s == pytest.approx(1.1)
    assert path_rows(TEN_S, table(*FOUR[:2]))[0].connect_to_data_s is None


def test_of_udp_the_first_packet_that_arrives_brings_the_first_data() -> None:
    udp = dataclasses.replace(TEN_S.flows[0], protocol="udp", rate_bps=8000)
    cell = dataclasses.replace(TEN_S, flows=(udp,))
    packets = table(*FOUR).with_columns(seq=pl.lit(None, pl.Int64), protocol=pl.lit("udp"))
    assert path_rows(cell, packets)[0].connect_to_data_s == pytest.approx(1.1)
    assert path_rows(cell, table())[0].connect_to_data_s is None


def test_tcp_accepts_up_to_the_first_hole() -> None:
    packets = table(*FOUR)
    assert accepted(packets, TCP, None) == 4 * 960
    assert accepted(packets, TCP, 3.12) == 2 * 960
    lost = packets.filter(~((pl.col("packet") == 2) & (pl.col("point") == "delivered")))
    assert accepted(lost, TCP, None) == 960
    assert accepted(lost.clear(), TCP, None) == 0


def accepted(packets: pl.DataFrame, flow: Flow, until_s: float | None) -> int | None:
    return accepted_bytes(flow_packets(packets).get(flow.id, FlowPackets()), flow, until_s)


def chunk(number: int, tsn: int, stream: int, *, delivered: bool, flags: int = 3) -> list[Any]:
    content = [{"tsn": tsn, "stream": stream, "ssn": 0, "flags": flags, "payload_bytes": 100}]
    rows = sent_and_delivered(
        number, number, 0.1, tsn=tsn, payload_bytes=100, data_chunks=content, flow="S"
    )
    return rows if delivered else rows[:1]


def test_sctp_accepts_each_stream_up_to_its_own_hole() -> None:
    packets = table(
        *chunk(0, 0, 0, delivered=True),
        *chunk(1, 1, 1, delivered=False),
        *chunk(2, 2, 0, delivered=True),
        *chunk(3, 3, 1, delivered=True),
        *chunk(4, 2, 0, delivered=True),  # again: counts once
    )
    assert accepted(packets, SCTP, None) == 200
    unordered = dataclasses.replace(SCTP, ordered=False)
    assert accepted(packets, unordered, None) == 300
    assert accepted(packets, SCTP, 1.0) == 100


def test_a_message_of_several_chunks_is_accepted_whole() -> None:
    parts = [
        *chunk(0, 0, 0, delivered=True, flags=2),
        *chunk(1, 1, 0, delivered=True, flags=0),
        *chunk(2, 2, 0, delivered=True, flags=1),
        *chunk(3, 3, 0, delivered=True, flags=2),  # its end is never sent
    ]
    for ordered in (True, False):
        flow = dataclasses.replace(SCTP, ordered=ordered)
        assert accepted(table(*parts), flow, None) == 300
        assert accepted(table(*parts), flow, 2.0) == 0


def test_of_udp_nobody_can_say_what_is_new() -> None:
    udp = dataclasses.replace(TCP, protocol="udp")
    assert accepted(table(*FOUR), udp, None) is None


def test_without_packets_nothing_is_known() -> None:
    row, other = path_rows(TEN_S, table())
    assert (row.flow, row.ack_pkts, row.data_wire_rate_bps) == ("T", 0, 0.0)
    assert row.owd_mean_s is row.jitter_rfc3550_s is row.connect_to_data_s is None
    assert dataclasses.replace(other, flow="T") == row


def test_the_recorded_cell() -> None:
    packets = packet_evidence.packets(DATA / "lab-cell-7.3", CELL)
    assert packets is not None
    tcp, sctp = path_rows(CELL, packets)
    # As tests/data/lab-cell-7.3/raw/flows say: window_goodput_bytes and goodput_bytes.
    assert (tcp.goodput_bytes, tcp.total_bytes) == (5792, 34_752)
    assert (sctp.goodput_bytes, sctp.total_bytes) == (0, 5792)
    # 2 + 250 + 2 ms of delay; 1488 bytes take 1.1904 ms twice and 3.968 ms.
    assert tcp.owd_min_s == pytest.approx(0.254 + 2 * 0.0011904 + 0.003968, abs=1e-6)
    assert tcp.connect_to_data_s == pytest.approx(0.768793, abs=1e-6)
    # Until 2.2 s: two acknowledgements, and two with a SACK block besides.
    assert (tcp.ack_pkts, tcp.ack_ip_bytes) == (4, 2 * 40 + 2 * 52)
    assert tcp.queue_max_s == pytest.approx(0.01444, abs=1e-5)


def test_one_way_delays_are_missing_where_clocks_do_not_tell_them() -> None:
    rows = [*FOUR]
    (known, *_), (refused, *_) = (
        path_rows(TEN_S, table(*rows), one_way_delays=known) for known in (True, False)
    )
    assert known.owd_mean_s is not None
    assert refused.owd_mean_s is refused.owd_max_s is refused.ack_owd_mean_s is None
    nothing: dict[str, Any] = dict.fromkeys(path.ONE_WAY)
    assert refused == dataclasses.replace(known, **nothing)


@pytest.mark.parametrize(("told", "known"), [(True, True), (False, False), (None, True)])
def test_clocks_say_whether_delays_are_known(
    tmp_path: Path, told: bool | None, known: bool
) -> None:
    if told is not None:
        (tmp_path / "raw").mkdir()
        (tmp_path / "raw" / "clocks.json").write_text(json.dumps({"one_way_delays": told}))
    assert packet_evidence.one_way_delays(tmp_path) is known


def buffered(number: int, came_s: float, left_s: float) -> list[Any]:
    row = {"flow": "T", "direction": "data", "packet": number, "ip_bytes": 1500}
    places = (("sent", came_s), ("queue_offered", came_s), ("loss_offered", left_s))
    return [{**row, "point": point, "t_s": t_s} for point, t_s in places]


def test_time_in_a_managed_queue_has_sending_in_it_as_that_in_a_drop_tail_buffer_has() -> None:
    rows = [row for n in range(21) for row in buffered(n, n, n + 0.001 * n)]
    plain = path_rows(TEN_S, table(*rows))[0]
    # Ten packets came within the window, and stayed 0 to 9 ms.
    assert plain.queue_mean_s == pytest.approx(0.0045)
    assert plain.queue_p95_s == pytest.approx(0.00855)
    assert plain.queue_p99_s == pytest.approx(0.00891)
    codel = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1)
    managed = with_bottleneck(TEN_S, rate_bps=3_000_000, discipline=codel)
    found = path_rows(managed, table(*rows))[0]
    assert found.queue_mean_s == pytest.approx(0.0045 + 0.004)  # 1500 bytes at 3 Mbit/s
    assert found.queue_p95_s == pytest.approx(0.00855 + 0.004)
