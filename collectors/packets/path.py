"""What the path did to each flow's packets, from captures with one clock. Pure.

Invariants: one row for each flow, in the study's order; what no capture shows is null. Delays are
differences of times at two capture points of the same packet, so no clocks are compared.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl

from collectors.packets.seen import Bools, Chunks, Floats, FlowPackets, Ints, Seen, flow_packets
from model.cell import Cell, Flow
from model.run_files.traffic_tables import PathRow

#: RFC 3550, section 6.4.1: the weight of a new difference in the smoothed jitter.
JITTER_GAIN = 1 / 16
#: Flags of a DATA chunk: last and first of its message (RFC 9260, section 3.3.1).
ENDS, BEGINS = 1, 2


#: What is known only where both ends of the path have one clock.
ONE_WAY = (
    "owd_mean_s", "owd_min_s", "owd_p50_s", "owd_p95_s", "owd_p99_s", "owd_max_s", "ack_owd_mean_s",
)  # fmt: skip


def path_rows(cell: Cell, packets: pl.DataFrame, *, one_way_delays: bool = True) -> list[PathRow]:
    """Return every flow's row; without one-way delays where the clocks do not tell them.

    What changes from one delay to the next needs no common clock.
    """
    seen = flow_packets(packets)
    rows = [_path_row(flow, cell, seen.get(flow.id, FlowPackets())) for flow in cell.flows]
    if one_way_delays:
        return rows
    unknown: dict[str, Any] = dict.fromkeys(ONE_WAY)
    return [dataclasses.replace(row, **unknown) for row in rows]


def _path_row(flow: Flow, cell: Cell, seen: FlowPackets) -> PathRow:
    """Return one flow's row from its packets at all points."""
    measured_s = cell.measured_s()
    sent, acks_sent = (_inside(seen.packets_at(way, "sent"), cell) for way in ("data", "ack"))
    answers = acks_sent.only(acks_sent.acknowledges)
    passed = _inside(seen.packets_at("data", "loss_offered"), cell)
    data_bytes, ack_bytes, passed_bytes = (_bytes(part) for part in (sent, answers, passed))
    # Delays are those of packets that left their sender inside the window.
    delivered = seen.packets_at("data", "delivered")
    carrying = delivered.only(delivered.payload_bytes > 0)
    owd_s = _delays_s(sent.only(sent.payload_bytes > 0), carrying)
    offered, left = (
        _of(seen.packets_at("data", point), sent) for point in ("queue_offered", "loss_offered")
    )
    queue_s = _delays_s(offered, _sent_by(left, cell))
    ack_owd_s = _delays_s(acks_sent, seen.packets_at("ack", "delivered"))
    steps_s = np.abs(np.diff(owd_s))
    return PathRow(
        flow=flow.id,
        goodput_bytes=window_bytes(seen, flow, cell.measure_from_s, cell.measure_to_s),
        total_bytes=accepted_bytes(seen, flow, None),
        connect_to_data_s=_connect_to_data_s(seen, flow),
        data_wire_rate_bps=data_bytes * 8 / measured_s,
        bottleneck_wire_rate_bps=passed_bytes * 8 / measured_s,
        ack_pkts=len(answers.t_s),
        ack_ip_bytes=ack_bytes,
        ack_wire_rate_bps=ack_bytes * 8 / measured_s,
        owd_mean_s=_mean(owd_s),
        owd_min_s=_quantile(owd_s, 0),
        owd_p50_s=_quantile(owd_s, 0.5),
        owd_p95_s=_quantile(owd_s, 0.95),
        owd_p99_s=_quantile(owd_s, 0.99),
        owd_max_s=_quantile(owd_s, 1),
        jitter_mean_s=_mean(steps_s),
        jitter_min_s=_quantile(steps_s, 0),
        jitter_p50_s=_quantile(steps_s, 0.5),
        jitter_max_s=_quantile(steps_s, 1),
        jitter_rfc3550_s=_smoothed(steps_s),
        queue_mean_s=_mean(queue_s),
        queue_max_s=_quantile(queue_s, 1),
        ack_owd_mean_s=_mean(ack_owd_s),
        queue_p95_s=_quantile(queue_s, 0.95),
        queue_p99_s=_quantile(queue_s, 0.99),
    )


def _inside(seen: Seen, cell: Cell) -> Seen:
    """Return the packets seen inside the measuring window."""
    return seen.only((seen.t_s >= cell.measure_from_s) & (seen.t_s < cell.measure_to_s))


def _of(seen: Seen, others: Seen) -> Seen:
    """Return the packets that others are too."""
    return seen.only(np.isin(seen.packet, others.packet))


def _bytes(seen: Seen) -> int:
    return int(seen.ip_bytes[seen.ip_bytes >= 0].sum())


def _delays_s(start: Seen, end: Seen) -> Floats:
    """Return the time from one point to another of all packets seen at both, as they arrived."""
    count = int(max(start.packet.max(initial=-1), end.packet.max(initial=-1))) + 1
    left_s, arrived_s = (_times_s(seen, count) for seen in (start, end))
    order = np.argsort(arrived_s, kind="stable")
    delays_s = (arrived_s - left_s)[order]
    both: Floats = delays_s[~np.isnan(delays_s)]
    return both


