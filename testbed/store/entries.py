"""Entries of the store: folders that say whose files they hold, and the digest of each.

<store>/evidence/ab/<key>/entry.json, files/...     what a lab left of a cell
<store>/tables/cd/<key>/entry.json, files/...       what was made of it
<store>/damaged/<kind>-<key>-<n>/                   entries that were not what they say

Invariants: an entry exists whole or not at all (it is filled beside its place and renamed; what a
power cut makes of it is found out as all damage is); its name is the hash of what it says it is;
nothing of it is used before its bytes were read and found to be what it says; who may write in the
store may move and remove entries, whoever made them.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from model import plain_files
from testbed.machine import scratch
from testbed.store import identity, share

Kind = Literal["evidence", "tables"]
KINDS: tuple[Kind, ...] = ("evidence", "tables")
DAMAGED = "damaged"
#: The beginning of the names of folders in which an entry is filled.
FILLING = ".filling-"
RECORD, FILES = "entry.json", "files"
SCHEMA = 1
#: How many files that are not as they were are named.
MOST_NAMED = 3
#: What renaming a folder to a name that is taken can fail with.
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)


class DamagedError(Exception):
    """An entry is not what it says; the words are how."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What an entry says: whose files it holds, and the digest of each.

    ``kept`` are the evidence's files that a finished cell still has besides, of tables only, with
    the digests they had when these tables were made; ``wall_s`` is how long the lab ran, of
    evidence only.
    """

    identity: Mapping[str, Any]
    sha256: Mapping[str, str]
    kept: Mapping[str, str] = field(default_factory=dict)
    wall_s: float = 0.0

    def text(self) -> str:
        """Return the one text that says this."""
        content = {
            "schema": SCHEMA, "identity": dict(self.identity), "sha256": dict(self.sha256),
            "kept": dict(self.kept), "wall_s": self.wall_s,
        }  # fmt: skip
        return json.dumps(content, indent=1, sort_keys=True) + "\n"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry's place, which need not be there."""

    root: Path
    kind: Kind
    key: str
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", self.root / self.kind / self.key[:2] / self.key)

    def is_there(self) -> bool:
        """Return whether there is anything at its place."""
        return os.path.lexists(self.folder)

    def record(self) -> Record:
        """Return what it says; raise :class:`DamagedError` if it is not as it was written."""
        try:
            text = plain_files.read_text(self.folder / RECORD)
            value = json.loads(text)
            found = Record(
                identity=value["identity"], sha256=value["sha256"], kept=value["kept"],
                wall_s=value["wall_s"],
            )  # fmt: skip
            sound = found.text() == text and identity.key(found.identity) == self.key
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedError(f"{RECORD}: {error}") from error
        if not sound:
            raise DamagedError(f"{RECORD}: not of an entry of this name")
        return found

    def lend(self, record: Record, folder: Path, names: Collection[str]) -> None:
        """Share these of its files with a folder, and check what came there.

        Raises:
            DamagedError: a file is missing or another one than it was, or there are others.
            OSError: they cannot be put there.
        """
        self._raise_if_others(record)
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # missing there, too: found out below
                share.share(self.folder / FILES / name, folder / name)
        _raise_if_changed(record, folder, names)

    def check(self, record: Record) -> None:
        """Read every byte of its own; raise as :meth:`lend` if it is not what it says."""
        self._raise_if_others(record)
        _raise_if_changed(record, self.folder / FILES, record.sha256)

    def _raise_if_others(self, record: Record) -> None:
        try:
            there = {name for name, _ in plain_files.files(self.folder / FILES)}
        except OSError as error:
            raise DamagedError(str(error).replace(f"{self.folder}/", "")) from error
        wrong = [f"{name}: missing" for name in sorted({*record.sha256} - there)]
        wrong += [f"{name}: not of this entry" for name in sorted(there - {*record.sha256})]
        _raise_if_any(wrong)

    def used(self) -> None:
        """Note that it was of use now; what has not been for longest is removed first."""
        with contextlib.suppress(OSError):  # another user's, or on a disk that is read only
            os.utime(self.folder / RECORD)

    def set_aside(self) -> Path | None:
        """Move it where nothing is looked for; return that place, None if it cannot be moved."""
        aside = self.root / DAMAGED
        with contextlib.suppress(OSError):
            self._make(aside)
            for number in range(1, 1000):
                place = aside / f"{self.kind}-{self.key[:16]}-{number}"
                if os.path.lexists(place):
                    continue
                with contextlib.suppress(FileExistsError):
                    return self.folder.rename(place)
        return None

    def keep(self, filled: Path, record: Record) -> bool:
        """Take a folder's files for its own, unless it is there; return whether it was not.

        ``filled`` has the files, and is on the store's file system. Raises ``OSError``.
        """
        plain_files.write(filled / RECORD, record.text().encode(), unlocked=True)
        mode = self._mode()
        (filled / RECORD).chmod(mode & 0o666)  # whose use of it is noted there
        for place, _, _ in os.walk(filled):
            Path(place).chmod(mode)
        self._make(self.folder.parent.parent)
        self._make(self.folder.parent)
        try:
            filled.rename(self.folder)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            return False  # another process was first
        return True

    def _mode(self) -> int:
        """Return the mode of the store's folder: what its owner lets others do, they may below."""
        return self.root.stat().st_mode & 0o2777

    def _make(self, folder: Path) -> None:
        """Make a folder of the store, unless it is there."""
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(self._mode())


def _raise_if_changed(record: Record, place: Path, names: Collection[str]) -> None:
    """Raise :class:`DamagedError` if these files at a place are not those of the record."""
    wrong = []
    for name in names:
        try:
            found = plain_files.sha256(place / name)
        except FileNotFoundError:
            wrong.append(f"{name}: missing")
            continue
        if found != record.sha256[name]:
            wrong.append(f"{name}: {record.sha256[name][:12]} before, {found[:12]} now")
    _raise_if_any(wrong)


def _raise_if_any(wrong: Sequence[str]) -> None:
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise DamagedError("; ".join(wrong[:MOST_NAMED]) + more)


def filling(root: Path) -> contextlib.AbstractContextManager[Path]:
    """Return a block with a new folder on the store's file system; raises ``OSError``."""
    root.mkdir(parents=True, exist_ok=True)
    return scratch.scratch(root, FILLING)
