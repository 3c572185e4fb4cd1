"""The store looked at and made smaller: how much is in it, what is damaged, what nobody uses.

Invariant: an entry goes whole, by a name that nobody looks for first, so that who uses it meanwhile
has all of it or none.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.machine import trees
from testbed.store.entries import DAMAGED, KINDS, RECORD, DamagedError, Entry, filling

DAY_S = 86_400.0


@dataclass(frozen=True, kw_only=True)
class Held:
    """An entry of the store: what it takes of the disk by itself, and when it was last of use."""

    entry: Entry
    size_bytes: int
    own_bytes: int
    used_s: float


def unreadable(root: Path) -> str:
    """Return in words why a store cannot be read; empty if it can, or if nothing is there yet."""
    try:
        if not stat.S_ISDIR(root.stat().st_mode):  # which may be a link
            return "is no folder"
        os.listdir(root)  # noqa: PTH208  # once, not lazily
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def held(root: Path) -> Iterator[Held]:
    """Yield every entry, also what is none in its place; those that go meanwhile are left out."""
    for kind in KINDS:
        for folder in sorted((root / kind).glob("*/*")):
            entry = Entry(root=root, kind=kind, key=folder.name)
            size_bytes, own_bytes = sizes(folder)
            used_s = _used_s(entry)
            if entry.is_there():
                yield Held(entry=entry, size_bytes=size_bytes, own_bytes=own_bytes, used_s=used_s)


def sizes(folder: Path) -> tuple[int, int]:
    """Return the bytes of all files of a folder, and of those that have no other name.

    What is neither file nor folder does not belong there, and what cannot be looked at may not:
    whoever reads it finds that out, it is not counted here.
    """
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                found.append((Path(place) / name).lstat())
    files = [one for one in found if stat.S_ISREG(one.st_mode)]
    own = (one.st_size for one in files if one.st_nlink == 1)
    return sum(one.st_size for one in files), sum(own)


def _used_s(entry: Entry) -> float:
    try:
        return (entry.folder / RECORD).lstat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return 0.0  # without one it is of no use to anybody
    except OSError:
        return math.inf  # another user's


def damage(entry: Entry) -> str:
    """Return how an entry is not what it says; empty if it is. Every byte is read."""
    try:
        entry.check(entry.record())
    except DamagedError as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def set_aside(root: Path) -> list[Path]:
    """Return the folders of entries that were damaged when they were to be used."""
    with contextlib.suppress(OSError):
        return sorted((root / DAMAGED).iterdir())
    return []


def remove(root: Path, place: Path) -> None:
    """Remove an entry, or what was one; what is gone already is no error.

    Raises:
        OSError: it cannot be removed.
    """
    with filling(root) as room:
        try:
            place.rename(room / place.name)
        except FileNotFoundError:
            return
        trees.remove(room / place.name)
    with contextlib.suppress(OSError):
        os.rmdir(place.parent)  # noqa: PTH106  # only if nothing else is in it


def unused(root: Path, days: float, now_s: float) -> list[Held]:
    """Return the entries that have been of no use for so many days."""
    return [one for one in held(root) if one.used_s < now_s - days * DAY_S]


def damaged(root: Path, look: Callable[[Entry], str] = damage) -> dict[str, str]:
    """Return the damaged entries by name, each with how; those set aside are among them."""
    found = {f"{DAMAGED}/{place.name}": "set aside" for place in set_aside(root)}
    for one in held(root):
        if how := look(one.entry):
            found[f"{one.entry.kind}/{one.entry.key[:16]}"] = how
    return found
