"""Where each line of a trace was: points and directions as captures have them, and drops. Pure.

Invariants: items are parallel to the trace's; a packet leaves the bottleneck's buffer when its last
byte has been sent, as everywhere in this project, where ns-2 says when its first one is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.packets.packets import DIRECTIONS, POINTS
from model.cell import Cell
from model.units import bits
from simulators.ns2.packet_lines import ARRIVES, DROPPED, ENTERS, LEAVES, LOST, Ints, Packets
from simulators.ns2.settings import FIRST_SOURCE, R1, R2

Bools = npt.NDArray[np.bool_]
#: A byte each: of a trace there are as many as lines.
Codes = npt.NDArray[np.int8]
UNKNOWN = -1
SENT, QUEUE_OFFERED, LOSS_OFFERED, LOSS_PASSED, DELIVERED = range(len(POINTS))
DATA, ACKS = range(len(DIRECTIONS))
#: The links of a way, in order.
FIRST, BOTTLENECK, LAST = range(3)


@dataclass(frozen=True, kw_only=True)
class Passages:
    """Of each line its link and way, and its point or ``UNKNOWN``; drops have none."""

    link: Codes
    way: Codes
    point: Codes
    dropped: Bools

    def at(self, way: int, point: int) -> Ints:
        """Return the lines at a point."""
        return np.flatnonzero((self.way == way) & (self.point == point))

    def lost(self, way: int, link: int) -> Ints:
        """Return the lines of packets that a link's buffer or loss model dropped."""
        return np.flatnonzero((self.way == way) & (self.link == link) & self.dropped)


def passages(packets: Packets, cell: Cell) -> Passages:
    """Return where each line of a trace was."""
    source, target, what = packets.source, packets.target, packets.what
    from_source = _is_source(source, cell) & (target == R1)
    to_source = (source == R1) & _is_source(target, cell)
    to_destination = (source == R2) & _is_destination(target, cell)
    from_destination = _is_destination(source, cell) & (target == R2)
    there, back = (source == R1) & (target == R2), (source == R2) & (target == R1)
    link = np.full(len(what), UNKNOWN, np.int8)
    link[from_source | from_destination] = FIRST
    link[there | back] = BOTTLENECK
    link[to_destination | to_source] = LAST
    way = np.full(len(what), UNKNOWN, np.int8)
    way[from_source | there | to_destination] = DATA
    way[from_destination | back | to_source] = ACKS
    point = np.full(len(what), UNKNOWN, np.int8)
    point[(link == FIRST) & (what == ENTERS)] = SENT
    point[there & (what == ENTERS)] = QUEUE_OFFERED
    point[there & (what == LEAVES)] = LOSS_OFFERED
    point[(link == LAST) & (what == ARRIVES)] = DELIVERED
    dropped = (what == DROPPED) | (what == LOST)
    return Passages(link=link, way=way, point=point, dropped=dropped)


def times_s(packets: Packets, seen: Passages, cell: Cell) -> npt.NDArray[np.float64]:
    """Return when each line's packet was at its point."""
    leaving = seen.point == LOSS_OFFERED
    sending_s = bits(1) * packets.size_bytes / cell.wired.bottleneck.forward.rate_bps
    found: npt.NDArray[np.float64] = packets.t_s + np.where(leaving, sending_s, 0.0)
    return found


def _is_source(node: Ints, cell: Cell) -> Bools:
    found: Bools = (node >= FIRST_SOURCE) & (node < FIRST_SOURCE + cell.wired.sources)
    return found


def _is_destination(node: Ints, cell: Cell) -> Bools:
    first = FIRST_SOURCE + cell.network.sources
    found: Bools = (node >= first) & (node < first + cell.network.destinations)
    return found
