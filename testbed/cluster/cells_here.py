"""What is done here with a cell of a cluster: before it is given away, and once it is back."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.cell import cell_json
from model.errors import MachineError, RunError
from testbed.campaign import attempts
from testbed.campaign.run_cell import Executed, from_store
from testbed.campaign.run_cells import Task
from testbed.cluster import parcel
from testbed.cluster.address import Address, ClusterError
from testbed.cluster.artefacts import Artefacts
from testbed.cluster.parcel import Parcel, Returned
from testbed.machine import trees
from testbed.store.cells import Shelf

if TYPE_CHECKING:
    from distributed import Future


#: How often who waits for a cell looks whether anybody does; how long what is finished may take to
#: arrive from then on.
LOOK_S = 0.25
GRACE_S = 10.0
#: How soon the client knows that there is no scheduler any more, once a cell could not be fetched.
KNOWN_WITHIN_S = 5.0


class GoneError(ClusterError):
    """There is no scheduler any more."""


class LostError(MachineError):
    """Workers were lost with a cell."""


class UnfitError(RunError):
    """A worker, by its address, can run no cells."""

    worker = ""


def sought(task: Task, through: Artefacts | None) -> Executed | Parcel:
    """Finish a cell that the store here has; else return what a worker needs for it."""
    planned = task.planned
    attempts.set_aside(task.run, planned.id)
    folder = run_folder.cell_folder(task.run, planned.id)
    if there := from_store(planned.cell, folder, task.lab, task.store):
        return there
    trees.remove(folder)  # begun for the store: until a worker has it, it is left
    return parcel.parcel(
        task.run, planned.id, planned.cell, task.lab, is_kept=_shelf(task) is not None,
        through=through,
    )  # fmt: skip


def given(task: Task) -> None:
    """Note in a cell's folder that a worker has it now: who asks how far a run is looks there."""
    folder = run_folder.cell_folder(task.run, task.planned.id)
    with contextlib.suppress(OSError):  # the folder that comes takes its place
        plain_files.write_text(folder / run_folder.CELL, cell_json(task.planned.cell))


def _shelf(task: Task) -> Shelf | None:
    """Return a cell's place in the store here, if there is one and it is of use."""
    lab = task.lab.properties
    return task.store.shelf(task.planned.cell, lab) if task.store and lab.repeatable else None


def arrived(future: Future, task: Task, where: Address, ends: threading.Event) -> Executed:
    """Take a cell's folder over; raise why it has not come, soon after ``ends`` in any case."""
    from distributed import CancelledError as TakenBackError
    from distributed.scheduler import KilledWorker

    try:
        returned = _fetched(future, ends)
    except KilledWorker as error:
        raise lost(task, str(error)) from error
    except (TakenBackError, OSError) as error:
        if future.status == "error":  # of the worker, where it could not even return it
            raise
        if isinstance(error, OSError) and _is_there(future):  # one connection of several
            raise lost(task, f"it cannot be fetched: {error}") from error
        raise gone(where) from error
    finally:
        future.release()
    if returned.unfit:
        unfit = UnfitError(f"{returned.worker} cannot run cells: {returned.unfit}")
        unfit.worker = returned.address
        raise unfit
    shelf = _shelf(task)
    parcel.take_over(returned, task.run, task.planned.id, task.planned.cell, shelf)
    said = (*returned.said, *(shelf.said if shelf else ()))
    return Executed(from_store=returned.from_store, said=said)


def _is_there(future: Future) -> bool:
    """Return whether there still is a scheduler, after the moment in which that becomes known."""
    deadline_s = time.monotonic() + KNOWN_WITHIN_S
    while future.client.status == "running" and time.monotonic() < deadline_s:
        time.sleep(LOOK_S)
    return bool(future.client.status == "running")


def _fetched(future: Future, ends: threading.Event) -> Returned:
    """Return what comes back with a cell.

    Waited for piece by piece, as a scheduler that is there and does not answer holds whoever waits
    for dask's own ``result``, and the command's end, for ever.

    Raises:
        CancelledError: the cell was taken back, or nobody waits any more.
        OSError: the scheduler went away.
        Exception: what the task raised.
    """
    client, left_s = future.client, GRACE_S
    coming: concurrent.futures.Future[list[Returned]] = asyncio.run_coroutine_threadsafe(
        client.gather([future], asynchronous=True), client.loop.asyncio_loop
    )
    while not coming.done():
        concurrent.futures.wait([coming], LOOK_S)
        left_s -= LOOK_S if ends.is_set() else 0
        if ends.is_set() and (left_s < 0 or not future.done()):
            coming.cancel()
    (returned,) = coming.result()
    return returned


def lost(task: Task, got: str) -> LostError:
    """Return the error that workers were lost with a cell."""
    return LostError(
        "the workers that ran it were lost", where=f"cell {task.planned.id}", got=got[:300],
        hint="they may be short of memory",
    )  # fmt: skip


def gone(where: Address) -> GoneError:
    """Return the error that there is no scheduler any more."""
    return GoneError(
        "the scheduler went away", where=str(where),
        hint="finished cells are kept; start it again, then its workers, then groundtruth resume",
    )  # fmt: skip
