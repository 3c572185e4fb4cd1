"""Write capture files: pcapng with the story in it, and classic pcap for tcptrace. Pure.

Formats: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/ and draft-ietf-opsawg-pcap.
pcapng: little-endian; blocks and options are padded to 32 bits; times in nanoseconds. Written here
because scapy's writer keeps times as floats in microseconds and can neither describe an interface
nor comment a section. Classic pcap: raw IP packets at one point of view; the link header is left
off rather than turned into another one, for what the capture does not hold is not invented.
tcptrace counts in microseconds, so the fraction below one is cut off, never rounded, which keeps
the order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

import numpy as np

from reports.wireshark.captured import CapturedPackets, Ints, copy_packets

SECTION, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
PCAPNG_VERSION = (1, 0)
UNKNOWN_LENGTH = -1
#: Options (section 3.5 and those of each block).
END_OF_OPTIONS, COMMENT = 0, 1
SECTION_APPLICATION = 4
INTERFACE_NAME, INTERFACE_DESCRIPTION, INTERFACE_RESOLUTION = 2, 3, 9
#: Times count in units of 10 to the minus this.
NANOSECONDS = 9
#: Type, length, interface, time (high, low), captured and original length.
PACKET_HEADER_WORDS = 7
LENGTH_BYTES = 4
#: An option's length is a 16-bit number.
LONGEST_OPTION_BYTES = 0xFFFF
#: The header of a classic file.
MAGIC_MICROSECONDS = 0xA1B2C3D4
PCAP_VERSION = (2, 4)
RAW_IP = 101
SNAP_BYTES = 262_144
RECORD_HEADER_BYTES = 16
NS_PER_US = 1000
US_PER_S = 1_000_000
#: Packets that are put together at once: bounds the memory, not the file.
AT_ONCE = 1 << 16


def option(code: int, value: bytes) -> bytes:
    """Return one option, padded; text that is too long is cut at a character's end."""
    if len(value) > LONGEST_OPTION_BYTES:
        value = value[:LONGEST_OPTION_BYTES].decode(errors="ignore").encode()
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def text_option(code: int, text: str) -> bytes:
    """Return an option that holds text."""
    return option(code, text.encode())


def block(kind: int, body: bytes) -> bytes:
    """Return a block; its length stands at both ends."""
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def section(*, comment: str, application: str) -> bytes:
    """Return the section header that opens a file."""
    head = struct.pack("<IHHq", BYTE_ORDER_MAGIC, *PCAPNG_VERSION, UNKNOWN_LENGTH)
    options = text_option(COMMENT, comment) + text_option(SECTION_APPLICATION, application)
    return block(SECTION, head + options + option(END_OF_OPTIONS, b""))


def interface(*, name: str, description: str, linktype: int, snap_bytes: int) -> bytes:
    """Return an interface's description; interfaces count from 0 in the order they are written."""
    options = (
        text_option(INTERFACE_NAME, name)
        + text_option(INTERFACE_DESCRIPTION, description)
        + option(INTERFACE_RESOLUTION, bytes([NANOSECONDS]))
        + option(END_OF_OPTIONS, b"")
    )
    return block(INTERFACE, struct.pack("<HHI", linktype, 0, snap_bytes) + options)


def pcapng_packets(captured: CapturedPackets, comments: Mapping[int, str]) -> Iterator[bytes]:
    """Yield the packet blocks of all packets, many to a piece; comments are by place here."""
    ends = {
        row: text_option(COMMENT, text) + option(END_OF_OPTIONS, b"")
        for row, text in comments.items()
    }
    for rows in _in_pieces(np.arange(len(captured))):
        yield _pcapng_piece(captured, rows, ends)


def _in_pieces(rows: Ints) -> Iterator[Ints]:
    """Yield rows as many at a time as are put together at once."""
    for first in range(0, len(rows), AT_ONCE):
        yield rows[first : first + AT_ONCE]


def _pcapng_piece(captured: CapturedPackets, rows: Ints, ends: Mapping[int, bytes]) -> bytes:
    captured_bytes = captured.captured_bytes[rows]
    shown_bytes = captured_bytes + captured.zero_bytes[rows]
    after_data = PACKET_HEADER_WORDS * 4 + (shown_bytes + 3) // 4 * 4
    first = int(rows[0])
    commented = [(row - first, row) for row in ends if first <= row <= int(rows[-1])]
    sizes = after_data + LENGTH_BYTES
    for place, row in commented:
        sizes[place] += len(ends[row])
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    words = out.view("<u4")
    t_ns = captured.t_ns[rows]
    columns = (
        np.full(len(rows), ENHANCED_PACKET), sizes, captured.interfaces[rows], t_ns >> 32,
        t_ns & 0xFFFF_FFFF, shown_bytes, captured.wire_bytes[rows],
    )  # fmt: skip
    for number, column in enumerate(columns):
        words[starts // 4 + number] = column
    words[(starts + sizes) // 4 - 1] = sizes
    places = starts + PACKET_HEADER_WORDS * 4
    copy_packets(captured.octets, captured.starts[rows], captured_bytes, out, places)
    for place, row in commented:
        begin = int(starts[place] + after_data[place])
        out[begin : begin + len(ends[row])] = np.frombuffer(ends[row], np.uint8)
    return out.tobytes()


def classic_header() -> bytes:
    """Return a classic file's header."""
    return struct.pack("<IHHiIII", MAGIC_MICROSECONDS, *PCAP_VERSION, 0, 0, SNAP_BYTES, RAW_IP)


def classic_packets(captured: CapturedPackets) -> Iterator[bytes]:
    """Yield the records of all packets, many to a piece; zeros that were not kept are left off."""
    for rows in _in_pieces(np.arange(len(captured))):
        yield _classic_piece(captured, rows)


def _classic_piece(captured: CapturedPackets, rows: Ints) -> bytes:
    link_bytes = captured.network[rows] - captured.starts[rows]
    captured_bytes = captured.captured_bytes[rows] - link_bytes
    sizes = captured_bytes + RECORD_HEADER_BYTES
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    t_us = captured.t_ns[rows] // NS_PER_US
    columns = (
        t_us // US_PER_S,
        t_us % US_PER_S,
        captured_bytes,
        captured.wire_bytes[rows] - link_bytes,
    )
    heads = np.stack(columns, axis=1).astype("<u4").view(np.uint8).ravel()
    begins = np.arange(len(rows)) * RECORD_HEADER_BYTES
    copy_packets(heads, begins, np.full(len(rows), RECORD_HEADER_BYTES), out, starts)
    copy_packets(
        captured.octets, captured.network[rows], captured_bytes, out, starts + RECORD_HEADER_BYTES
    )
    return out.tobytes()
