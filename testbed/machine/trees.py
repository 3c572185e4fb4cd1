"""Remove a tree that may hold anything: links, folders nobody may enter, mounts, any depth.

Invariants: nothing outside the tree is touched. It is walked by descriptors of its folders, no
link is followed, no mount is crossed, and a tree with a mount in it is refused before anything
in it is changed. Few descriptors are open at once, however deep the tree is.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from model.errors import RunError

MOUNTS = Path("/proc/self/mountinfo")
_FOLDER_MODE = 0o700
#: What renaming a folder to a name that is taken can fail with.
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


def remove(path: Path) -> None:
    """Remove a folder and all below it, or a file or a link; what is not there is no error.

    Raises:
        RunError: something is mounted there or below; nothing was changed.
        OSError: something could not be removed.
    """
    _refuse_mounts(path)
    try:
        parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        _remove(path, parent)
    except FileNotFoundError:
        return
    finally:
        os.close(parent)


def _remove(path: Path, parent: int) -> None:
    try:
        folder = _open(path.name, parent)
    except NotADirectoryError:
        os.unlink(path.name, dir_fd=parent)
        return
    try:
        if _mount_of(folder) != _mount_of(parent):
            raise _mounted(path, [str(path)])
        _empty(path, folder)
    finally:
        os.close(folder)
    os.rmdir(path.name, dir_fd=parent)


def _empty(path: Path, folder: int) -> None:
    """Remove all that is in an open folder; folders two levels down first become its own."""
    names = (f".removed-{number}" for number in itertools.count())
    while listed := os.listdir(folder):
        for name in listed:
            with _entered(path, name, folder) as below:
                if below is None:
                    os.unlink(name, dir_fd=folder)
                    continue
                for inner in os.listdir(below):  # noqa: PTH208
                    with _entered(path, inner, below) as deep:
                        if deep is None:
                            os.unlink(inner, dir_fd=below)
                        else:
                            _move(inner, below, folder, names)
            os.rmdir(name, dir_fd=folder)


def _move(name: str, source: int, target: int, names: Iterator[str]) -> None:
    for free in names:
        try:
            os.rename(name, free, src_dir_fd=source, dst_dir_fd=target)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        else:
            return


@contextlib.contextmanager
def _entered(path: Path, name: str, parent: int) -> Iterator[int | None]:
    """Give a descriptor of a folder in ``parent``, or None if that name is none."""
    try:
        folder = _open(name, parent)
    except NotADirectoryError:
        yield None
        return
    try:
        if _mount_of(folder) != _mount_of(parent):
            raise _mounted(path, [name])
        yield folder
    finally:
        os.close(folder)


def _open(name: str, parent: int) -> int:
    """Return a descriptor of a folder that its owner may read and write from now on.

    Raises:
        NotADirectoryError: it is something else, a link to a folder included.
    """
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        mounted = _mount_of(handle) != _mount_of(parent)
        if not mounted and os.fstat(handle).st_mode & _FOLDER_MODE != _FOLDER_MODE:
            Path(f"/proc/self/fd/{handle}").chmod(_FOLDER_MODE)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=handle)
    finally:
        os.close(handle)


def _mount_of(handle: int) -> str:
    """Return the number of the mount an open file is on: a bind mount has its own."""
    text = Path(f"/proc/self/fdinfo/{handle}").read_text()
    return next(line for line in text.splitlines() if line.startswith("mnt_id:"))


def _refuse_mounts(path: Path) -> None:
    place = str(path.parent.resolve() / path.name)
    points = [_plain(line.split(" ")[4]) for line in MOUNTS.read_text().splitlines()]
    found = [point for point in points if point == place or point.startswith(f"{place}/")]
    if found:
        raise _mounted(path, found)


def _plain(point: str) -> str:
    """Return a mount point's name as it is; spaces and such are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), point)


def _mounted(path: Path, found: list[str]) -> RunError:
    return RunError(
        "not removed, because something is mounted in it",
        where=str(path),
        got=", ".join(found[:5]),
        hint=f"as root: umount -R {found[0]}; then the same command again",
    )
