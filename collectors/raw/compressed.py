"""Compressed raw files unpacked, no further than such a file may hold; damage names its byte."""

from __future__ import annotations

import zlib
from pathlib import Path

from collectors.raw.files import read_bytes
from model import run_folder
from model.errors import ParseError

#: How much more a compressed file may hold than it has: pages, samples and captures compress to a
#: fifth or a tenth.
MOST_UNPACKED_BYTES, MOST_UNPACKED_FACTOR = 64 << 20, 50
#: What zlib calls the gzip format, added to the size of its window.
_GZIP_WRAPPED = 16
#: How much is unpacked at once; damage is known to lie after the start of its piece.
_CHUNK_BYTES = 1 << 12


def most_unpacked_bytes(packed_bytes: int) -> int:
    """Return how much a compressed file of this size may hold."""
    return MOST_UNPACKED_BYTES + MOST_UNPACKED_FACTOR * packed_bytes


def read(path: Path, what: str) -> bytes:
    """Return what a raw file holds, unpacked if its name says so: older runs have it as it is.

    Raises:
        ParseError: it cannot be read, or as :func:`unpacked`.
    """
    content = read_bytes(path, what)
    is_packed = path.name.endswith(run_folder.COMPRESSED)
    return unpacked(content, str(path), what) if is_packed else content


def read_text(path: Path, what: str) -> str:
    """Return the text that a raw file holds; raise as :func:`read`, and if it is none."""
    content = read(path, what)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ParseError(f"cannot read {what}", where=str(path), got=str(error)) from error


def unpacked(packed: bytes, where: str, what: str) -> bytes:
    """Return what a gzip file holds.

    Raises:
        ParseError: it is none, damaged, cut short, or has more behind it; file and byte are named.
    """

    def wrong(byte: int, got: str, wanted: str = "") -> ParseError:
        place = f"{where}: byte {byte} or later, compressed"
        return ParseError(f"cannot read {what}", where=place, got=got, wanted=wanted)

    if not packed:  # nothing at all is not a compressed nothing
        raise ParseError(f"cannot read {what}", where=where, got="the file is empty")
    stream = zlib.decompressobj(zlib.MAX_WBITS | _GZIP_WRAPPED)
    parts, most_bytes = [], most_unpacked_bytes(len(packed))
    left_bytes, first = most_bytes, 0
    for first in range(0, len(packed), _CHUNK_BYTES):
        try:
            parts.append(stream.decompress(packed[first : first + _CHUNK_BYTES], left_bytes + 1))
        except zlib.error as error:
            raise wrong(first, str(error)) from error
        left_bytes -= len(parts[-1])
        if left_bytes < 0:
            raise wrong(first, "more", f"at most {most_bytes} bytes unpacked")
        if stream.eof:
            break
    if not stream.eof:
        raise wrong(len(packed), "cut short")
    end = min(first + _CHUNK_BYTES, len(packed)) - len(stream.unused_data)
    if end != len(packed):
        raise wrong(end, f"{len(packed) - end} bytes more than is compressed")
    return b"".join(parts)
