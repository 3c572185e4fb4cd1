"""Captures in classic pcap, record by record: what arrived of each flow, new and in order.

Of a capture at the receiver: TCP by its sequence numbers, SCTP by its TSNs, UDP by its datagrams.
ns-3 captures PPP where its links are point-to-point, others Ethernet, raw IP or Linux cooked.
Invariants: a record at a time is in memory, and of each flow what is beyond holes; a connection
between ends that had another before is a flow of its own; a capture cut short or damaged, or of
packets cut before what counts, is a :class:`ParseError` with the packet's number; what is no IPv4
packet, a fragment or not whole enough to tell is passed over, and how many is told.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from model.errors import ParseError
from model.run_files.comparing.brought import FlowReading, Span
from model.units import average_rate_bps
from simulators.results.capture_flows import (
    LEAST_BYTES,
    MOST_FLOWS,
    PROTOCOLS,
    CutPacketError,
    Flow,
    Flows,
    TooManyFlowsError,
)
from simulators.results.in_order import TooManyHolesError
from simulators.results.places import ended_early
from simulators.results.streams import Stream

LONGEST_RECORD_BYTES = 262_144
#: A capture's time that is no simulation's: its clock counts from 1970.
NO_SIMULATION_S = 100_000_000
_MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1_000_000), b"\xa1\xb2\xc3\xd4": (">", 1_000_000),
    b"\x4d\x3c\xb2\xa1": ("<", 1_000_000_000), b"\xa1\xb2\x3c\x4d": (">", 1_000_000_000),
}  # fmt: skip
MAGIC = frozenset(_MAGIC)
_PCAPNG = b"\x0a\x0d\x0d\x0a"


@dataclass(kw_only=True)
class _Capture:
    """What has been seen; times are from the first packet on if ``zero_s`` says so."""

    span: Span
    where: str
    zero_s: float
    flows: Flows = field(default_factory=Flows)
    passed_over: int = 0
    packets: int = 0
    last_s: float = 0.0


def read(
    stream: Stream, *, span: Span, first_packet: bool
) -> tuple[list[FlowReading], tuple[str, ...]]:
    """Return what arrived of each flow between two times, flows in order of appearance.

    Args:
        stream: the capture.
        span: between which times it is counted.
        first_packet: whether time 0 is that of the first packet; else the simulation's.

    Raises:
        ParseError: it is no such capture; file, byte and reason.
    """
    found = _Capture(span=span, where=stream.where, zero_s=0.0)
    for number, (t_s, network, wire_bytes) in enumerate(_records(stream), 1):
        if number == 1 and first_packet:
            found.zero_s = t_s
        elif number == 1 and t_s > NO_SIMULATION_S:
            raise ParseError(
                "times are no simulation's", where=f"{stream.where}: packet 1",
                wanted="seconds since the simulation began", got=f"{t_s:.0f} s",
                hint="in the mapping: zero: first packet",
            )  # fmt: skip
        found.packets, found.last_s = number, t_s - found.zero_s
        _take(found, found.last_s, network, wire_bytes)
    return [_made(found, one) for one in found.flows.all], _notes(found)


def _notes(found: _Capture) -> tuple[str, ...]:
    notes = []
    if found.passed_over:
        notes.append(
            f"{found.where}: {found.passed_over} of {found.packets} packets are no whole IPv4 "
            "packets of TCP, UDP or SCTP, and were passed over"
        )
    cut = sum(bool(one.new_bytes) and not one.from_start for one in found.flows.all)
    if cut:
        notes.append(
            f"{found.where}: {cut} flows have no beginning here; counted from their first data"
        )
    return (*notes, *ended_early(found.where, found.last_s, found.span))


class _Reader:
    """Bytes of a stream, so many at a time; ``at`` is the place of the next one."""

    def __init__(self, stream: Stream) -> None:
        self._pieces, self._held, self._place, self.at = stream.pieces(), b"", 0, 0

    def take(self, count: int) -> bytes:
        """Return so many bytes, or fewer at the end."""
        while len(self._held) - self._place < count:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._held = self._held[self._place :] + piece
            self._place = 0
        taken = self._held[self._place : self._place + count]
        self._place += len(taken)
        self.at += len(taken)
        return taken


def _records(stream: Stream) -> Iterator[tuple[float, bytes, int]]:
    """Yield each packet's time, its bytes from IP's header on (empty: none), and IP's own size."""
    reader = _Reader(stream)
    order, per_s, network_of = _header(reader.take(24), stream.where)
    unpack = struct.Struct(f"{order}IIII").unpack
    number = 0
    while head := reader.take(16):
        number += 1
        where = f"{stream.where}: packet {number}, byte {reader.at - len(head)}"
        if len(head) < 16:
            raise ParseError("cut short in a packet's header", where=where)
        seconds, fraction, captured, on_wire = unpack(head)
        if captured > LONGEST_RECORD_BYTES or captured > on_wire or fraction >= per_s:
            raise ParseError(
                "not a packet record", where=where,
                wanted=f"at most {LONGEST_RECORD_BYTES} bytes, no more than the packet had",
                got=f"{captured} of {on_wire} bytes",
            )  # fmt: skip
        content = reader.take(captured)
        if len(content) < captured:
            raise ParseError("cut short in a packet", where=where, wanted=f"{captured} bytes",
                             got=str(len(content)), hint="the capture was not ended")  # fmt: skip
        yield seconds + fraction / per_s, network_of(content), on_wire


