"""Files that users bring, piece by piece: plain, gzip, bzip2 or xz, told by how they begin.

Invariants: no more than a few pieces are in memory, whatever the file unpacks to; a bomb, a file
cut short and one that changes while it is read are each a :class:`ParseError` that names it; links
that a user types are followed, but nothing is waited for that is no plain file.
"""

from __future__ import annotations

import bz2
import contextlib
import hashlib
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from model import plain_files
from model.errors import ParseError

PIECE_BYTES = 1 << 18
#: A text's line, and so whatever a reader holds before it can judge it.
MOST_LINE_BYTES = 1 << 20
#: What a file may unpack to: so many times its size, unless that is little, and in all.
MOST_RATIO, LITTLE_BYTES, MOST_UNPACKED_BYTES = 200, 64 << 20, 256 << 30
#: What unpacking xz may take: its own level 9 needs 65 MiB.
MOST_LZMA_BYTES = 128 << 20
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz"}
BOM = b"\xef\xbb\xbf"
_OTHER_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class _Unpacker(Protocol):
    """What the standard library's decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class _Gzip:
    """zlib's decompressor, in the manner of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_UNPACKERS: dict[str, Callable[[], _Unpacker]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_LZMA_BYTES),
}


@dataclass(kw_only=True)
class Stream:
    """An open file; ``where`` is what messages call it.

    ``open_ended`` is, once its lines were read, whether the last one lacked its end.
    """

    where: str
    file: BinaryIO
    stored_bytes: int = 0
    open_ended: bool = False
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def pieces(self) -> Iterator[bytes]:
        """Yield the content, unpacked; raise :class:`ParseError` for what cannot be."""
        stored = self._stored()
        first = next(stored, b"")
        packed = next((name for magic, name in MAGIC.items() if first.startswith(magic)), "")
        try:
            if packed:
                yield from self._unpacked(packed, first, stored)
            else:
                yield first
                yield from stored
        except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise ParseError(
                "cannot be read" + (f" as {packed}" if packed else ""), where=self.where,
                got=str(error) or type(error).__name__,
            ) from error  # fmt: skip

    def _stored(self) -> Iterator[bytes]:
        while piece := self.file.read(PIECE_BYTES):
            self.stored_bytes += len(piece)
            self.digest.update(piece)
            yield piece

    def _unpacked(self, packed: str, first: bytes, stored: Iterator[bytes]) -> Iterator[bytes]:
        unpacker, data, unpacked_bytes = _UNPACKERS[packed](), first, 0
        while True:
            piece = unpacker.decompress(data, PIECE_BYTES)
            data = b""
            unpacked_bytes += len(piece)
            self._check_size(unpacked_bytes)
            if piece:
                yield piece
            if unpacker.eof:  # what follows is another of the same kind, put behind
                data = unpacker.unused_data.lstrip(b"\0")
                while not data:  # zeros may lie between, as many as there are
                    piece = next(stored, b"")
                    if not piece:
                        return
                    data = piece.lstrip(b"\0")
                unpacker = _UNPACKERS[packed]()
            elif unpacker.needs_input or not piece:
                data = next(stored, b"")
                if not data and not piece:
                    raise EOFError("it is cut short")

    def _check_size(self, unpacked_bytes: int) -> None:
        allowed = max(LITTLE_BYTES, MOST_RATIO * self.stored_bytes)
        if unpacked_bytes > min(allowed, MOST_UNPACKED_BYTES):
            raise ParseError(
                "unpacks to too much", where=self.where,
                wanted=f"at most {MOST_RATIO} times its size",
                got=f"more than {unpacked_bytes} bytes from {self.stored_bytes}",
                hint="if it is what you want read, unpack it first",
            )  # fmt: skip

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line with its number, without its end; UTF-8, with or without its mark."""
        number = 0
        for number, line in enumerate(self._raw_lines(), 1):
            if number == 1:
                line = self._without_mark(line)
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise self.error(
                    number, "not text", wanted="UTF-8", got=f"byte 0x{line[error.start]:02x}"
                ) from error
            if "\0" in text:
                raise self.error(number, "not text", wanted="UTF-8", got="byte 0x00")
            yield number, text
        if number == 0:
            raise ParseError("the file is empty", where=self.where)

    def _raw_lines(self) -> Iterator[bytes]:
        rest, number = b"", 0
        for piece in self.pieces():
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                number += 1
                yield line.removesuffix(b"\r")
            if len(rest) > MOST_LINE_BYTES:
                raise self.error(
                    number + 1, "too long a line", wanted=f"at most {MOST_LINE_BYTES} bytes"
                )
        if rest:
            self.open_ended = True
            yield rest.removesuffix(b"\r")

    def _without_mark(self, line: bytes) -> bytes:
        for mark, name in _OTHER_BOMS.items():
            if line.startswith(mark):
                raise self.error(1, "not UTF-8", got=name, hint="save it as UTF-8")
        return line.removeprefix(BOM)

    def error(
        self, line: int, what: str, *, wanted: str = "", got: str = "", hint: str = ""
    ) -> ParseError:
        """Return the error of a line, which counts from 1."""
        return ParseError(what, where=f"{self.where}:{line}", wanted=wanted, got=got, hint=hint)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Stream]:
    """Open a file for the block, which is to read it to its end.

    Raises:
        ParseError: it is no plain file, or was changed meanwhile.
    """
    resolved = resolved_file(path)
    try:
        file = plain_files.opened(resolved)
    except OSError as error:
        raise _unreadable(path, error) from error
    with file:
        before = _state(file)
        yield Stream(where=str(path), file=file)
        if _state(file) != before:
            raise ParseError(
                "changed while it was read", where=str(path),
                hint="wait until the simulator has ended",
            )  # fmt: skip


def resolved_file(path: Path) -> Path:
    """Return a file's own path, links followed; raise :class:`ParseError` if there is none."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links; a NUL in the name
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ParseError:
    reason = getattr(error, "strerror", None) or str(error)
    return ParseError(f"cannot be read: {reason}", where=str(path))


def _state(file: BinaryIO) -> tuple[int, int]:
    found = os.fstat(file.fileno())
    return found.st_size, found.st_mtime_ns


def head_of(path: Path) -> bytes:
    """Return how a file begins, unpacked; raises as :func:`opened` and :meth:`Stream.pieces`."""
    with opened(path) as stream:
        return next(stream.pieces(), b"")
