"""Parse capture files in classic pcap: bytes -> arrays of records. Pure but for :func:`read`.

Invariants: all arrays of a :class:`Records` are parallel and in file order; offsets point into
``octets``, which ends in enough zeros that a fixed-width read at any record's byte stays inside.
A file that is no such capture, or is cut or damaged, is a :class:`ParseError` naming the byte.

Format: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcap/ (both byte orders, microsecond and
nanosecond magic, link types Ethernet and LINUX_SLL2).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from collectors.raw import compressed
from model.errors import ParseError
from model.units import NS_PER_S

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Octets = npt.NDArray[np.uint8]

FILE_HEADER_BYTES = 24
RECORD_HEADER_BYTES = 16
#: No tool writes longer records (libpcap's MAXIMUM_SNAPLEN): more is damage.
LONGEST_RECORD_BYTES = 262_144
ETHERNET, LINUX_SLL2 = 1, 276
LINKTYPES = {ETHERNET: "Ethernet", LINUX_SLL2: "LINUX_SLL2"}
#: First four bytes -> (byte order, nanoseconds per unit of the fractional time).
MAGIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
#: Zeros after the last byte: the widest fixed-width read of any parser.
PADDING_BYTES = 256


@dataclass(frozen=True, kw_only=True)
class Records:
    """The packets of one or more captures.

    ``octets`` holds the files' bytes; a packet's captured bytes start at ``starts`` and are
    ``captured_bytes`` of its ``wire_bytes``. ``files`` are indexes into ``names``.
    """

    names: tuple[str, ...]
    octets: Octets
    files: Ints
    linktypes: Ints
    t_ns: Ints
    starts: Ints
    captured_bytes: Ints
    wire_bytes: Ints

    def __len__(self) -> int:
        return len(self.t_ns)


def rows_at(octets: Octets, offsets: Ints, width: int) -> Octets:
    """Return the ``width`` bytes at each offset, shape (len(offsets), width), in one gather."""
    whole = np.ndarray((max(len(octets) - width + 1, 0),), f"V{width}", octets, 0, (1,))
    found: Octets = whole[offsets].view(np.uint8).reshape(len(offsets), width)
    return found


def u16(rows: Octets, offset: int) -> Ints:
    """Return the big-endian 16-bit number at one column of :func:`rows_at`."""
    return (rows[:, offset].astype(np.int64) << 8) | rows[:, offset + 1]


def u32(rows: Octets, offset: int) -> Ints:
    """Return the big-endian 32-bit number at one column of :func:`rows_at`."""
    return (u16(rows, offset) << 16) | u16(rows, offset + 2)


def _file_header(data: bytes, where: str) -> tuple[str, int, int]:
    """Return byte order, nanoseconds per fractional unit, and link type."""
    if not data:
        raise ParseError("not a capture: the file is empty", where=where)
    magic = data[:4]
    if magic == PCAPNG_MAGIC:
        raise ParseError(
            "not a classic pcap file", where=f"{where}: byte 0", got="pcapng",
            hint="convert it: editcap -F nsecpcap IN OUT",
        )  # fmt: skip
    if magic not in MAGIC:
        raise ParseError(
            "not a capture", where=f"{where}: byte 0", wanted="the magic number of pcap",
            got=magic.hex(" "),
        )  # fmt: skip
    if len(data) < FILE_HEADER_BYTES:
        raise ParseError(
            "cut short in the file header", where=f"{where}: byte {len(data)}",
            wanted=f"{FILE_HEADER_BYTES} bytes",
        )  # fmt: skip
    order, unit_ns = MAGIC[magic]
    major, minor = struct.unpack_from(f"{order}HH", data, 4)
    if (major, minor) != (2, 4):
        raise ParseError(
            "unknown version of pcap", where=f"{where}: byte 4", wanted="2.4",
            got=f"{major}.{minor}",
        )  # fmt: skip
    linktype = struct.unpack_from(f"{order}I", data, 20)[0] & 0x0FFF_FFFF
    if linktype not in LINKTYPES:
        raise ParseError(
            "unknown link type", where=f"{where}: byte 20", got=str(linktype),
            wanted=" or ".join(f"{number} ({name})" for number, name in LINKTYPES.items()),
        )  # fmt: skip
    return order, unit_ns, linktype


def _walk(data: bytes, order: str, where: str) -> tuple[Ints, ParseError | None]:
    """Return the offset of every whole record, and what is wrong with the last one, if it is."""
    captured = struct.Struct(f"{order}I").unpack_from
    guessed, reached = _guess(data, order)
    parts: list[Ints] = []
    offset, size, found = FILE_HEADER_BYTES, len(data), 0
    while offset + RECORD_HEADER_BYTES <= size:
        first = int(np.searchsorted(guessed, offset))
        if first < len(guessed) and guessed[first] == offset and reached[first] > first:
            parts.append(guessed[first : reached[first]])
            found += len(parts[-1])
            offset = int(guessed[reached[first]])
            continue
        (length,) = captured(data, offset + 8)
        if length > LONGEST_RECORD_BYTES:
            raise ParseError(
                "not a packet record", where=f"{where}: byte {offset}",
                got=f"{length} bytes captured", wanted=f"at most {LONGEST_RECORD_BYTES}",
            )  # fmt: skip
        end = offset + RECORD_HEADER_BYTES + length
        if end > size:
            break
        parts.append(np.array([offset], np.int64))
        found += 1
        offset = end
    offsets: Ints = np.concatenate([np.zeros(0, np.int64), *parts])
    if offset == size:
        return offsets, None
    return offsets, ParseError(
        f"cut short in packet {found + 1}", where=f"{where}: byte {offset}",
        hint="the capture was not ended properly",
    )  # fmt: skip


def _guess(data: bytes, order: str) -> tuple[Ints, Ints]:
    """Return offsets that look like records', and how far from each one leads to the next.

    A guess costs or saves time and decides nothing: who comes to ``offsets[i]`` from a record
    before comes to all up to ``offsets[reached[i]]``, each of them the end of the one before. What
    a record begins with that hardly changes within a capture is the upper half of its time.
    """
    octets = np.frombuffer(data, np.uint8)
    count = len(data) - RECORD_HEADER_BYTES + 1  # places where a record's header fits
    upper = 2 if order == "<" else 0
    same = np.ones(count, np.bool_)
    for byte in (upper, upper + 1):
        first = data[FILE_HEADER_BYTES + byte : FILE_HEADER_BYTES + byte + 1] or b"\0"
        same &= octets[byte : count + byte] == first[0]
    offsets = np.flatnonzero(same)
    lengths = rows_at(octets, offsets, RECORD_HEADER_BYTES).view(f"{order}u4")[:, 2]
    ends = offsets + RECORD_HEADER_BYTES + lengths
    leads = (ends[:-1] == offsets[1:]) & (lengths[:-1] <= LONGEST_RECORD_BYTES)
    stops = np.append(np.flatnonzero(~leads), len(offsets) - 1)
    reached = stops[np.searchsorted(stops, np.arange(len(offsets)))]
    return offsets, reached


def parse(data: bytes, where: str, *, strict: bool = True) -> tuple[Records, ParseError | None]:
    """Parse one capture file.

    Args:
        data: the file.
        where: its name, for messages.
        strict: raise also if only the last packet is cut short; otherwise return what comes
            before it, and the error.

    Raises:
        ParseError: no capture, of another link type, or damaged; ``where`` names the byte.
    """
    order, unit_ns, linktype = _file_header(data, where)
    offset, cut = _walk(data, order, where)
    if cut is not None and strict:
        raise cut
    octets = np.frombuffer(data + bytes(PADDING_BYTES), np.uint8)
    headers = rows_at(octets, offset, RECORD_HEADER_BYTES).view(f"{order}u4").astype(np.int64)
    seconds, fraction, captured_bytes, wire_bytes = (headers[:, column] for column in range(4))
    for wrong, what in (
        (fraction * unit_ns >= NS_PER_S, "a packet time with a fraction of a second or more"),
        (captured_bytes > wire_bytes, "a packet with more bytes captured than it had"),
    ):
        if wrong.any():
            raise ParseError(f"{what}", where=f"{where}: byte {offset[int(np.argmax(wrong))]}")
    records = Records(
        names=(where,),
        octets=octets,
        files=np.zeros(len(offset), np.int64),
        linktypes=np.full(len(offset), linktype, np.int64),
        t_ns=seconds * NS_PER_S + fraction * unit_ns,
        starts=offset + RECORD_HEADER_BYTES,
        captured_bytes=captured_bytes.copy(),
        wire_bytes=wire_bytes.copy(),
    )
    return records, cut


def read(path: Path, *, strict: bool = True) -> tuple[Records, ParseError | None]:
    """Read and parse one capture file, which may be compressed; see :func:`parse`."""
    return parse(compressed.read(path, "a capture"), str(path), strict=strict)


def merged(parts: list[Records]) -> Records:
    """Return the packets of several captures in order of time; ties keep the order of ``parts``."""
    if not parts:
        raise ValueError("no capture to merge")
    sizes = np.cumsum([0, *(len(part.octets) for part in parts[:-1])])
    file_counts = np.cumsum([0, *(len(part.names) for part in parts[:-1])])
    t_ns = np.concatenate([part.t_ns for part in parts])
    order = np.argsort(t_ns, kind="stable")

    def together(arrays: list[Ints]) -> Ints:
        joined: Ints = np.concatenate(arrays)[order]
        return joined

    return Records(
        names=tuple(name for part in parts for name in part.names),
        octets=np.concatenate([part.octets for part in parts]),
        files=together([p.files + base for p, base in zip(parts, file_counts, strict=True)]),
        linktypes=together([part.linktypes for part in parts]),
        t_ns=t_ns[order],
        starts=together([p.starts + base for p, base in zip(parts, sizes, strict=True)]),
        captured_bytes=together([part.captured_bytes for part in parts]),
        wire_bytes=together([part.wire_bytes for part in parts]),
    )
