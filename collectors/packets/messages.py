"""When each message was handed over, left, arrived and was delivered: probes and captures. Pure.

Invariants: one row for each message that a sender recorded, in the order in which they were handed
over; messages of one flow leave in that order, because the kernel serves an association's streams
first come, first served. What nobody saw is null.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from collectors.packets.path import BEGINS, ENDS
from collectors.packets.seen import Chunks, Floats, FlowPackets, Ints, Seen, flow_packets
from collectors.raw.messages import Recorded
from model.cell import Cell, Flow
from model.run_files.tables import schema
from model.run_files.traffic_tables import MessageRow
from model.units import NS_PER_S


def message_rows(
    cell: Cell,
    recorded: Mapping[str, Recorded],
    epoch_ns: int,
    packets: pl.DataFrame | None,
    *,
    one_way_delays: bool = True,
) -> pl.DataFrame:
    """Return the messages table of a cell.

    ``recorded`` is by flow, ``packets`` the packets table if the cell was captured. Without
    one-way delays, where the clocks do not tell them, there are no differences of times.
    """
    columns = schema(MessageRow)
    seen = {} if packets is None else flow_packets(packets)
    parts = [
        _flow(flow, recorded[flow.id], epoch_ns, seen.get(flow.id, FlowPackets()))
        for flow in cell.flows
        if flow.id in recorded
    ]
    table = pl.concat([pl.DataFrame(schema=columns), *parts])
    if one_way_delays:
        return table
    unknown = pl.lit(None, pl.Float64)
    return table.with_columns(delay_s=unknown, wait_s=unknown)


def _flow(flow: Flow, recorded: Recorded, epoch_ns: int, seen: FlowPackets) -> pl.DataFrame:
    sent, count = recorded.sent, len(recorded.sent)
    numbers = np.arange(count)
    delivered_s = _first_delivered_s(recorded, epoch_ns)
    sent_s = _since_s(sent["ready_ns"], epoch_ns)
    left_s, arrived_s = _captured(flow, seen, count)
    values = {
        "flow": [flow.id] * count,
        "message": numbers + 1,
        "stream": numbers % flow.streams if flow.protocol == "sctp" else [None] * count,
        "ordered": [flow.ordered] * count,
        "sent_s": sent_s,
        "accepted_s": _since_s(sent["accepted_ns"], epoch_ns),
        "left_s": left_s,
        "arrived_s": arrived_s,
        "delivered_s": delivered_s,
        "delay_s": delivered_s - sent_s,
        "wait_s": delivered_s - arrived_s,
    }
    table = pl.DataFrame(values, schema=schema(MessageRow))
    return table.with_columns(pl.selectors.float().fill_nan(None))


def _since_s(t_ns: Ints, epoch_ns: int) -> Floats:
    """Return times since the start of the run; the difference is taken in whole numbers."""
    found: Floats = (t_ns.astype(np.int64) - epoch_ns) / NS_PER_S
    return found


def _first_delivered_s(recorded: Recorded, epoch_ns: int) -> Floats:
    """Return when each message that was handed over was delivered first; NaN: it was not."""
    found = np.full(len(recorded.sent), np.nan)
    known = recorded.delivered[recorded.delivered["number"] < len(found)]
    number, first = np.unique(known["number"], return_index=True)
    found[number] = _since_s(known["delivered_ns"][first], epoch_ns)
    return found


def _captured(flow: Flow, seen: FlowPackets, count: int) -> tuple[Floats, Floats]:
    """Return when each message's first byte left and when all of it had arrived, by captures."""
    if flow.protocol == "tcp":
        sent, arrived = (seen.packets_at("data", point) for point in ("sent", "delivered"))
        return _tcp(flow, _carrying(sent), _carrying(arrived), count)
    return _sctp(seen.chunks_at("sent"), seen.chunks_at("delivered"), count)


def _carrying(seen: Seen) -> Seen:
    return seen.only((seen.payload_bytes > 0) & (seen.seq > 0))


def _tcp(flow: Flow, sent: Seen, arrived: Seen, count: int) -> tuple[Floats, Floats]:
    """Message i, from 0, is the bytes from 1 + i * size on; the SYN took 0."""
    bounds = 1 + flow.message_bytes * np.arange(count + 1)
    left_s, arrived_s = np.full(count, np.nan), np.full(count, np.nan)
    if not count or not len(sent.t_s):
        return left_s, arrived_s
    # New data leaves in order: the first packet that reaches beyond a byte carries it.
    reached = np.maximum.accumulate(sent.seq + sent.payload_bytes)
    first = np.searchsorted(reached, bounds[:-1], side="right")
    left = first < len(reached)
    left_s[left] = sent.t_s[first[left]]
    # Between two neighbouring points every byte arrived when its neighbour did.
    starts, ends = arrived.seq, arrived.seq + arrived.payload_bytes
    points = np.unique(np.concatenate([bounds, starts, ends]))
    came_s = np.full(len(points), np.inf)
    from_, to = np.searchsorted(points, starts), np.searchsorted(points, ends)
    for t_s, low, high in zip(arrived.t_s[::-1], from_[::-1], to[::-1], strict=True):
        came_s[low:high] = t_s  # the earliest comes last
    whole_s = np.maximum.reduceat(came_s, np.searchsorted(points, bounds))[:-1]
    arrived_s[:] = np.where(np.isinf(whole_s), np.nan, whole_s)
    return left_s, arrived_s


def _sctp(sent: Chunks, arrived: Chunks, count: int) -> tuple[Floats, Floats]:
    """A message is consecutive TSNs, of which the first and the last are marked."""
    left_s, arrived_s = np.full(count, np.nan), np.full(count, np.nan)
    tsn, first = np.unique(sent.tsn, return_index=True)
    if not len(tsn) or not np.array_equal(tsn, np.arange(len(tsn))):
        return left_s, arrived_s
    flags = sent.flags[first]
    begins = np.flatnonzero(flags & BEGINS)
    if not len(begins) or begins[0] or len(begins) > count:
        return left_s, arrived_s
    ends = np.append(begins[1:], len(tsn)) - 1
    came_s = np.full(len(tsn), np.inf)
    known = arrived.tsn < len(tsn)
    number, earliest = np.unique(arrived.tsn[known], return_index=True)
    came_s[number] = arrived.t_s[known][earliest]
    whole_s = np.maximum.reduceat(came_s, begins)
    whole_s[(flags[ends] & ENDS == 0) | np.isinf(whole_s)] = np.nan
    left_s[: len(begins)] = sent.t_s[first[begins]]
    arrived_s[: len(begins)] = whole_s
    return left_s, arrived_s
