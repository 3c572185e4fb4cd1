"""What was built, by content: every file's name, kind and bytes, and one digest over them all.

Invariants: the digest depends on nothing else (not on times, owners, umask, order or place),
because a lab shows its guest nothing else either (``labs/booted/boot/host_view.c``). The record is
kept beside what it describes, so what changed since can be named.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from model.errors import ParseError

#: Beside what was built: one line per file, in order.
RECORD = "built"
#: What a build says of itself; differs from build to build.
LOGS = frozenset({"build.log", RECORD})
#: 2026-01-01T00:00:00Z, given to every file: nothing built tells when it was built.
TIME_NS = 1_767_225_600 * 1_000_000_000
READ_BYTES = 1 << 20
#: How many changed files are named.
MOST_NAMED = 5


def settle(folder: Path) -> None:
    """Give a built tree plain modes and times, part hard links, and record what is in it.

    A copy of the tree may have linked files apart; a guest would see them as other inodes.
    """
    for place, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            path = Path(place, name)
            about = path.lstat()
            if not stat.S_ISLNK(about.st_mode):
                path.chmod(plain_mode(about.st_mode))
            if stat.S_ISREG(about.st_mode) and about.st_nlink > 1:
                _part(path)
            os.utime(path, ns=(TIME_NS, TIME_NS), follow_symlinks=False)
    (folder / RECORD).write_text(_text(listing(folder)), errors="surrogateescape")


def _part(path: Path) -> None:
    """Make a hard link a file of its own."""
    partial = path.with_name(f"{path.name}.parted")
    shutil.copy(path, partial)
    partial.replace(path)


def digest(folder: Path) -> str:
    """Return the digest of what was built in ``folder``, as recorded then.

    Raises:
        ParseError: there is no record.
    """
    try:
        return hashlib.sha256((folder / RECORD).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ParseError(
            "no record of what was built", where=str(folder), got=str(error),
            hint="make clean-cache; the next run builds it again",
        ) from error  # fmt: skip


def changed(folder: Path, *, thorough: bool) -> list[str]:
    """Return the names of files that are not as they were built, each with how.

    Thorough is to read every file. Else one whose time is as it was left by the build is taken to
    be whole: that finds what was edited, removed or added, in a tenth of a second. Modes are no
    change: those of the build are given back.
    """
    try:
        recorded = (folder / RECORD).read_text(errors="surrogateescape").splitlines()
    except OSError as error:
        return [f"{RECORD}: {error.strerror}"]
    before = {name: what for what, _, name in (line.partition("\t") for line in recorded)}
    now = listing(folder, {} if thorough else before)
    lines = []
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            what = "missing" if name not in now else "new" if name not in before else "changed"
            lines.append(f"{_shown(name)}: {what}")
    return lines


def listing(folder: Path, trusted: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return what each name below ``folder`` is: a folder, a link's target, or a file's SHA-256.

    A regular file that has the time of the build is taken to be what ``trusted`` says, if it does.
    """
    found: dict[str, str] = {}
    unread: dict[str, tuple[str, str]] = {}
    todo = [("", str(folder))]
    while todo:
        below, place = todo.pop()
        _give_mode(place, os.lstat(place).st_mode)
        with os.scandir(place) as entries:
            for entry in entries:
                name = _escaped(f"{below}{entry.name}")
                if not below and name in LOGS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    found[name] = "folder"
                    todo.append((f"{below}{entry.name}/", entry.path))
                elif entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    _give_mode(entry.path, about.st_mode)
                    kind = "program" if about.st_mode & stat.S_IXUSR else "file"
                    found[name] = trusted.get(name, "")
                    if about.st_mtime_ns != TIME_NS or not found[name].startswith(f"{kind} "):
                        unread[name] = (kind, entry.path)
                elif entry.is_symlink():
                    found[name] = f"link {_escaped(str(Path(entry.path).readlink()))}"
                else:
                    found[name] = "special"
    with ThreadPoolExecutor(os.cpu_count() or 1) as readers:
        found |= zip(unread, readers.map(_read, unread.values()), strict=True)
    return dict(sorted(found.items()))


def plain_mode(mode: int) -> int:
    """Return the mode a built file or folder has: that of a program, or of a file."""
    return 0o755 if mode & stat.S_IXUSR else 0o644


def _give_mode(path: str, mode: int) -> None:
    """Give a folder or a file the mode it was built with, where it has another.

    A copy made under a strict umask is whole, but a lab's own user could not read it.
    """
    if stat.S_IMODE(mode) != plain_mode(mode):
        with contextlib.suppress(PermissionError):
            Path(path).chmod(plain_mode(mode))


def _read(file: tuple[str, str]) -> str:
    kind, path = file
    state = hashlib.sha256()
    with Path(path).open("rb", buffering=0) as source:
        while part := source.read(READ_BYTES):
            state.update(part)
    return f"{kind} {state.hexdigest()}"


def named(lines: Sequence[str]) -> str:
    """Return what changed as words: the first of it, and how much more."""
    more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return "; ".join(lines[:MOST_NAMED]) + more


def _text(found: dict[str, str]) -> str:
    return "".join(f"{what}\t{name}\n" for name, what in found.items())


def _escaped(name: str) -> str:
    """Return a name without line ends and tabs, which the record's lines are made of."""
    return name.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _shown(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()
