"""The store of finished cells as a campaign uses it: looked into before a cell runs, filled after.

Invariants: a cell that comes from here has the bytes it would have if it had run, each of them read
and compared with its digest; what is not as it was is set aside, named and never used; nothing that
goes wrong here fails a cell, which then runs.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from model import plain_files, run_folder
from model.cell import Cell
from testbed.labs.contract.lab import Properties
from testbed.machine import cache, homes, trees
from testbed.machine.room import is_full
from testbed.store import identity, share
from testbed.store.entries import FILES, DamagedError, Entry, Record, filling

#: Where the store is: a folder, or that there is none.
VARIABLE, OFF = "GROUNDTRUTH_STORE", "off"
#: The store's folder in the cache.
FOLDER = "store"


@dataclass(frozen=True, kw_only=True)
class Store:
    """A folder of entries, and the code of now, by which cells are looked for. Can be pickled."""

    root: Path
    parses: str
    starts: Mapping[str, str]

    def shelf(self, cell: Cell, lab: Properties) -> Shelf:
        """Return the place of a cell that this lab runs."""
        evidence = identity.of_evidence(cell, self.starts[lab.name])
        of_evidence = identity.key(evidence)
        tables = identity.of_tables(of_evidence, self.parses, lab.tolerances)
        return Shelf(
            evidence=Entry(root=self.root, kind="evidence", key=of_evidence),
            tables=Entry(root=self.root, kind="tables", key=identity.key(tables)),
            identities=(evidence, tables),
        )


def place() -> Path | None:
    """Return the store's folder, in the cache unless ``GROUNDTRUTH_STORE`` says so; None: off."""
    given = os.environ.get(VARIABLE, "")
    if given.lower() == OFF:
        return None
    return homes.expanded(given, VARIABLE).absolute() if given else cache.root() / FOLDER


def opened(labs: Mapping[str, Properties]) -> Store | None:
    """Return the store for cells of these labs; None if there is none, or it is of no use to them.

    Only a cell that leaves the same bytes each time is told by what goes into it.
    """
    root = place()
    return None if root is None else opened_at(root, labs)


def opened_at(root: Path, labs: Mapping[str, Properties]) -> Store | None:
    """Return the store of this folder; see :func:`opened`."""
    names = [name for name, lab in labs.items() if lab.repeatable]
    if not names:
        return None
    starts = {name: identity.starts_digest(name) for name in names}
    return Store(root=root, parses=_parses(), starts=starts)


