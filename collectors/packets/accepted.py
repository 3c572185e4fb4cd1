"""How much a receiver could hand to its application, as the packets that reached it say. Pure."""

from __future__ import annotations

import numpy as np

from collectors.packets.seen import Bools, Chunks, FlowPackets, Ints, Seen
from model.cell import Flow

#: Flags of a DATA chunk: last and first of its message (RFC 9260, section 3.3.1).
ENDS, BEGINS = 1, 2


def accepted_bytes(seen: FlowPackets, flow: Flow, until_s: float | None) -> int | None:
    """Return the bytes the receiver could hand to the application by a time.

    New data in order: for TCP up to the first hole; for SCTP whole messages, in each stream up to
    the first missing one, or, unordered, all. Null for UDP, where nothing says what is new.
    """
    by_s = np.inf if until_s is None else until_s
    if flow.protocol == "tcp":
        arrived = seen.at("data", "delivered")
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
