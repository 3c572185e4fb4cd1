"""What a worker does with a cell: run it as a campaign on this machine would, and send the folder.

Invariants: nothing of a cell stays here but what this machine's own store keeps; the cell ends soon
after nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import os
import socket
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from model import plain_files, run_folder
from model.errors import GroundtruthError, UnsupportedError
from testbed.campaign import digests
from testbed.campaign.run_cell import Executed, execute
from testbed.cluster import parcel
from testbed.cluster.artefacts import Artefacts
from testbed.cluster.parcel import Code, Need, Parcel, Returned, differing
from testbed.cluster.waiting import wanted
from testbed.labs.confinement import host_tools, preflight
from testbed.machine import cache, room, scratch
from testbed.store import cells as store
from testbed.store import elsewhere
from testbed.store.cells import Shelf

#: The core that a worker's cells are bound to.
CORE_VARIABLE = "GROUNDTRUTH_WORKER_CORE"
PREFIX = "groundtruth-cell-"
Given = TypeVar("Given")


def work(given: Parcel) -> Returned:
    """Run a cell; called by dask in a thread of a worker."""
    from distributed.worker import get_worker  # when needed: it takes a second to load

    _bind()
    here, place = socket.gethostname(), Path(tempfile.gettempdir())
    left: dict[str, Any] = {}
    try:
        with scratch.scratch(place, PREFIX) as run:
            folder = run_folder.cell_folder(run, given.id)
            try:
                return _finished(given, run, folder, here)
            except (GroundtruthError, OSError):
                left = _left(given, run, folder)
                raise
    except (GroundtruthError, OSError) as error:  # also where no folder could be made for it
        return Returned(
            worker=here, address=get_worker().address, error=error,
            unfit=why_unfit(error, place), **left,
        )  # fmt: skip


def _finished(given: Parcel, run: Path, folder: Path, here: str) -> Returned:
    done, shelf = _execute(given, run, folder)
    besides = run / parcel.BESIDES
    besides.mkdir()
    evidence = elsewhere.besides(shelf, besides, digests.read_done(folder)) if shelf else None
    return Returned(
        worker=here, from_store=done.from_store, said=tuple(f"{here}: {one}" for one in done.said),
        evidence=evidence, **_sent(given, run, folder, besides if evidence else None),
    )  # fmt: skip


def _sent(given: Parcel, run: Path, folder: Path, besides: Path | None = None) -> dict[str, Any]:
    """Return how a cell's folder comes to the campaign: in the answer, or by where it was put."""
    if given.through is None:
        return {"packed": parcel.pack(folder, besides)}
    packed = run / "archive"
    plain_files.write_pieces(packed, parcel.packed(folder, besides))
    return {"elsewhere": given.through.put(given.id, packed)} if packed.stat().st_size else {}


def _execute(given: Parcel, run: Path, folder: Path) -> tuple[Executed, Shelf | None]:
    """Run a cell; return how that went, and its place in a store if what that has is asked for."""
    lab = moved(given.lab, given.cache, cache.root())
    if given.movement is not None and given.cell.ad_hoc:
        place = run_folder.kept_movement(run, given.cell.ad_hoc.mobility.movement_sha256)
        place.parent.mkdir(parents=True)
        place.write_bytes(given.movement)
    labs = {lab.properties.name: lab.properties}
    kept = store.opened(labs)
    if kept is None and given.is_kept:  # none here: one of this cell alone, for whoever asks
        kept = store.opened_at(run / store.FOLDER, labs)
    with wanted() as cancelled:
        done = execute(given.cell, folder, lab, cancelled, (), kept)
    return done, kept.shelf(given.cell, lab.properties) if kept and given.is_kept else None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a worker says when it is asked whether it can run cells.

    ``why`` it cannot, empty if it can or will be able to once it has the parts of the lab that it
    ``lacks``. ``cache`` names the folder where these are to be, the same for whoever shares it.
    """

    machine: str
    cache: str
    why: str = ""
    lacks: tuple[str, ...] = ()


async def examine(asked: Sequence[Need], through: Artefacts | None = None) -> Answer:
    """Return whether this worker can run cells that need this. Called by dask."""
    return await asyncio.to_thread(_examined, asked, through)


def _examined(asked: Sequence[Need], through: Artefacts | None) -> Answer:
    here, own = socket.gethostname(), cache.root()
    said = functools.partial(Answer, machine=here, cache=f"{here}:{own}")
    lacks: list[str] = []
    for need in asked:
        if need.code != (own_code := _own_code(need.lab.properties.name)):
            return said(why=f"{here} has other code: {_other(need.code, own_code)}")
        lab = moved(need.lab, need.cache, own)
        if missing := [one.name for one in lab.parts() if one.parent == own and not one.is_dir()]:
            lacks += missing
            continue
        try:
            lab.check_whole(thorough=False)
            found = dict(lab.describe(need.described["kernel"]))
        except (GroundtruthError, OSError) as error:
            return said(why=f"{here} has no such lab: {error}")
        if differ := differing(need.described, found):
            return said(why=f"{here} has another lab: {differ}")
    try:
        if host_tools.find_here(host_tools.BUBBLEWRAP):  # else the first cell fetches it
            preflight.check()  # as this process may: a unit of systemd takes more away than a login
        if through:
            through.check()
    except UnsupportedError as error:
        return said(why=f"{here}: {error}")
    return said(lacks=tuple(dict.fromkeys(lacks)))


_own_code = functools.cache(parcel.own_code)


def _other(wanted: Code, own: Code) -> str:
    """Return what differs; who asks may be of a version that does not say its Python."""
    if wanted.python and wanted.python != own.python:
        return f"Python {own.python}, wanted {wanted.python}, to the last digit"
    return "another version of Groundtruth or of its packages"


def why_unfit(error: BaseException, place: Path) -> str:
    """Return why other cells would fail here as this one did, empty if they need not.

    The disk that ``place`` is on is full, or this machine has not what a lab needs.
    """
    if isinstance(error, UnsupportedError):
        return str(error)
    if room.is_full(error) or room.has_little(place):
        return f"its disk is full: {error}"
    return ""


def _left(given: Parcel, run: Path, folder: Path) -> dict[str, Any]:
    """Return what a cell that failed left, as far as it can be sent."""
    with contextlib.suppress(GroundtruthError, OSError):
        return _sent(given, run, folder)
    return {}


def _bind() -> None:
    """Have a lab's processes take turns on one core; see :mod:`testbed.machine.workers`."""
    if core := os.environ.get(CORE_VARIABLE, ""):
        os.sched_setaffinity(0, {int(core)})


def moved(value: Given, old: Path, new: Path) -> Given:
    """Return a lab whose parts lie below another cache; what lies elsewhere stays."""
    if old == new:
        return value
    moved_value: Given = _moved(value, old, new)
    return moved_value


def _moved(value: Any, old: Path, new: Path) -> Any:
    if isinstance(value, Path):
        return new / value.relative_to(old) if value.is_relative_to(old) else value
    if isinstance(value, Mapping):
        return {name: _moved(one, old, new) for name, one in value.items()}
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(_moved(one, old, new) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            one.name: _moved(getattr(value, one.name), old, new)
            for one in dataclasses.fields(value)
            if one.init
        }
        return dataclasses.replace(value, **fields)
    return value
