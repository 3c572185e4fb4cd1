"""Times of messages: what the probes recorded in the lab, and captures worked out by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.audit import message_checks
from collectors.packets import columns
from collectors.packets.messages import message_rows
from collectors.raw.flows import Received
from collectors.raw.messages import DELIVERED, SENT, UNORDERED, Recorded, parse
from model.cell import Cell, Flow, from_dict
from model.errors import ParseError
from model.run_files.tables import schema
from model.run_files.traffic_tables import MessageRow
from tests.support.recorded import DATA, value

MS = 1_000_000
CELL: Cell = from_dict(value("lab-cell-7.3/cell.json"))
TCP, SCTP = (
    dataclasses.replace(flow, message_bytes=1000, streams=1 if flow.protocol == "tcp" else 2)
    for flow in CELL.flows
)
RECORDED = DATA / "messages-7.3"


def cell(*flows: Flow) -> Cell:
    return dataclasses.replace(CELL, flows=flows)


def recorded(
    sent_ms: list[int], delivered: list[tuple[int, int]], *, streams: int = 2, flags: int = 0
) -> Recorded:
    """Return records of messages: when each was ready, and when which number was delivered."""
    sent = [(t * MS, t * MS + 1) for t in sent_ms]
    got = [(t * MS, number, 1000, number % streams, flags) for t, number in delivered]
    return Recorded(np.array(sent, SENT), np.array(got, DELIVERED))


def packets(*rows: dict[str, Any]) -> pl.DataFrame:
    """Return a packets table of these rows; what is not said is null."""
    empty = {**dict.fromkeys(columns.COLUMNS), "direction": "data"}
    return pl.DataFrame([{**empty, **row} for row in rows], schema=columns.COLUMNS)


def segment(point: str, t_s: float, seq: int, size: int) -> dict[str, Any]:
    """Return a packet of the TCP flow with data from byte ``seq`` on; the first is 1."""
    return {"flow": TCP.id, "point": point, "t_s": t_s, "packet": 0, "seq": seq,
            "payload_bytes": size, "tcp_flags": 16, "ack": 1}  # fmt: skip


def chunk(point: str, t_s: float, tsn: int, flags: int = 3) -> dict[str, Any]:
    """Return a packet of the SCTP flow with one chunk; flags: 1 last, 2 first of its message."""
    one = {"tsn": tsn, "stream": 0, "ssn": 0, "flags": flags, "payload_bytes": 1000}
    return {"flow": SCTP.id, "point": point, "t_s": t_s, "packet": 0, "tsn": tsn,
            "payload_bytes": 1000, "data_chunks": [one]}  # fmt: skip


def test_delays_are_from_ready_to_delivered() -> None:
    # Messages 0 to 3; 1 never came; 2 was delivered before 0.
    found = message_rows(
        cell(SCTP),
        {SCTP.id: recorded([100, 120, 140, 160], [(250, 2), (300, 0), (310, 3)])},
        50 * MS,
        None,
    )
    assert found.schema == schema(MessageRow)
    assert found["message"].to_list() == [1, 2, 3, 4]
    assert found["stream"].to_list() == [0, 1, 0, 1]
    assert found["sent_s"].to_list() == pytest.approx([0.05, 0.07, 0.09, 0.11])
    assert found["delay_s"].to_list() == [
        pytest.approx(0.2), None, pytest.approx(0.11), pytest.approx(0.15),
    ]  # fmt: skip
    assert found["arrived_s"].null_count() == found["wait_s"].null_count() == 4


def test_clocks_that_tell_no_one_way_delay_leave_times_and_no_difference() -> None:
    found = message_rows(
        cell(SCTP), {SCTP.id: recorded([0], [(9, 0)])}, 0, None, one_way_delays=False
    )
    assert found["delivered_s"].to_list() == [pytest.approx(0.009)]
    assert found["delay_s"].to_list() == [None]


def test_a_tcp_message_has_arrived_with_the_last_of_its_bytes() -> None:
    # Messages of 1000 bytes in segments of 1500: bytes 1 to 1500, 1501 to 3000, 3001 to 4000. The
    # second is lost and repeated in two parts; the fourth message has no packet.
    table = packets(
        segment("sent", 1.0, 1, 1500),
        segment("delivered", 1.1, 1, 1500),
        segment("sent", 2.0, 1501, 1500),
        segment("sent", 3.0, 3001, 1000),
        segment("delivered", 3.1, 3001, 1000),
        segment("sent", 4.0, 1501, 600),
        segment("delivered", 4.1, 1501, 600),
        segment("sent", 5.0, 2101, 900),
        segment("delivered", 5.1, 2101, 900),
        segment("delivered", 6.0, 1, 1500),
    )
    times = recorded(
        [900, 910, 920, 930, 940], [(1100, 0), (4100, 1), (5100, 2), (5100, 3)], streams=1
    )
    found = message_rows(cell(TCP), {TCP.id: times}, 0, table)
    assert found["left_s"].to_list() == [1.0, 1.0, 2.0, 3.0, None]
    assert found["arrived_s"].to_list() == [1.1, 4.1, 5.1, 3.1, None]
    assert found["wait_s"].to_list()[:3] == pytest.approx([0, 0, 0])
    assert found["wait_s"].to_list()[3] == pytest.approx(2.0)
    assert found["stream"].to_list() == [None] * 5


def test_an_sctp_message_has_arrived_with_the_last_of_its_chunks() -> None:
    # Message 0 is chunks 0 and 1, message 1 chunk 2, message 2 chunk 3. Chunk 1 is lost once.
    table = packets(
        chunk("sent", 1.0, 0, flags=2),
        chunk("sent", 1.1, 1, flags=1),
        chunk("delivered", 1.5, 0, flags=2),
        chunk("sent", 2.0, 2),
        chunk("delivered", 2.5, 2),
        chunk("sent", 3.0, 1, flags=1),
        chunk("delivered", 3.5, 1, flags=1),
        chunk("sent", 3.6, 3),
    )
    found = message_rows(
        cell(SCTP), {SCTP.id: recorded([900, 1900, 3550], [(3500, 0), (3500, 1)])}, 0, table
    )
    assert found["left_s"].to_list() == [1.0, 2.0, 3.6]
    assert found["arrived_s"].to_list() == [3.5, 2.5, None]
    assert found["wait_s"].to_list() == [pytest.approx(0), pytest.approx(1.0), None]


def test_chunks_that_are_not_all_there_tell_nothing() -> None:
    table = packets(chunk("sent", 1.0, 1), chunk("delivered", 1.5, 1))
    found = message_rows(cell(SCTP), {SCTP.id: recorded([900], [(1500, 0)])}, 0, table)
    assert found["arrived_s"].to_list() == [None]


def disagreeing(flow: Flow, times: Recorded, total_bytes: int, handed_over: int) -> set[str]:
    """Return the names of the checks that do not agree."""
    received = Received(
        window_bytes=total_bytes, total_bytes=total_bytes, first_byte_s=None, last_byte_s=None,
        intervals=(),
    )  # fmt: skip
    found = message_checks.checks(
        cell(flow), {flow.id: times}, {flow.id: received}, {flow.id: {"messages": handed_over}}
    )
    assert all(check.agrees is not None for check in found)
    return {check.check for check in found if not check.agrees}


def test_what_both_ends_recorded_is_held_against_what_they_counted() -> None:
    # Streams in turn: 0 and 2 are of one stream, 1 and 3 of the other.
    good = recorded([0, 1, 2, 3], [(5, 1), (6, 0), (7, 2), (8, 3)])
    assert disagreeing(SCTP, good, 4000, 4) == set()
    assert disagreeing(SCTP, good, 5000, 5) == {"messages handed over", "messages delivered"}
    late = recorded([0, 1, 2, 3], [(5, 2), (6, 0), (7, 1), (8, 3)])
    assert disagreeing(SCTP, late, 4000, 4) == {"delivered out of order"}
    unordered = dataclasses.replace(SCTP, ordered=False)
    free = recorded([0, 1, 2, 3], [(5, 2), (6, 0), (7, 1), (8, 3)], flags=UNORDERED)
    assert disagreeing(unordered, free, 4000, 4) == set()
    assert disagreeing(SCTP, free, 4000, 4) == {
        "delivered out of order", "delivered on another stream, or otherwise",
    }  # fmt: skip
    assert "delivered twice" in disagreeing(
        SCTP, recorded([0, 1], [(5, 0), (6, 1), (6, 1)]), 3000, 2
    )
    unknown = recorded([0], [(5, 0), (6, 1)])
    assert disagreeing(SCTP, unknown, 2000, 1) == {"delivered without having been handed over"}


def test_a_part_of_a_message_is_no_message_of_tcp() -> None:
    times = recorded([0, 1], [(5, 0), (6, 1)], streams=1)
    assert disagreeing(TCP, times, 2999, 2) == set()
    assert disagreeing(TCP, times, 3000, 2) == {"messages delivered"}


def test_what_the_probes_recorded_behind_a_lost_packet() -> None:
    flow = dataclasses.replace(SCTP, message_bytes=1448, streams=1)
    found = {}
    for name, ordered in (("S", True), ("U", False)):
        times = Recorded(
            parse((RECORDED / f"{name}.sender.messages").read_bytes(), SENT, name),
            parse((RECORDED / f"{name}.receiver.messages").read_bytes(), DELIVERED, name),
        )
        mine = dataclasses.replace(flow, ordered=ordered)
        total_bytes = 1448 * len(times.sent)
        assert disagreeing(mine, times, total_bytes, len(times.sent)) == set()
        found[name] = message_rows(cell(mine), {mine.id: times}, 0, None)
    # Message 20 is lost, and sent again when the third behind it is reported. Of those that are
    # ordered, the five that come meanwhile are delivered with it, 0.2 s less each.
    behind = found["S"].filter(pl.col("message").is_between(20, 26))["delay_s"].to_list()
    assert behind == pytest.approx(BEHIND_S, abs=5e-4)
    alone = found["U"].filter(pl.col("message").is_between(20, 26))["delay_s"].to_list()
    assert alone == pytest.approx(UNORDERED_S, abs=5e-4)


#: Lost, then sent again 1.115 s later, on the third report: 3 x 0.2 s and a round trip of 0.515 s.
LOST_S, ALONE_S = 1.375, 0.2604
BEHIND_S = [LOST_S, 1.175, 0.975, 0.775, 0.575, 0.375, ALONE_S]
UNORDERED_S = [LOST_S, *[ALONE_S] * 6]


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"\0" * 17, SENT, "multiple of 16 bytes"),
        (b"\0" * 21, DELIVERED, "multiple of 20 bytes"),
        (b"\0" * 23 + b"\x80" + b"\0" * 8, SENT, "record 1"),
    ],
)
def test_what_no_probe_writes_is_refused(content: bytes, kind: np.dtype[Any], said: str) -> None:
    with pytest.raises(ParseError, match=said):
        parse(content, kind, "S.sender.messages")


@given(sent=st.binary(max_size=160), delivered=st.binary(max_size=200))
def test_any_records_give_a_row_each_or_an_error_that_names_the_file(
    sent: bytes, delivered: bytes
) -> None:
    said = ""
    try:
        times = Recorded(parse(sent, SENT, "a file"), parse(delivered, DELIVERED, "a file"))
    except ParseError as error:
        said = str(error)
    if said:
        assert "a file" in said
        return
    table = message_rows(cell(SCTP), {SCTP.id: times}, 0, None)
    assert table.height == len(times.sent)
    assert table.schema == schema(MessageRow)
    received = Received(
        window_bytes=0, total_bytes=0, first_byte_s=None, last_byte_s=None, intervals=()
    )
    made = message_checks.checks(
        cell(SCTP), {SCTP.id: times}, {SCTP.id: received}, {SCTP.id: {"messages": 0}}
    )
    assert all(check.agrees is not None for check in made)
