"""What goes to a worker and what comes back: one cell, and the folder it leaves.

Invariant: a worker's folder is what this machine's would be, or is not taken: it has the same code
and the same lab, by their digests, and each file that arrives has the digest that the worker's
``DONE`` says.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from model import plain_files, run_folder
from model.cell import Cell, cell_json
from model.errors import GroundtruthError, MachineError
from testbed.bundles import archive
from testbed.campaign import digests
from testbed.campaign.run_cells import Task
from testbed.cluster import artefacts
from testbed.cluster.artefacts import Artefacts, Kept
from testbed.labs.contract.lab import Lab
from testbed.machine import cache, scratch, trees
from testbed.store import elsewhere, identity
from testbed.store.cells import Shelf
from testbed.store.entries import Record

#: The folder in an archive; in it the cell as it ended, and what a store of cells has besides.
TOP, ENDED, BESIDES = "cell", "ended", "besides"


@dataclass(frozen=True, kw_only=True)
class Code:
    """The code outside labs, by what of it decides a cell's bytes.

    ``parses`` is of ``python`` too, which is here only to be named.
    """

    starts: str
    parses: str
    python: str = field(default="", compare=False)


def own_code(lab_name: str) -> Code:
    """Return the code that this machine has, for cells of a lab of this name."""
    return Code(
        starts=identity.starts_digest(lab_name), parses=identity.parses_digest(),
        python=platform.python_version(),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a worker must have for some cells: the code, and the lab of one of its kernels."""

    code: Code
    lab: Lab
    cache: Path
    described: Mapping[str, str]


def needs(tasks: Iterable[Task]) -> tuple[Need, ...]:
    """Return what workers must have for these cells, each once."""
    found: dict[tuple[tuple[str, str], ...], Need] = {}
    codes: dict[str, Code] = {}
    for task in tasks:
        described, name = task.planned.cell.lab, task.lab.properties.name
        if name not in codes:
            codes[name] = own_code(name)
        found.setdefault(
            tuple(sorted(described.items())),
            Need(code=codes[name], lab=task.lab, cache=cache.root(), described=described),
        )
    return tuple(found.values())


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """A cell for a worker. ``cache`` is where the lab's parts are on the machine it comes from.

    ``is_kept`` if the store there takes the cell, and so needs what the lab left as it left it.
    ``through`` is where its folder is put, if not into the answer.
    """

    id: str
    cell: Cell
    lab: Lab
    cache: Path
    movement: bytes | None = None
    is_kept: bool = False
    through: Artefacts | None = None


@dataclass(frozen=True, kw_only=True)
class Returned:
    """What a worker made of a cell: its folder as an archive, and why it is not finished if so.

    That is ``packed``, or ``elsewhere``, or both are empty: there is none. ``worker`` names the
    machine, ``address`` is dask's. ``unfit`` is why it would fail all others as fast, such as that
    its disk is full, where the cell is not to blame. ``evidence`` is what its store says of what
    the lab left, where that is asked for.
    """

    worker: str
    packed: bytes = b""
    elsewhere: Kept | None = None
    address: str = ""
    unfit: str = ""
    error: GroundtruthError | OSError | None = None
    from_store: bool = False
    said: tuple[str, ...] = field(default=())
    evidence: Record | None = None


def pack(folder: Path, besides: Path | None = None) -> bytes:
    """Return a cell's plain files, and those a store has besides, as an archive; empty if none."""
    return b"".join(packed(folder, besides))


def packed(folder: Path, besides: Path | None = None) -> Iterator[bytes]:
    """Yield the pieces of what :func:`pack` returns."""
    both = {ENDED: folder} if besides is None else {ENDED: folder, BESIDES: besides}
    entries = [
        archive.entry_of(f"{where}/{name}", path)
        for where, one in both.items()
        for name, path in plain_files.files(one)
    ]
    if entries:
        yield from archive.pieces(entries, TOP)


def parcel(
    run: Path, cell_id: str, cell: Cell, lab: Lab, *, is_kept: bool = False,
    through: Artefacts | None = None,
) -> Parcel:  # fmt: skip
    """Return what a worker needs for a cell of a run.

    Raises:
        OSError: the movement that its nodes follow cannot be read.
    """
    sha256 = cell.ad_hoc.mobility.movement_sha256 if cell.ad_hoc else ""
    movement = run_folder.kept_movement(run, sha256).read_bytes() if sha256 else None
    return Parcel(id=cell_id, cell=cell, lab=lab, cache=cache.root(), movement=movement,
                  is_kept=is_kept, through=through)  # fmt: skip


def take_over(
    returned: Returned, run: Path, cell_id: str, cell: Cell, shelf: Shelf | None = None
) -> None:
    """Put a cell's folder where it belongs in a run, whole or not at all; raise what went wrong.

    What a cell that failed left is put there as well. ``shelf`` is the cell's in the store here,
    which takes it where the worker sent what that needs; what it cannot is said there.

    Raises:
        MachineError: what arrived is not what the worker finished.
        GroundtruthError: the cell failed.
        OSError: the folder cannot be written.
    """
    place = run_folder.cell_folder(run, cell_id)
    place.parent.mkdir(parents=True, exist_ok=True)
    with scratch.scratch(run, run_folder.ARRIVING) as room:
        if returned.packed or returned.elsewhere:
            _fetch(returned, room / "archive")
            (room / "into").mkdir()
            try:
                arrived = archive.unpack(room / "archive", room / "into")
                finished = {} if returned.error else _checked(arrived / ENDED, cell)
            except GroundtruthError as error:
                raise _unusable(returned, str(error)) from error
            if shelf and returned.evidence and finished:
                elsewhere.keep(
                    shelf, returned.evidence, arrived / ENDED, arrived / BESIDES, finished
                )
            trees.remove(place)
            (arrived / ENDED).rename(place)
        elif returned.error is None:
            raise _unusable(returned, "nothing")
    if returned.error is not None:
        raise returned.error


def _fetch(returned: Returned, into: Path) -> None:
    if returned.elsewhere is None:
        into.write_bytes(returned.packed)
        return
    try:
        artefacts.get(returned.elsewhere, into)
    except GroundtruthError as error:
        raise _unusable(returned, str(error)) from error
    finally:
        artefacts.remove(returned.elsewhere)


def _checked(folder: Path, cell: Cell) -> dict[str, str]:
    """Return the digests of a finished cell's files; raise if they are not what its DONE says."""
    found = digests.of_cell(folder)
    differences = digests.differences(digests.read_done(folder), found)
    if (folder / run_folder.CELL).read_text() != cell_json(cell):
        differences.append(f"{run_folder.CELL}: another cell's")
    if differences:
        raise MachineError("files are not as finished", got="; ".join(differences[:3]))
    return found


def _unusable(returned: Returned, got: str) -> MachineError:
    return MachineError("what a worker sent cannot be used", where=returned.worker, got=got)


def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Return how two sets of digests differ, in words; empty if they do not."""
    names = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    return ", ".join(f"{name}: {theirs.get(name, 'none')[:60]}" for name in names)
