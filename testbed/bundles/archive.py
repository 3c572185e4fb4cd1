"""A folder as one ``.tar.gz``, the same bytes each time, and back; whoever made it is not trusted.

Invariants: what is written holds plain files alone, sorted, with fixed times, owners and modes, so
equal files give equal bytes (of one zlib; another may compress in another way). What is read is
refused at the first thing that is not such a file of a name below one folder, before any of it is
written, and once it would unpack to more than a bundle of its size can.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from model import plain_files
from model.errors import ParseError, RunError

SUFFIX = ".tar.gz"
#: 1980-01-01T00:00:00Z: the earliest time that every format of archives can say.
TIME_S = 315_532_800
PIECE_BYTES = 1 << 20
#: zlib's word for a gzip member, whose time is then 0 and whose name is empty.
_GZIP_BITS, _LEVEL = 31, 6
#: Where two empty blocks end an archive, it is filled up to whole records.
_END = tarfile.NUL * (2 * tarfile.BLOCKSIZE)
#: Deflate makes at most a thousandth of what it is given; results make a hundredth at best.
MOST_RATIO, ALWAYS_BYTES = 200, 64 * plain_files.MIB
#: Free on the disk whatever is unpacked.
LEFT_FREE_BYTES = 256 * plain_files.MIB
MOST_NAME_BYTES = 255


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A file that goes into an archive: its name there, where it is or what it holds, its digest.

    ``about`` says in words what it is, where that is not plain from its name.
    """

    name: str
    content: Path | bytes
    sha256: str
    size_bytes: int
    about: str = ""

    def pieces(self) -> Iterator[bytes]:
        """Yield what it holds; raise :class:`RunError` if that is not what its digest says."""
        digest, left = hashlib.sha256(), self.size_bytes
        source = (
            io.BytesIO(self.content)
            if isinstance(self.content, bytes)
            else plain_files.opened(self.content)
        )
        with source:
            while piece := source.read(PIECE_BYTES):
                digest.update(piece)
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        if left or digest.hexdigest() != self.sha256:
            raise RunError(
                "a file changed while it was read", where=str(self.content)[:500],
                hint="wait for whatever works on it",
            )  # fmt: skip


def entry_of(name: str, content: Path | bytes, about: str = "") -> Entry:
    """Return an entry with the digest and size of what it holds now."""
    if isinstance(content, bytes):
        digest, size_bytes = hashlib.sha256(content).hexdigest(), len(content)
    else:
        digest, size_bytes = plain_files.sha256(content), content.lstat().st_size
    return Entry(name=name, content=content, sha256=digest, size_bytes=size_bytes, about=about)


def pieces(entries: Iterable[Entry], top: str) -> Iterator[bytes]:
    """Yield an archive of files below one folder named ``top``.

    Raises:
        RunError: a file changed meanwhile, or has a name too long for an archive.
    """
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_BITS)
    for piece in _tar(sorted(entries, key=lambda one: one.name.encode()), top):
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def _tar(entries: Iterable[Entry], top: str) -> Iterator[bytes]:
    written = 0
    for entry in entries:
        info = tarfile.TarInfo(f"{top}/{entry.name}")
        info.size, info.mtime, info.mode = entry.size_bytes, TIME_S, plain_files.MODE
        try:
            yield info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
        except ValueError as error:
            raise RunError("cannot be put into an archive", where=info.name[:300],
                           got=str(error)) from error  # fmt: skip
        yield from entry.pieces()
        padding = -entry.size_bytes % tarfile.BLOCKSIZE
        yield tarfile.NUL * padding
        written += tarfile.BLOCKSIZE + entry.size_bytes + padding
    yield _END + tarfile.NUL * (-(written + len(_END)) % tarfile.RECORDSIZE)


