"""Why the sender retransmitted, and which acknowledgements told it to. Pure.

In the lab computing takes no virtual time: what a sender sends within :data:`AT_ONCE_S` of the
arrival of a packet, it sent because of it; anything else was sent by a timer. Of any packet: what
SCTP has marked to be repeated leaves when a heartbeat comes in, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from collectors.episodes.sent_data import Bools, Captured, Data
from collectors.packets.seen import Floats

#: A clock read takes 256 ns of virtual time; the next timer may be a tick away.
AT_ONCE_S = 3e-6
#: RFC 6675's DupThresh and RFC 9260's missing reports (section 7.2.4).
THRESHOLD = 3
#: Linux's least retransmission timeout is a round trip and this (TCP_RTO_MIN).
RTO_MIN_S = 0.2
#: Times and kinds of TCP's retransmissions from the kernel's events, in order of time.
Kinds = tuple[Floats, list[str]]
#: What a retransmission answers.
ARRIVAL, TIMEOUT, PROBE, REORDERING = "arrival", "timeout", "probe", "reordering"
#: Of SCTP: marked by a timeout before, and sent when there was room or something new to send.
MARKED = "marked"


@dataclass(frozen=True, kw_only=True)
class Duplicates:
    """Acknowledgements that reported the data from some number on missing.

    They came at ``t_s``; beyond it ``reported`` bytes or TSNs were there.
    """

    t_s: tuple[float, ...]
    reported: int

    @property
    def count(self) -> int:
        """How many came."""
        return len(self.t_s)


def at_once(captured: Captured) -> Bools:
    """Return which packets of data the arrival of a packet triggered."""
    arrived_s, sent_s = captured.arrived_s, captured.data.t_s
    if not len(arrived_s):
        return np.zeros(len(sent_s), bool)
    last = np.searchsorted(arrived_s, sent_s, side="right") - 1
    return (last >= 0) & (sent_s - arrived_s[np.maximum(last, 0)] <= AT_ONCE_S)


def reasons(captured: Captured, kinds: Kinds | None, protocol: str) -> list[str]:
    """Return for every retransmission, in order, what it answers.

    ``kinds``: times and kinds of TCP's retransmissions from the kernel's events, where known.
    Without them a timer's retransmission is told by what it repeats and when: a probe repeats
    what is not first in line, and the reordering timer of RACK never waits as long as a timeout.
    SCTP has one timer for each path: when it ends, all that had gone by that path is to be
    repeated, one packet at once, the rest as soon as it may.
    """
    data = captured.data
    again = np.flatnonzero(data.again)
    triggered = at_once(captured)[again]
    told = _told(data.t_s[again], kinds)
    rtt_s = least_rtt_s(captured)
    found: list[str] = []
    ended_s: dict[int, float] = {}
    for index, by_arrival, kind in zip(again, triggered, told, strict=True):
        if by_arrival:
            found.append(ARRIVAL)
        elif protocol == "sctp":
            found.append(_t3(data, int(index), ended_s))
        elif kind is not None:
            found.append({"fast": REORDERING, "probe": PROBE}.get(kind, TIMEOUT))
        else:
            found.append(_timer(captured, int(index), rtt_s))
    return found


def _told(sent_s: Floats, kinds: Kinds | None) -> list[str | None]:
    """Return the kernel's kind of each retransmission; None where it has no event."""
    if kinds is None or not len(kinds[0]):
        return [None] * len(sent_s)
    rows = np.searchsorted(kinds[0], sent_s + AT_ONCE_S, side="right") - 1
    return [
        kinds[1][i] if i >= 0 and abs(kinds[0][i] - t) <= AT_ONCE_S else None
        for i, t in zip(rows, sent_s, strict=True)
    ]