def _header(head: bytes, where: str) -> tuple[str, int, Callable[[bytes], bytes]]:
    if not head:
        raise ParseError("the file is empty", where=where)
    if head[:4] == _PCAPNG:
        raise ParseError(
            "not a classic pcap file", where=where, got="pcapng", hint="editcap -F pcap IN OUT"
        )
    if head[:4] not in _MAGIC or len(head) < 24:
        raise ParseError("not a capture", where=f"{where}: byte 0", wanted="a pcap file's header",
                         got=head[:4].hex(" "))  # fmt: skip
    order, per_s = _MAGIC[head[:4]]
    linktype = struct.unpack_from(f"{order}I", head, 20)[0] & 0x0FFF_FFFF
    if linktype not in _LINKS:
        raise ParseError(
            "unknown link type", where=f"{where}: byte 20", got=str(linktype),
            wanted=", ".join(f"{number} ({name})" for number, (name, _) in _LINKS.items()),
        )  # fmt: skip
    return order, per_s, _LINKS[linktype][1]


def _ethernet(content: bytes) -> bytes:
    at = 12
    while content[at : at + 2] in (b"\x81\x00", b"\x88\xa8") and at < 20:
        at += 4
    return content[at + 2 :] if content[at : at + 2] == b"\x08\x00" else b""


_LINKS: dict[int, tuple[str, Callable[[bytes], bytes]]] = {
    1: ("Ethernet", _ethernet),
    9: ("PPP", lambda one: one[2:] if one[:2] == b"\x00\x21" else b""),
    101: ("raw IP", lambda one: one),
    113: ("Linux cooked", lambda one: one[16:] if one[14:16] == b"\x08\x00" else b""),
    276: ("Linux cooked, version 2", lambda one: one[20:] if one[:2] == b"\x08\x00" else b""),
}


def _take(found: _Capture, t_s: float, packet: bytes, wire_bytes: int) -> None:
    """Take a packet, from IP's header on."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[9] not in PROTOCOLS:
        found.passed_over += 1
        return
    header = (packet[0] & 15) * 4
    end = min(int.from_bytes(packet[2:4], "big"), wire_bytes)
    fragment = int.from_bytes(packet[6:8], "big") & 0x3FFF
    least = header + LEAST_BYTES[packet[9]]
    if header < 20 or fragment or end < least or len(packet) < least:
        found.passed_over += 1
        return
    where = f"{found.where}: packet {found.packets}"
    try:
        flow, ready = found.flows.take(found.packets, packet, header, end)
    except TooManyFlowsError:
        raise ParseError("too many flows", where=where, wanted=f"at most {MOST_FLOWS}") from None
    except TooManyHolesError:
        raise ParseError("a flow with too many holes to follow", where=where) from None
    except CutPacketError:
        raise ParseError(
            "cut before its last chunk of SCTP", where=where, wanted=f"{end} bytes of IP",
            got=str(len(packet)), hint="capture packets whole: tcpdump -s 0",
        ) from None  # fmt: skip
    if found.span.from_s <= t_s < found.span.to_s:
        flow.new_bytes += ready


def _made(found: _Capture, flow: Flow) -> FlowReading:
    protocol, source, destination, source_port, destination_port = flow.key
    return FlowReading(
        where=f"{found.where}: packet {flow.first}",
        protocol=PROTOCOLS[protocol],
        source=".".join(map(str, source)),
        source_port=source_port,
        destination=".".join(map(str, destination)),
        destination_port=destination_port,
        connection=flow.connection,
        goodput_bytes=flow.new_bytes,
        goodput_bps=average_rate_bps(flow.new_bytes, found.span.length_s),
    )