class _Unpacked:
    """The bytes of a gzip file, as they come; no more of them than a bundle of its size has."""

    def __init__(self, file: BinaryIO, size_bytes: int, where: str) -> None:
        self._file, self._where = file, where
        self._unpacker = zlib.decompressobj(_GZIP_BITS)
        self._most_bytes = ALWAYS_BYTES + MOST_RATIO * size_bytes
        self._taken_bytes = 0

    def read(self, count: int) -> bytes:
        """Return so many bytes; raise :class:`ParseError` if there are fewer, or too many."""
        found = bytearray()
        while len(found) < count:
            made = self._more(count - len(found))
            if not made and self._unpacker.eof:
                raise self.refused("an archive to its end", "one cut short")
            found += made
        self._taken_bytes += count
        if self._taken_bytes > self._most_bytes:
            raise self.refused(f"at most {self._most_bytes} bytes of a file of this size", "more")
        return bytes(found)

    def _more(self, count: int) -> bytes:
        packed = self._unpacker.unconsumed_tail or self._file.read(PIECE_BYTES)
        try:
            made = self._unpacker.decompress(packed, count)
        except zlib.error as error:
            raise self.refused("gzip", str(error)) from error
        if not made and not packed and not self._unpacker.eof:
            raise self.refused("an archive to its end", "one cut short")
        return made

    def end(self) -> None:
        """Raise :class:`ParseError` unless what fills up the last record is all that is left."""
        filled = b""
        while not self._unpacker.eof:
            filled += self._more(tarfile.RECORDSIZE)
            if any(filled) or len(filled) > tarfile.RECORDSIZE:
                raise self.refused("nothing behind the last file", "more")
        if self._unpacker.unused_data or self._file.read(1):
            raise self.refused("nothing behind the archive", "more bytes")

    def refused(self, wanted: str, got: str) -> ParseError:
        """Return the error that an archive is none of ours."""
        return ParseError("not a bundle", where=self._where, wanted=wanted, got=got,
                          hint="nothing of it is used; get it again")  # fmt: skip


def unpack(path: Path, into: Path) -> Path:
    """Unpack an archive into an empty folder; return the one folder that is in it then.

    Raises:
        ParseError: it is not as one is written here, whatever it may be instead.
        RunError: there is too little room on the disk.
        OSError: it cannot be read, or the folder not written.
    """
    with plain_files.opened(path) as file:
        source = _Unpacked(file, path.stat().st_size, str(path))
        seen: set[str] = set()
        while any(header := source.read(tarfile.BLOCKSIZE)):
            info = _plain_file(header, source)
            if len(seen) >= plain_files.MOST_ENTRIES or info.name in seen:
                raise source.refused("each file once", info.name[:300])
            seen.add(info.name)
            _check_room(into, info.size, path)
            # A folder where a file is, or a file where a folder is, cannot be made.
            _write(source, into / info.name, info.size)
            if any(source.read(-info.size % tarfile.BLOCKSIZE)):
                raise source.refused("nothing between files", info.name[:300])
        source.end()
    tops = {name.partition("/")[0] for name in seen}
    if len(tops) != 1:
        raise source.refused("one folder", ", ".join(sorted(tops))[:300] or "nothing")
    return into / tops.pop()


def _plain_file(header: bytes, source: _Unpacked) -> tarfile.TarInfo:
    """Return what a header says of a file; raise :class:`ParseError` for whatever else it is."""
    try:
        info = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError) as error:
        raise source.refused("the header of a file", str(error)) from error
    shown = repr(info.name)[:300]
    if info.type != tarfile.REGTYPE:
        raise source.refused("plain files", f"{shown}, of type {info.type!r}")
    if not 0 <= info.size <= plain_files.MOST_BYTES:
        raise source.refused(f"files of at most {plain_files.MOST_BYTES} bytes",
                             f"{shown} of {info.size}")  # fmt: skip
    parts = info.name.split("/")
    sound = 2 <= len(parts) <= plain_files.MOST_DEPTH and info.name.isprintable()
    sound = sound and all(part not in ("", ".", "..") for part in parts)
    if not sound or "\\" in info.name or len(info.name.encode()) > MOST_NAME_BYTES:
        raise source.refused("names of files below one folder", shown)
    return info


def _check_room(into: Path, size_bytes: int, path: Path) -> None:
    free_bytes = shutil.disk_usage(into).free
    if size_bytes + LEFT_FREE_BYTES > free_bytes:
        raise RunError(
            "too little room to unpack", where=str(into),
            wanted=f"{size_bytes + LEFT_FREE_BYTES} bytes free", got=str(free_bytes),
            hint=f"free some, or unpack {path} elsewhere: TMPDIR=FOLDER",
        )  # fmt: skip


def _write(source: _Unpacked, path: Path, size_bytes: int) -> None:
    """Write a new file; the folder is ours alone, so under its own name from the first byte."""
    left_bytes = size_bytes
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, plain_files.WRITE_FLAGS, plain_files.MODE), "wb") as file:
            while left_bytes:
                piece = source.read(min(left_bytes, PIECE_BYTES))
                left_bytes -= len(piece)
                file.write(piece)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise source.refused("files and folders of different names", str(error)) from error
