"""Flows of a capture, packet by packet: what arrived of each connection, new and in order. Pure.

A connection is known by its ends, and by where it begins: with TCP's SYN (RFC 9293) or SCTP's INIT
(RFC 9260). One of these after data is another connection between the same ends: on a path that
keeps packets in order none that is repeated comes so late. Invariant: what lies beyond holes is
bounded for all flows together.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from simulators.results.in_order import MOST_HELD_IN_ALL, InOrder, TooManyHolesError

MOST_FLOWS, MOST_HELD = 100_000, MOST_HELD_IN_ALL
PROTOCOLS = {6: "tcp", 17: "udp", 132: "sctp"}
#: The least that a header of each has.
LEAST_BYTES = {6: 20, 17: 8, 132: 12}
_SYN = 0x02
_INIT, _FORWARD = frozenset({1, 2}), frozenset({192, 194})
#: What a chunk of data has before its user data: DATA, and I-DATA (RFC 8260).
_DATA_HEAD_BYTES = {0: 16, 64: 20}
Key = tuple[int, bytes, bytes, int, int]


class CutPacketError(Exception):
    """So little of a packet was captured that what it carries cannot be told."""


class TooManyFlowsError(Exception):
    """More flows than are kept apart."""


@dataclass(kw_only=True)
class Flow:
    """One direction of a connection, the so many-th between its ends.

    ``first`` is the number of its first packet, ``sizes`` are of SCTP's chunks beyond the edge.
    ``some`` data was sent; ``counted`` is what of it is in the number of all that is held.
    """

    key: Key
    first: int
    connection: int
    order: InOrder | None = None
    sizes: dict[int, int] = field(default_factory=dict)
    counted: int = 0
    new_bytes: int = 0
    some: bool = False
    from_start: bool = False

    @property
    def held(self) -> int:
        """How much is held beyond holes."""
        return len(self.sizes) + (len(self.order.starts) if self.order else 0)


class Flows:
    """All flows so far, in order of appearance."""

    def __init__(self) -> None:
        self.all: list[Flow] = []
        self._current: dict[Key, Flow] = {}
        self._held = 0

    def take(self, number: int, packet: bytes, at: int, end: int) -> tuple[Flow, int]:
        """Return a packet's flow, and how many bytes of user data it makes ready.

        Args:
            number: the packet's.
            packet: from IP's header on, as far as captured, with the least of what follows.
            at: where the header after IP's begins.
            end: where the packet ended on the wire.

        Raises:
            CutPacketError: it may carry user data that cannot be seen.
            TooManyFlowsError, TooManyHolesError: more than is kept.
        """
        protocol = packet[9]
        ports = struct.unpack_from(">HH", packet, at)
        flow = self._of((protocol, packet[12:16], packet[16:20], *ports), number)
        if protocol == 17:
            flow.from_start = True
            return flow, max(0, min(end - at, _number(packet, at + 4, 2)) - 8)
        take = self._tcp if protocol == 6 else self._sctp
        flow, ready = take(flow, number, packet, at, end)
        self._held += flow.held - flow.counted
        flow.counted = flow.held
        if self._held > MOST_HELD:
            raise TooManyHolesError
        return flow, ready

    def _of(self, key: Key, number: int) -> Flow:
        flow = self._current.get(key)
        return flow or self._made(key, number, 1)

    def _made(self, key: Key, number: int, connection: int) -> Flow:
        if len(self.all) >= MOST_FLOWS:
            raise TooManyFlowsError
        flow = self._current[key] = Flow(key=key, first=number, connection=connection)
        self.all.append(flow)
        return flow

    def _begun(self, flow: Flow, edge: int, number: int) -> Flow:
        """Return the flow of a connection that begins; it is another one if there was data."""
        if flow.some:
            self._held -= flow.counted
            flow.order, flow.sizes = None, {}
            flow = self._made(flow.key, number, flow.connection + 1)
        flow.order, flow.from_start = InOrder(edge=edge), True
        return flow

    def _tcp(self, flow: Flow, number: int, packet: bytes, at: int, end: int) -> tuple[Flow, int]:
        header = (packet[at + 12] >> 4) * 4
        if header < 20 or at + header > end:
            return flow, 0
        raw, size = _number(packet, at + 4, 4), end - at - header
        if packet[at + 13] & _SYN:
            raw += 1
            flow = self._begun(flow, raw, number)
        if size == 0:
            return flow, 0
        flow.order, flow.some = flow.order or InOrder(edge=raw), True
        start = _unwrapped(raw, flow.order.edge)
        return flow, flow.order.arrived(start, start + size)

    def _sctp(self, flow: Flow, number: int, packet: bytes, at: int, end: int) -> tuple[Flow, int]:
        """Take chunk by chunk: whole TSNs, whatever their stream."""
        ready, at = 0, at + 12
        while at + 4 <= end:
            if at + 4 > len(packet):
                if end - at <= min(_DATA_HEAD_BYTES.values()):
                    break
                raise CutPacketError
            kind, size = packet[at], _number(packet, at + 2, 2)
            if size < 4 or at + size > end:
                break
            head = _DATA_HEAD_BYTES.get(kind, size)
            if size > head:
                ready += _chunk(flow, _seen(packet, at + 4), size - head)
            elif kind in _INIT and size >= 20:
                flow = self._begun(flow, _seen(packet, at + 16), number)
            elif kind in _FORWARD and size >= 8:
                ready += _given_up(flow, _seen(packet, at + 4))
            at += (size + 3) & ~3
        return flow, ready


def _number(packet: bytes, at: int, size: int) -> int:
    return int.from_bytes(packet[at : at + size], "big")


def _seen(packet: bytes, at: int) -> int:
    """Return a number of 32 bits that must have been captured."""
    if at + 4 > len(packet):
        raise CutPacketError
    return _number(packet, at, 4)


def _chunk(flow: Flow, raw: int, size: int) -> int:
    """Return how many bytes a chunk of user data makes ready, its own among them."""
    flow.order, flow.some = flow.order or InOrder(edge=raw), True
    tsn, before = _unwrapped(raw, flow.order.edge), flow.order.edge
    if tsn < before:
        return 0
    flow.sizes[tsn] = size
    moved = flow.order.arrived(tsn, tsn + 1)
    return sum(flow.sizes.pop(one) for one in range(before, before + moved))


def _given_up(flow: Flow, raw: int) -> int:
    """Return how many bytes become ready as a sender gives up all to a TSN (RFC 3758)."""
    if flow.order is None:
        return 0
    before = flow.order.edge
    tsn = _unwrapped(raw, before)
    if not before <= tsn < before + MOST_HELD:
        return 0
    moved = flow.order.arrived(before, tsn + 1)
    return sum(flow.sizes.pop(one, 0) for one in range(before, before + moved))


def _unwrapped(raw: int, near: int) -> int:
    """Return the number of 32 bits that lies nearest to another, which has more."""
    ahead = (raw - near) & 0xFFFF_FFFF
    return near + (ahead if ahead < 0x8000_0000 else ahead - 0x1_0000_0000)
