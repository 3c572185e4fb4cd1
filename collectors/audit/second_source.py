"""Each flow's goodput and retransmissions by somebody who counted them apart. Pure.

Captures or not, a number of a table is said by one program's one counter; here the other end's
program, the kernel of either end and the network's filters are asked for the same. Comparisons are
exact. Where a second source says something else than the first (messages that share a packet, a
connection that was not closed in order) nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from collectors.audit.packet_balance import Evidence, compare
from collectors.raw.flows import Received
from model.cell import Cell, Flow
from model.check import Check

Totals = Mapping[tuple[str, str], Mapping[str, Any]]  # by flow and side; empty: not known
#: A data chunk's message of more fills its packet: no other chunk fits in, and no more are needed.
ALONE_BYTES, CHUNK_MAX_BYTES = 1400, 1452
#: The end of a connection counts as a byte received, as its beginning and end do as acknowledged.
FIN_BYTES, SYN_FIN_BYTES = 1, 2
#: Before this no SYN is sent again (TCP_TIMEOUT_INIT); one that is counts among the segments.
SYN_TIMEOUT_S = 1.0
BYTES, CHUNKS, PACKETS = "bytes", "chunks", "packets"


def checks(
    cell: Cell, evidence: Evidence, totals: Totals, received: Mapping[str, Received]
) -> list[Check]:
    """Return all comparisons of flows over the project's own probes."""
    found: list[Check] = []
    for flow in cell.flows:
        if flow.generator != "probe":
            continue
        sender, receiver = totals[flow.id, "sender"], totals[flow.id, "receiver"]
        found += _intervals(flow, cell, received[flow.id])
        if flow.protocol == "udp":
            found += _udp(flow, evidence, sender, received[flow.id])
        else:
            found += _stream(flow, sender, receiver, received[flow.id])
    return found


def _intervals(flow: Flow, cell: Cell, received: Received) -> Iterator[Check]:
    """A receiver's intervals add up to its totals, inside the measuring window and in all."""
    inside = [
        row.goodput_bytes
        for row in received.intervals
        if row.start_s >= cell.measure_from_s and row.end_s <= cell.measure_to_s
    ]
    where = f"flow {flow.id}, receiver"
    yield compare("goodput of intervals", where, received.window_bytes, sum(inside), BYTES)
    everything = sum(row.goodput_bytes for row in received.intervals)
    yield compare("received in intervals", where, received.total_bytes, everything, BYTES)


def _count(totals: Mapping[str, Any], *names: str) -> int | None:
    """Return the sum of counters; None if one of them is not known."""
    values = [totals.get(name) for name in names]
    counts = [value for value in values if type(value) is int]
    return sum(counts) if len(counts) == len(values) else None


def _times(count: int | None, factor: int) -> int | None:
    return None if count is None else count * factor


def _less(count: int | None, other: int | None) -> int | None:
    return None if count is None or other is None else count - other


def _stream(
    flow: Flow, sender: Mapping[str, Any], receiver: Mapping[str, Any], received: Received
) -> Iterator[Check]:
    """What the sender wrote was read, and both kernels counted as much."""
    where = f"flow {flow.id}, receiver"
    closed = receiver.get("end") in ("eof", "shutdown")
    total = received.total_bytes if closed else None
    yield compare("written and read", where, _count(sender, "sent_bytes"), total, BYTES)
    if flow.protocol == "tcp":
        got = _less(_count(receiver, "bytes_received"), FIN_BYTES)
        yield compare("received by the kernel", where, got, total, BYTES)
        yield from _tcp_sender(flow, sender)
    else:
        got = _count(receiver, "ordered_chunks_in", "unordered_chunks_in")
        whole = flow.message_bytes <= CHUNK_MAX_BYTES
        message_bytes = flow.message_bytes if whole else 0
        by_kernel = _times(got, message_bytes) if whole else None
        yield compare("received by the kernel", where, by_kernel, total, BYTES)
        yield from _sctp_sender(flow, sender)


def _tcp_sender(flow: Flow, sender: Mapping[str, Any]) -> Iterator[Check]:
    """Segments that repeat are those sent beyond what is new; bytes likewise."""
    where = f"flow {flow.id}, sender"
    new_bytes = _less(_count(sender, "bytes_sent"), _count(sender, "bytes_retrans"))
    yield compare("sent for the first time", where, _count(sender, "sent_bytes"), new_bytes, BYTES)
    acked = _less(_count(sender, "bytes_acked"), SYN_FIN_BYTES)
    yield compare("acknowledged", where, _count(sender, "sent_bytes"), acked, BYTES)
    sent = _times(_count(sender, "data_segs_out"), flow.message_bytes)
    full = sent is not None and sent == sender.get("bytes_sent")  # each segment was one message
    connect_s = sender.get("connect_s")
    once = isinstance(connect_s, int | float) and connect_s < SYN_TIMEOUT_S
    repeated = _times(_count(sender, "retransmitted_segments"), flow.message_bytes)
    again = _count(sender, "bytes_retrans") if full and once else None
    yield compare("retransmitted, by bytes", where, repeated, again, BYTES)


def _sctp_sender(flow: Flow, sender: Mapping[str, Any]) -> Iterator[Check]:
    """Where each chunk fills its packet, packets are new chunks, repeated ones and control."""
    alone = ALONE_BYTES <= flow.message_bytes <= CHUNK_MAX_BYTES
    others = _count(sender, "ordered_chunks_out", "unordered_chunks_out", "control_chunks_out")
    repeated = _less(_count(sender, "packets_out"), others) if alone else None
    yield compare(
        "retransmitted, by packets", f"flow {flow.id}, sender",
        _count(sender, "retransmitted_chunks"), repeated, CHUNKS,
    )  # fmt: skip


def _udp(
    flow: Flow, evidence: Evidence, sender: Mapping[str, Any], received: Received
) -> Iterator[Check]:
    """All was offered, and what passed the loss model received if nothing is lost behind it."""
    errors = _count(sender, "send_errors")
    yield compare("not taken by the kernel", f"flow {flow.id}, sender", 0, errors, PACKETS)
    behind = [s for s in evidence.stretches
              if s.direction == "data" and s.name == "destination access"]  # fmt: skip
    safe = behind and all(evidence.through(stretch).dropped_pkts == 0 for stretch in behind)
    passed = evidence.counters.get(flow.id, {}).get("loss_passed") if safe else None
    wanted = _times(passed, flow.message_bytes)
    where = f"flow {flow.id}, receiver"
    yield compare("passed the network", where, wanted, received.total_bytes, BYTES)