def _sent_by(left: Seen, cell: Cell) -> Seen:
    """Return packets that left the bottleneck's buffer, with the times at which they were sent.

    A managed queue lets them go as sending begins, a drop-tail buffer when it has ended. Several
    paths' bottlenecks that send at different rates are told by the first one's.
    """
    way = cell.wired.bottleneck.forward
    if not way.discipline.is_active:
        return left
    return dataclasses.replace(left, t_s=left.t_s + left.ip_bytes * 8 / way.rate_bps)


def _times_s(seen: Seen, count: int) -> Floats:
    """Return when each packet, by its number below ``count``, was there; NaN: it was not."""
    found = np.full(count, np.nan)
    numbered = seen.packet >= 0
    found[seen.packet[numbered]] = seen.t_s[numbered]
    return found


def window_bytes(seen: FlowPackets, flow: Flow, from_s: float, to_s: float) -> int | None:
    """Return the bytes the receiver could hand over between two times; null for UDP."""
    until = accepted_bytes(seen, flow, to_s)
    if until is None or from_s <= 0:
        return until
    before = accepted_bytes(seen, flow, from_s)
    return None if before is None else until - before


def _connect_to_data_s(seen: FlowPackets, flow: Flow) -> float | None:
    """Return the time from a flow's first packet until its first byte reached the receiver.

    UDP's bytes have no order: the first to arrive is the first.
    """
    began, arrived = seen.packets_at("data", "sent"), seen.packets_at("data", "delivered")
    first = (arrived.seq == 1) | (arrived.tsn == 0) | (flow.protocol == "udp")
    first_s = arrived.t_s[first & (arrived.payload_bytes > 0)]
    if not len(began.t_s) or not len(first_s):
        return None
    return float(first_s.min() - began.t_s.min())


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _quantile(values: Floats, fraction: float) -> float | None:
    return float(np.quantile(values, fraction)) if len(values) else None


def _smoothed(steps_s: Floats) -> float | None:
    """Return RFC 3550's interarrival jitter after the last packet."""
    if not len(steps_s):
        return None
    series = pl.Series([0.0, *steps_s])
    return float(series.ewm_mean(alpha=JITTER_GAIN, adjust=False)[-1])


def accepted_bytes(seen: FlowPackets, flow: Flow, until_s: float | None) -> int | None:
    """Return the bytes the receiver could hand to the application by a time.

    New data in order: for TCP up to the first hole; for SCTP whole messages, in each stream up to
    the first missing one, or, unordered, all. Null for UDP, where nothing says what is new.
    """
    by_s = np.inf if until_s is None else until_s
    if flow.protocol == "tcp":
        arrived = seen.packets_at("data", "delivered")
        return _tcp_prefix_bytes(arrived.only((arrived.payload_bytes > 0) & (arrived.t_s < by_s)))
    if flow.protocol == "sctp":
        arrived_chunks = seen.chunks_at("delivered")
        got = arrived_chunks.tsn[arrived_chunks.t_s < by_s]
        return _sctp_accepted_bytes(seen.chunks_at("sent"), got, ordered=flow.ordered)
    return None


def _tcp_prefix_bytes(arrived: Seen) -> int:
    order = np.argsort(arrived.seq, kind="stable")
    starts, ends = arrived.seq[order], (arrived.seq + arrived.payload_bytes)[order]
    # The first byte has number 1; the SYN took 0.
    reached = np.maximum.accumulate(np.concatenate([[1], ends]))
    holes = np.flatnonzero(starts > reached[:-1])
    return int(reached[holes[0]] if len(holes) else reached[-1]) - 1


def _sctp_accepted_bytes(sent: Chunks, got: Ints, *, ordered: bool) -> int:
    """Return the bytes of whole messages; ordered: of those before which none is missing."""
    tsn, first = np.unique(sent.tsn, return_index=True)
    if not len(tsn):
        return 0
    flags, stream = sent.flags[first], sent.stream[first]
    # A message has consecutive TSNs, the first of which is marked.
    marked = (flags & BEGINS) > 0
    marked[0] = True
    begins = np.flatnonzero(marked)
    ends = np.append(begins[1:], len(tsn)) - 1
    whole = np.logical_and.reduceat(np.isin(tsn, got), begins) & (flags[ends] & ENDS > 0)
    if ordered:
        whole = _before_the_first_missing(whole, stream[begins])
    return int(np.add.reduceat(sent.payload_bytes[first], begins)[whole].sum())


def _before_the_first_missing(whole: Bools, stream: Ints) -> Bools:
    """Return which messages are whole and so are all before them in their stream."""
    order = np.argsort(stream, kind="stable")
    missing = np.cumsum(~whole[order])
    news = np.flatnonzero(np.diff(stream[order], prepend=stream[order][0] - 1))
    before = np.concatenate([[0], missing])[news]
    found = np.empty(len(whole), np.bool_)
    found[order] = missing == np.repeat(before, np.diff(np.append(news, len(whole))))
    return found
