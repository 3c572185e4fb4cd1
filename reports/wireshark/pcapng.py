"""Write pcapng: sections, named interfaces, packets with comments, times in nanoseconds. Pure.

Format: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/. Little-endian; blocks and
options are padded to 32 bits. Written here because scapy's writer keeps times as floats in
microseconds and can neither describe an interface nor comment a section.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

import numpy as np

from reports.wireshark.captured import Ints, Sights, copy_packets

SECTION, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
VERSION = (1, 0)
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
#: Packets that are put together at once: bounds the memory, not the file.
AT_ONCE = 1 << 17


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
    head = struct.pack("<IHHq", BYTE_ORDER_MAGIC, *VERSION, UNKNOWN_LENGTH)
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


def packets(sights: Sights, comments: Mapping[int, str]) -> Iterator[bytes]:
    """Yield the packet blocks of all sights, many to a piece; comments are by row."""
    ends = {
        row: text_option(COMMENT, text) + option(END_OF_OPTIONS, b"")
        for row, text in comments.items()
    }
    for first in range(0, len(sights), AT_ONCE):
        yield _piece(sights, np.arange(first, min(first + AT_ONCE, len(sights))), ends)


def _piece(sights: Sights, rows: Ints, ends: Mapping[int, bytes]) -> bytes:
    captured_bytes = sights.captured_bytes[rows]
    after_data = PACKET_HEADER_WORDS * 4 + (captured_bytes + 3) // 4 * 4
    first = int(rows[0])
    commented = [(row - first, row) for row in ends if first <= row <= int(rows[-1])]
    sizes = after_data + LENGTH_BYTES
    for place, row in commented:
        sizes[place] += len(ends[row])
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    words = out.view("<u4")
    t_ns = sights.t_ns[rows]
    columns = (
        np.full(len(rows), ENHANCED_PACKET), sizes, sights.interfaces[rows], t_ns >> 32,
        t_ns & 0xFFFF_FFFF, captured_bytes, sights.wire_bytes[rows],
    )  # fmt: skip
    for number, column in enumerate(columns):
        words[starts // 4 + number] = column
    words[(starts + sizes) // 4 - 1] = sizes
    places = starts + PACKET_HEADER_WORDS * 4
    copy_packets(sights.octets, sights.starts[rows], captured_bytes, out, places)
    for place, row in commented:
        at = int(starts[place] + after_data[place])
        out[at : at + len(ends[row])] = np.frombuffer(ends[row], np.uint8)
    return out.tobytes()
