"""What a worker does with a cell: run it as a campaign on this machine would, and send the folder.

Invariants: nothing of a cell stays here but what this machine's own store keeps; the cell ends soon
after nobody waits for it any more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from model import run_folder
from model.errors import GroundtruthError
from testbed.campaign import attempts, digests
from testbed.campaign.run_cell import Executed, execute
from testbed.cluster import parcel
from testbed.cluster.parcel import Need, Parcel, Returned, differing
from testbed.machine import cache, scratch
from testbed.store import cells as store
from testbed.store import elsewhere
from testbed.store.cells import Shelf

#: The core that a worker's cells are bound to.
CORE_VARIABLE = "GROUNDTRUTH_WORKER_CORE"
PREFIX = "groundtruth-cell-"
#: How often it is looked whether a cell is still wanted.
LOOK_S = 0.5
#: With less left, a lab that failed is taken to have failed for want of room.
LEAST_FREE_BYTES = 64 << 20
Given = TypeVar("Given")


def work(given: Parcel) -> Returned:
    """Run a cell; called by dask in a thread of a worker."""
    from distributed.worker import get_worker  # when needed: it takes a second to load

    _bind()
    here = socket.gethostname()
    place = Path(tempfile.gettempdir())
    with scratch.scratch(place, PREFIX) as run:
        folder = run_folder.cell_folder(run, given.id)
        try:
            return _finished(given, run, folder, here)
        except (GroundtruthError, OSError) as error:
            return Returned(
                worker=here, address=get_worker().address, packed=_left(folder), error=error,
                is_full=is_full(error, place),
            )  # fmt: skip


def _finished(given: Parcel, run: Path, folder: Path, here: str) -> Returned:
    done, shelf = _execute(given, run, folder)
    besides = run / parcel.BESIDES
    besides.mkdir()
    evidence = elsewhere.besides(shelf, besides, digests.read_done(folder)) if shelf else None
    return Returned(
        worker=here, packed=parcel.pack(folder, besides if evidence else None),
        from_store=done.from_store, said=tuple(f"{here}: {one}" for one in done.said),
        evidence=evidence,
    )  # fmt: skip


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
    with _wanted() as cancelled:
        done = execute(given.cell, folder, lab, cancelled, (), kept)
    return done, kept.shelf(given.cell, lab.properties) if kept and given.is_kept else None


def unfit(wanted: Sequence[Need]) -> str:
    """Return why this worker cannot run cells that need this; empty if it can. Called by dask."""
    here = socket.gethostname()
    for need in wanted:
        if need.code != _own_code(need.lab.properties.name):
            return f"{here} has other code: another version of Groundtruth, Python or packages"
        try:
            lab = moved(need.lab, need.cache, cache.root())
            lab.check_whole(thorough=False)
            found = dict(lab.describe(need.described["kernel"]))
        except (GroundtruthError, OSError) as error:
            return f"{here} has no such lab: {error}"
        if differ := differing(need.described, found):
            return f"{here} has another lab: {differ}"
    return ""


_own_code = functools.cache(parcel.own_code)


def is_full(error: BaseException, place: Path) -> bool:
    """Return whether something failed because the disk that ``place`` is on is full."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in attempts.FULL:
            return True
        cause = cause.__cause__
    return shutil.disk_usage(place).free < LEAST_FREE_BYTES


def _left(folder: Path) -> bytes:
    """Return what a cell that failed left, as far as it can be packed."""
    with contextlib.suppress(GroundtruthError, OSError):
        return parcel.pack(folder)
    return b""


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


@contextlib.contextmanager
def _wanted() -> Iterator[threading.Event]:
    """Give an event that is set once nobody waits for the task that runs in this thread."""
    from distributed.worker import get_worker, thread_state

    cancelled, ended = threading.Event(), threading.Event()
    worker, key = get_worker(), thread_state.key

    def look() -> None:
        while not ended.wait(LOOK_S):
            task = worker.state.tasks.get(key)
            if task is None or task.state in ("cancelled", "resumed"):
                cancelled.set()

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield cancelled
    finally:
        ended.set()
        watching.join()
