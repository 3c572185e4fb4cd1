"""Parse TCP headers and options of many packets at once. Pure.

Invariants: arrays are parallel to the packets given. ``readable`` is false where the fixed header
is not whole; ``options_readable`` where the options are cut off or contradict their lengths. -1 in
``mss_bytes`` or ``window_scale`` is "no such option".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.raw.pcap import Flags, Ints, Octets, rows_at, u16, u32

SHORTEST_HEADER_BYTES = 20
LONGEST_HEADER_BYTES = 60
FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
END, NOP, MSS, WINDOW_SCALE, SACK = 0, 1, 2, 3, 5
SACK_BLOCK_BYTES = 8
#: Two NOPs and a timestamp: the options of nearly every segment of a Linux host.
ONLY_TIMESTAMP = (0x01, 0x01, 0x08, 0x0A)


@dataclass(frozen=True, kw_only=True)
class SackBlocks:
    """All SACK blocks of all packets: the packet's number and the raw 32-bit edges."""

    packets: Ints
    starts: Ints
    ends: Ints


@dataclass(frozen=True, kw_only=True)
class Tcp:
    """TCP headers; ``seq`` and ``ack`` are the raw 32-bit numbers."""

    readable: Flags
    options_readable: Flags
    source_port: Ints
    destination_port: Ints
    seq: Ints
    ack: Ints
    flags: Ints
    window: Ints
    payload_bytes: Ints
    mss_bytes: Ints
    window_scale: Ints
    sack_blocks: SackBlocks

    def sequence_length(self) -> Ints:
        """Return how many sequence numbers each segment takes: its bytes, SYN and FIN."""
        return self.payload_bytes + ((self.flags & SYN) > 0) + ((self.flags & FIN) > 0)


def parse_tcp(octets: Octets, starts: Ints, ends: Ints, captured_ends: Ints) -> Tcp:
    """Parse the segments at ``starts``, which end at ``ends`` on the wire, sooner as captured."""
    head = rows_at(octets, starts, LONGEST_HEADER_BYTES)
    header_bytes = (head[:, 12] >> 4).astype(np.int64) * 4
    readable = (
        (captured_ends - starts >= SHORTEST_HEADER_BYTES)
        & (header_bytes >= SHORTEST_HEADER_BYTES)
        & (header_bytes <= ends - starts)
    )
    options_readable = readable & (header_bytes <= captured_ends - starts)
    options = _Options(head, header_bytes, options_readable)
    return Tcp(
        readable=readable,
        options_readable=options.readable,
        source_port=u16(head, 0),
        destination_port=u16(head, 2),
        seq=u32(head, 4),
        ack=u32(head, 8),
        flags=head[:, 13].astype(np.int64),
        window=u16(head, 14),
        payload_bytes=np.where(readable, ends - starts - header_bytes, 0),
        mss_bytes=options.mss_bytes,
        window_scale=options.window_scale,
        sack_blocks=options.sack_blocks(),
    )


class _Options:
    """Walks the options of all packets in step, one option of each at a time."""

    def __init__(self, head: Octets, header_bytes: Ints, readable: Flags) -> None:
        self.head, self.header_bytes = head, header_bytes
        self.readable = readable.copy()
        self.mss_bytes = np.full(len(head), -1, np.int64)
        self.window_scale = np.full(len(head), -1, np.int64)
        self._sacks: list[SackBlocks] = []
        plain = (header_bytes == 32) & (head[:, 20:24] == ONLY_TIMESTAMP).all(axis=1)
        packets = np.flatnonzero(readable & ~plain & (header_bytes > SHORTEST_HEADER_BYTES))
        offset = np.full(len(packets), SHORTEST_HEADER_BYTES, np.int64)
        while len(packets):
            packets, offset = self._step(packets, offset)

    def _step(self, packets: Ints, offset: Ints) -> tuple[Ints, Ints]:
        """Take one option of each packet; return the packets that have more, and where."""
        kind = self.head[packets, offset]
        has_length = kind != NOP
        last = LONGEST_HEADER_BYTES - 1
        length = np.where(has_length, self.head[packets, np.minimum(offset + 1, last)], 1)
        fits = (length >= 1 + has_length) & (offset + length <= self.header_bytes[packets])
        going = (kind != END) & fits
        self.readable[packets[(kind != END) & ~fits]] = False
        packets, offset, kind, length = packets[going], offset[going], kind[going], length[going]
        for number, size, values in (
            (MSS, 4, self.mss_bytes),
            (WINDOW_SCALE, 3, self.window_scale),
        ):
            found = (kind == number) & (length == size)
            where, place = packets[found], offset[found]
            value = self.head[where, place + 2].astype(np.int64)
            values[where] = (value << 8) | self.head[where, place + 3] if size == 4 else value
        found = (kind == SACK) & (length % SACK_BLOCK_BYTES == 2)
        self._take_sack(packets[found], offset[found], (length[found] - 2) // SACK_BLOCK_BYTES)
        offset = offset + length
        more = offset < self.header_bytes[packets]
        return packets[more], offset[more]

    def _take_sack(self, packets: Ints, offset: Ints, blocks: Ints) -> None:
        for block in range(int(blocks.max(initial=0))):
            has = blocks > block
            rows, place = packets[has], offset[has] + 2 + block * SACK_BLOCK_BYTES
            edges = self.head[rows[:, None], place[:, None] + np.arange(SACK_BLOCK_BYTES)]
            self._sacks.append(SackBlocks(packets=rows, starts=u32(edges, 0), ends=u32(edges, 4)))

    def sack_blocks(self) -> SackBlocks:
        """Return the blocks ordered by packet, then as they stand in it."""
        none = np.zeros(0, np.int64)
        packets = np.concatenate([none, *(part.packets for part in self._sacks)])
        order = np.argsort(packets, kind="stable")
        return SackBlocks(
            packets=packets[order],
            starts=np.concatenate([none, *(part.starts for part in self._sacks)])[order],
            ends=np.concatenate([none, *(part.ends for part in self._sacks)])[order],
        )