#: The code that is loaded is that of the start; nobody would notice if a file of it changed later.
_parses = functools.cache(identity.parses_digest)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What came from the store: all of a cell, or its evidence only, which is to be parsed.

    ``sha256`` are the digests of all that came; ``wall_s`` is how long the lab ran once.
    """

    whole: bool
    sha256: Mapping[str, str]
    wall_s: float
    entry: str


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """The place of one cell: its evidence, and what was made of it. ``said`` is what went wrong."""

    evidence: Entry
    tables: Entry
    identities: tuple[Mapping[str, object], Mapping[str, object]]
    said: list[str] = field(default_factory=list)

    def take(self, folder: Path) -> Taken | None:
        """Put what is here of the cell into an empty folder; None if there is nothing."""
        if not self.evidence.is_there():
            return None
        try:
            if self.tables.is_there() and (found := self._whole(folder)):
                return found
            return self._only_evidence(folder)
        except OSError as error:
            self.cannot("be taken from", error)
            _emptied(folder)
            return None

    def _whole(self, folder: Path) -> Taken | None:
        try:
            evidence = self.evidence.record()
        except DamagedError:
            return None  # told when it is asked for its own sake
        try:
            tables = self.tables.record()
            for name, digest in tables.kept.items():
                if evidence.sha256.get(name) != digest or name in tables.sha256:
                    raise DamagedError(f"{name}: not of its evidence")
            self.tables.lend(tables, folder, tables.sha256)
        except DamagedError as damage:
            self._set_aside(self.tables, damage, folder)
            return None
        try:
            self.evidence.lend(evidence, folder, tables.kept)
        except DamagedError:
            _emptied(folder)
            return None
        self.evidence.used()
        self.tables.used()
        return self._taken(evidence, {**tables.kept, **tables.sha256}, whole=True)

    def _only_evidence(self, folder: Path) -> Taken | None:
        try:
            evidence = self.evidence.record()
            self.evidence.lend(evidence, folder, evidence.sha256)
        except DamagedError as damage:
            self._set_aside(self.evidence, damage, folder)
            return None
        self.evidence.used()
        return self._taken(evidence, evidence.sha256, whole=False)

    def _taken(self, evidence: Record, sha256: Mapping[str, str], *, whole: bool) -> Taken:
        return Taken(whole=whole, sha256=sha256, wall_s=evidence.wall_s, entry=self.evidence.key)

    def _set_aside(self, entry: Entry, damage: DamagedError, folder: Path) -> None:
        _emptied(folder)
        if not entry.is_there():  # removed meanwhile, by whoever makes room
            return
        place = entry.set_aside()
        where = f"moved to {place}" if place else "it cannot be moved, and is not used"
        self.said.append(
            f"the store's {entry.kind} {entry.key[:16]} are not what they were: {damage}; {where}"
        )

    def cannot(self, what: str, error: OSError) -> None:
        """Say why cells cannot, in words that are the same for all cells."""
        said = f"cells cannot {what} the store, {self.evidence.root}: {error.strerror or error}"
        if is_full(error):
            said += "; groundtruth gc --older DAYS makes room there"
        self.said.append(said)

    def filled(self, folder: Path) -> contextlib.AbstractContextManager[Filling]:
        """Take note of what a lab left, so that it is kept if the cell is finished in the block."""
        return self.filled_with(_compared(folder))

    @contextlib.contextmanager
    def filled_with(self, left: Iterable[tuple[str, Path]]) -> Iterator[Filling]:
        """Take note of files that a lab left, each with its name in a cell; as :meth:`filled`."""
        held = contextlib.ExitStack()
        room: Path | None = None
        try:
            room = held.enter_context(filling(self.evidence.root))
            for name, path in left:
                _shared(path, room / "evidence" / FILES / name)
        except OSError as error:
            self.cannot("be kept in", error)
            room = None
        try:
            yield Filling(shelf=self, room=room)
        finally:
            with contextlib.suppress(OSError):  # what stays is removed by whoever comes next
                held.close()


@dataclass(frozen=True, kw_only=True)
class Filling:
    """Evidence beside its place in the store; ``room`` is None if nothing can be kept."""

    shelf: Shelf
    room: Path | None

    def keep(self, folder: Path, finished: Mapping[str, str], wall_s: float) -> None:
        """Keep the evidence, and what was made of it in a folder that has just been finished."""
        room = self.room
        if room is None:
            return
        try:
            left = _digests(room / "evidence" / FILES, folder, finished)
            kept = {name: digest for name, digest in left.items() if finished.get(name) == digest}
            own = {*kept, run_folder.CELL}
            made = {name: digest for name, digest in finished.items() if name not in own}
            (room / "tables" / FILES).mkdir(parents=True)
            for name in made:
                _shared(folder / name, room / "tables" / FILES / name)
            of_evidence, of_tables = self.shelf.identities
            record = Record(identity=of_evidence, sha256=left, wall_s=wall_s)
            self._keep(room, self.shelf.evidence, record)
            record = Record(identity=of_tables, sha256=made, kept=kept)
            self._keep(room, self.shelf.tables, record)
        except OSError as error:
            self.shelf.cannot("be kept in", error)

    def _keep(self, room: Path, entry: Entry, record: Record) -> None:
        if entry.keep(room / entry.kind, record):
            return
        with contextlib.suppress(DamagedError):
            if entry.record().sha256 != record.sha256:
                self.shelf.said.append(
                    f"this cell left other {entry.kind} than another run of it, which the store "
                    f"has as {entry.key[:16]}; groundtruth verify tells which files differ"
                )


def _compared(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield what of a cell is kept: all that another run of it must leave the same."""
    own = {*run_folder.NOT_COMPARED, run_folder.CELL}
    return ((name, path) for name, path in plain_files.files(folder) if name not in own)


def _digests(kept: Path, folder: Path, finished: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of files that are kept, by name, reading only those not just read.

    ``finished`` was read of the cell's folder a moment ago by this process. Where both names are
    still of one file, which nobody may write any more, that digest is of the bytes that are kept;
    a clone or a copy, and a file in whose place there is another now, is read for itself.
    """
    return {
        name: finished[name]
        if name in finished and _is_one(path, folder / name)
        else plain_files.sha256(path)
        for name, path in sorted(plain_files.files(kept))
    }


def _is_one(path: Path, other: Path) -> bool:
    """Return whether two names are of one file; a link to it is another."""
    try:
        return os.path.samestat(path.lstat(), other.lstat())
    except FileNotFoundError:
        return False


def _shared(path: Path, place: Path) -> None:
    share.share(path, place)
    place.chmod(share.MODE)


def _emptied(folder: Path) -> None:
    trees.remove(folder)
    folder.mkdir(parents=True)