def _t3(data: Data, index: int, ended_s: dict[int, float]) -> str:
    """Return whether a path's timer ended when a packet left, or had when its data was marked.

    ``ended_s`` is when the timer of each path ended last, and is kept up to date.
    """
    start, t_s = data.start[index], float(data.t_s[index])
    copies = np.flatnonzero((data.start[:index] <= start) & (data.end[:index] > start))
    path, sent_s = (
        (int(data.path[copies[-1]]), float(data.t_s[copies[-1]]))
        if len(copies)
        else (int(data.path[index]), t_s)
    )
    if sent_s < ended_s.get(path, -np.inf):
        return MARKED
    ended_s[path] = t_s
    return TIMEOUT


def _timer(captured: Captured, index: int, rtt_s: float) -> str:
    """Return which of TCP's timers repeated a packet, by what it is and how long that waited."""
    data, acks = captured.data, captured.acks
    t_s, start = data.t_s[index], data.start[index]
    seen = int(acks.t_s.searchsorted(t_s, side="right"))
    if not seen:
        return TIMEOUT
    reached = acks.reached[seen - 1]
    if start > reached:
        return PROBE
    before = np.flatnonzero(data.start[:index] == start)
    progress_s = acks.t_s[np.searchsorted(acks.reached, reached)]
    since_s = max(float(data.t_s[before[-1]]), progress_s) if len(before) else progress_s
    return REORDERING if acks.listed[seen - 1] and t_s - since_s < rtt_s + RTO_MIN_S else TIMEOUT


def least_rtt_s(captured: Captured) -> float:
    """Return the least time from a packet's first sending to its acknowledgement; 0: unknown."""
    data, acks = captured.data, captured.acks
    # Karn's algorithm: what was repeated does not tell which copy is acknowledged.
    once = ~np.isin(data.start, data.start[data.again])
    ends, sent_s = data.end[once], data.t_s[once]
    moved = np.flatnonzero(np.diff(acks.reached, prepend=data.start[0]) > 0)
    if not len(ends) or not len(moved):
        return 0.0
    rows = np.minimum(np.searchsorted(ends, acks.reached[moved]), len(ends) - 1)
    times = (acks.t_s[moved] - sent_s[rows])[ends[rows] == acks.reached[moved]]
    return float(times.min()) if len(times) else 0.0


def duplicates(captured: Captured, hole: int, since_s: float, until_s: float) -> Duplicates:
    """Return what reported the data from ``hole`` on missing, after ``since_s``, to ``until_s``.

    With SACK as RFC 6675, section 2, counts duplicates: an acknowledgement that reports data
    beyond the hole for the first time, whatever else it does; and as RFC 9260, section 7.2.4,
    counts missing reports: a SACK whose highest newly acknowledged TSN is beyond it. Nothing beyond
    the hole may have been reported before ``since_s``. Without SACK as RFC 5681, section 2.
    """
    acks = captured.acks
    first, end = map(int, acks.t_s.searchsorted([since_s, until_s], side="right"))
    end = min(end, int(acks.reached.searchsorted(hole, side="right")))
    listed = acks.listed[first:end]
    reported: list[tuple[int, int]] = []
    telling = []
    for index, blocks in enumerate(listed, start=first):
        before = reported
        reported = joined(before, ranges(blocks, hole, captured.unit_bytes))
        if reported != before:
            telling.append(index)
    if not any(listed):
        counts = acks.dupack_count[first:end].fill_null(0).to_list()
        telling = [index for index, count in enumerate(counts, start=first) if count]
    return Duplicates(
        t_s=tuple(acks.t_s[telling].tolist()) if telling else (),
        reported=sum(end - start for start, end in reported),
    )


def ranges(blocks: Iterable[tuple[int, int]], hole: int, unit_bytes: int) -> list[tuple[int, int]]:
    """Return what blocks report beyond the hole, each up to what follows its last.

    SCTP's include their last TSN, TCP's end after it.
    """
    last = 1 if unit_bytes == 1 else 0
    return [(start, end + last) for start, end in blocks if start > hole]


def joined(some: list[tuple[int, int]], more: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of two lists of ranges as ranges in order that do not touch."""
    found: list[tuple[int, int]] = []
    for start, end in sorted([*some, *more]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
