"""Parse SCTP common headers and chunks of many packets at once. Pure.

Invariants: arrays are parallel to the packets given, or flat with the packet's number in
``packets``, ordered by packet and then as they stand in it. ``complete`` is true where every chunk
header of the packet was captured and the chunks fill the packet; only then are its lists whole.

Chunks: RFC 9260, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.raw.pcap import Flags, Ints, Octets, rows_at, u16, u32

COMMON_HEADER_BYTES = 12
CHUNK_HEADER_BYTES = 4
DATA_HEADER_BYTES = 16
SACK_HEADER_BYTES = 16
INIT_HEADER_BYTES = 20
LONGEST_READ_BYTES = 20
DATA, INIT, INIT_ACK, SACK, SHUTDOWN = 0, 1, 2, 3, 7
#: No chunk is shorter than its header, so no packet of 65535 bytes has more.
MOST_CHUNKS = 65535 // CHUNK_HEADER_BYTES


@dataclass(frozen=True, kw_only=True)
class DataChunks:
    """All DATA chunks; ``tsn`` is the raw 32-bit number."""

    packets: Ints
    tsn: Ints
    stream: Ints
    ssn: Ints
    flags: Ints
    payload_bytes: Ints


@dataclass(frozen=True, kw_only=True)
class Sacks:
    """All SACK and SHUTDOWN chunks; ``a_rwnd_bytes`` is -1 in a SHUTDOWN.

    ``gap_packets``, ``gap_starts``, ``gap_ends`` are all gap blocks, as offsets to the cumulative
    TSN; ``duplicate_packets``, ``duplicates`` all duplicate TSNs. ``blocks_readable`` is false
    where the blocks were cut off.
    """

    packets: Ints
    cum_tsn: Ints
    a_rwnd_bytes: Ints
    blocks_readable: Flags
    gap_packets: Ints
    gap_starts: Ints
    gap_ends: Ints
    duplicate_packets: Ints
    duplicates: Ints


@dataclass(frozen=True, kw_only=True)
class Inits:
    """All INIT and INIT-ACK chunks; ``tsn`` is the first TSN their sender will use."""

    packets: Ints
    tsn: Ints
    a_rwnd_bytes: Ints


@dataclass(frozen=True, kw_only=True)
class Chunks:
    """All chunk headers: the packet's number and the type."""

    packets: Ints
    types: Ints


@dataclass(frozen=True, kw_only=True)
class Sctp:
    """SCTP packets and their chunks."""

    readable: Flags
    complete: Flags
    source_port: Ints
    destination_port: Ints
    chunks: Chunks
    data: DataChunks
    sacks: Sacks
    inits: Inits


@dataclass(frozen=True, kw_only=True)
class _Step:
    """One chunk of each of some packets: head bytes, length, and how much was captured of it."""

    packets: Ints
    starts: Ints
    head: Octets
    types: Ints
    length: Ints
    captured: Ints

    def only(self, wanted: Flags) -> _Step:
        return _Step(
            packets=self.packets[wanted], starts=self.starts[wanted], head=self.head[wanted],
            types=self.types[wanted], length=self.length[wanted], captured=self.captured[wanted],
        )  # fmt: skip


def parse_sctp(octets: Octets, starts: Ints, ends: Ints, captured_ends: Ints) -> Sctp:
    """Parse the packets at ``starts``, which end at ``ends`` on the wire, sooner as captured."""
    head = rows_at(octets, starts, COMMON_HEADER_BYTES)
    readable = captured_ends - starts >= COMMON_HEADER_BYTES
    complete = readable.copy()
    steps: list[_Step] = []
    packets = np.flatnonzero(readable)
    offset = starts[packets] + COMMON_HEADER_BYTES
    for _ in range(MOST_CHUNKS):
        more = offset < ends[packets]
        packets, offset = packets[more], offset[more]
        if not len(packets):
            break
        step, bad = _take(octets, packets, offset, ends, captured_ends)
        complete[bad] = False
        steps.append(step)
        packets, offset = step.packets, step.starts + (step.length + 3) // 4 * 4
    taken = _together(steps)
    whole_data = taken.only((taken.types == DATA) & (taken.captured >= DATA_HEADER_BYTES))
    complete[taken.packets[(taken.types == DATA) & (taken.captured < DATA_HEADER_BYTES)]] = False
    return Sctp(
        readable=readable,
        complete=complete,
        source_port=u16(head, 0),
        destination_port=u16(head, 2),
        chunks=Chunks(packets=taken.packets, types=taken.types),
        data=_data(whole_data),
        sacks=_sacks(octets, taken),
        inits=_inits(taken),
    )


