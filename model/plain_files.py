"""The one way files of a run are looked at, opened and written: plain files, real folders.

What a guest left or somebody sent is not trusted. Invariants: a link is never followed, a FIFO
never waited for, a device never opened to be read; nothing is read that is larger than was said;
a file is written beside its place and renamed; no tree is too deep. Below the folder a command is
pointed at, that is: whoever types its path may use links. All errors are ``OSError``.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

Buffer: TypeAlias = bytes | memoryview
MIB = 1 << 20
#: What any file of a run may have, and any text that is read whole.
MOST_BYTES = 16 << 30
MOST_TEXT_BYTES = 256 * MIB
#: From here on a file with little of it on the disk is refused: it is holes.
HOLES_FROM_BYTES, LEAST_STORED_FRAC = 1 << 30, 1 / 16
#: How deep files of a cell, a run or a set lie at most, and how many there may be.
MOST_DEPTH, MOST_ENTRIES = 12, 10_000_000
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER_FLAGS = READ_FLAGS | os.O_DIRECTORY
MODE = 0o644
_STAT_BLOCK_BYTES = 512
_KINDS = {
    stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}  # fmt: skip


def kind(mode: int) -> str:
    """Return in words what a file of this mode is."""
    return _KINDS.get(stat.S_IFMT(mode), "something unknown")


def _refused(path: Path | str, wanted: str, got: str) -> OSError:
    return OSError(errno.EINVAL, f"wanted {wanted}, got {got}", str(path))


def opened(path: Path, most_bytes: int = MOST_BYTES) -> BinaryIO:
    """Open a plain file to be read; raise ``OSError`` for anything else, and one too large."""
    try:
        handle = os.open(path, READ_FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a socket, or a device that is none
            raise _refused(path, "a plain file", kind(path.lstat().st_mode)) from None
        raise
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _refused(path, "a plain file", kind(found.st_mode))
        if found.st_size > most_bytes:
            raise _refused(path, f"at most {most_bytes} bytes", str(found.st_size))
        stored = found.st_blocks * _STAT_BLOCK_BYTES
        if found.st_size > HOLES_FROM_BYTES and stored < found.st_size * LEAST_STORED_FRAC:
            raise _refused(path, "a file without holes", f"{stored} of {found.st_size} bytes")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return a plain file's content."""
    with opened(path, most_bytes) as file:
        return file.read()


def read_text(path: Path, most_bytes: int = MOST_TEXT_BYTES) -> str:
    """Return a plain UTF-8 file's text; raise ``UnicodeDecodeError`` if it is none."""
    return read_bytes(path, most_bytes).decode()


def sha256(path: Path) -> str:
    """Return a plain file's SHA-256 as hexadecimal digits, without holding the file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # it is


def is_file(path: Path) -> bool:
    """Return whether there is a plain file; what cannot be looked at is none."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is a real folder; what cannot be looked at is none."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, if it is not there; raise ``OSError`` if it is a link."""
    path.mkdir(parents=True, exist_ok=True)
    if not is_folder(path):
        raise _refused(path, "a folder", kind(path.lstat().st_mode))


def write(path: Path, content: bytes, *, unlocked: bool = False) -> None:
    """Write a file whole or not at all; see :func:`write_pieces`."""
    write_pieces(path, (content,), unlocked=unlocked)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file whole or not at all."""
    write(path, text.encode())


def write_pieces(path: Path, pieces: Iterable[Buffer], *, unlocked: bool = False) -> None:
    """Write a file beside its place, piece by piece; rename it into place when whole.

    Args:
        path: the file; folders above it are made.
        pieces: its content.
        unlocked: others may be writing the same file, so what is not whole yet has a name of its
            own; and it is on the disk before it has the file's.
    """
    with _partial(path, unlocked=unlocked) as (handle, partial):
        _fill(handle, pieces, unlocked=unlocked)
        partial.replace(path)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files that others may be writing, too; none takes its place before all are whole."""
    with contextlib.ExitStack() as held:
        made = []
        for path, content in contents.items():
            handle, partial = held.enter_context(_partial(path, unlocked=True))
            _fill(handle, (content,), unlocked=True)
            made.append((partial, path))
        for partial, path in made:
            partial.replace(path)


@contextlib.contextmanager
def _partial(path: Path, *, unlocked: bool) -> Iterator[tuple[int, Path]]:
    """Give an open file beside a place, and its name; what was not renamed is removed."""
    make_folder(path.parent)
    if unlocked:
        handle, partial = _own_partial(path)
    else:
        partial = path.with_name(f".{path.name}")
        partial.unlink(missing_ok=True)
        handle = os.open(partial, WRITE_FLAGS, MODE)
    try:
        yield handle, partial
    finally:
        partial.unlink(missing_ok=True)
        os.close(handle)


def _fill(handle: int, pieces: Iterable[Buffer], *, unlocked: bool) -> None:
    with os.fdopen(handle, "wb", closefd=False) as file:
        os.fchmod(handle, MODE)
        for piece in pieces:
            file.write(piece)
        if unlocked:
            file.flush()
            os.fsync(handle)


def _own_partial(path: Path) -> tuple[int, Path]:
    """Return an open file beside its place and its name; remove those of killed processes.

    Whoever writes one holds its lock, which the kernel gives back however that process ends.
    """
    prefix = f".{path.name}."
    for left in path.parent.iterdir():
        if left.name.startswith(prefix) and is_file(left):
            with contextlib.suppress(OSError), opened(left) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
    while True:
        handle, name = tempfile.mkstemp(prefix=prefix, dir=path.parent)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)  # who removes left-overs found it before it was locked


def files(folder: Path, unlooked: tuple[str, ...] = ()) -> Iterator[tuple[str, Path]]:
    """Yield every file below a folder by its name there, in order; folders are looked into later.

    Args:
        folder: where to look.
        unlooked: the beginnings of names of folders that are not looked into.

    Raises:
        OSError: there is anything but plain files and folders, or they are too many or too deep.
    """
    left, entries = [""], 0
    while left:
        above = left.pop()
        if above.count("/") > MOST_DEPTH:
            raise _refused(folder / above, f"at most {MOST_DEPTH} folders in each other", "more")
        with os.scandir(folder / above) as found:
            for entry in sorted(found, key=lambda one: one.name):
                entries += 1
                if entries > MOST_ENTRIES:
                    raise _refused(folder, f"at most {MOST_ENTRIES} files and folders", "more")
                name = above + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if not unlooked or not entry.name.startswith(unlooked):
                        left.append(f"{name}/")
                elif entry.is_file(follow_symlinks=False):
                    yield name, folder / name
                else:
                    mode = entry.stat(follow_symlinks=False).st_mode
                    raise _refused(folder / name, "a plain file or a folder", kind(mode))