def _take(
    octets: Octets, packets: Ints, offset: Ints, ends: Ints, captured_ends: Ints
) -> tuple[_Step, Ints]:
    """Return the chunks at ``offset``, and the packets where none can be read there."""
    captured = captured_ends[packets] - offset
    # What was not captured lies in the next record: it must not be read, wherever it is.
    head = rows_at(octets, np.where(captured > 0, offset, 0), LONGEST_READ_BYTES)
    length = u16(head, 2)
    good = (
        (captured >= CHUNK_HEADER_BYTES)
        & (length >= CHUNK_HEADER_BYTES)
        & (offset + length <= ends[packets])
    )
    step = _Step(
        packets=packets, starts=offset, head=head, types=head[:, 0].astype(np.int64), length=length,
        captured=np.minimum(captured, length),
    )  # fmt: skip
    return step.only(good), packets[~good]


def _together(steps: list[_Step]) -> _Step:
    """Return all chunks of all steps ordered by packet, then by place."""
    none = np.zeros(0, np.int64)
    packets = np.concatenate([none, *(step.packets for step in steps)])
    order = np.argsort(packets, kind="stable")
    empty = np.zeros((0, LONGEST_READ_BYTES), np.uint8)
    return _Step(
        packets=packets[order],
        starts=np.concatenate([none, *(step.starts for step in steps)])[order],
        head=np.concatenate([empty, *(step.head for step in steps)])[order],
        types=np.concatenate([none, *(step.types for step in steps)])[order],
        length=np.concatenate([none, *(step.length for step in steps)])[order],
        captured=np.concatenate([none, *(step.captured for step in steps)])[order],
    )


def _data(step: _Step) -> DataChunks:
    return DataChunks(
        packets=step.packets,
        tsn=u32(step.head, 4),
        stream=u16(step.head, 8),
        ssn=u16(step.head, 10),
        flags=step.head[:, 1].astype(np.int64),
        payload_bytes=step.length - DATA_HEADER_BYTES,
    )


def _inits(taken: _Step) -> Inits:
    step = taken.only(
        ((taken.types == INIT) | (taken.types == INIT_ACK)) & (taken.captured >= INIT_HEADER_BYTES)
    )
    return Inits(packets=step.packets, tsn=u32(step.head, 16), a_rwnd_bytes=u32(step.head, 8))


def _sacks(octets: Octets, taken: _Step) -> Sacks:
    selective = (taken.types == SACK) & (taken.captured >= SACK_HEADER_BYTES)
    last = (taken.types == SHUTDOWN) & (taken.captured >= 8)
    step = taken.only(selective | last)
    selective = step.types == SACK
    gaps = np.where(selective, u16(step.head, 12), 0)
    duplicates = np.where(selective, u16(step.head, 14), 0)
    blocks_bytes = 4 * (gaps + duplicates)
    blocks_readable = SACK_HEADER_BYTES + blocks_bytes <= step.captured
    blocks_readable[~selective] = True
    gaps, duplicates = np.where(blocks_readable, gaps, 0), np.where(blocks_readable, duplicates, 0)
    first_gap = step.starts + SACK_HEADER_BYTES
    which, edges = _words(octets, first_gap, gaps)
    duplicate_which, numbers = _words(octets, first_gap + 4 * gaps, duplicates)
    return Sacks(
        packets=step.packets,
        cum_tsn=u32(step.head, 4),
        a_rwnd_bytes=np.where(selective, u32(step.head, 8), -1),
        blocks_readable=blocks_readable,
        gap_packets=step.packets[which],
        gap_starts=u16(edges, 0),
        gap_ends=u16(edges, 2),
        duplicate_packets=step.packets[duplicate_which],
        duplicates=u32(numbers, 0),
    )


def _words(octets: Octets, starts: Ints, counts: Ints) -> tuple[Ints, Octets]:
    """Return ``counts`` four-byte words from each of ``starts``: whose they are, and the bytes."""
    whose = np.repeat(np.arange(len(starts)), counts)
    nth = np.arange(len(whose)) - np.repeat(np.cumsum(counts) - counts, counts)
    return whose, rows_at(octets, starts[whose] + 4 * nth, 4)
