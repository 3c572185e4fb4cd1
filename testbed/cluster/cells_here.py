"""What is done here with a cell of a cluster: before it is given away, and once it is back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from model import plain_files, run_folder
from model.cell import cell_json
from model.errors import MachineError, RunError
from testbed.campaign import attempts
from testbed.campaign.run_cell import Executed, from_store
from testbed.campaign.run_cells import Task
from testbed.cluster import parcel
from testbed.cluster.address import Address
from testbed.cluster.artefacts import Artefacts
from testbed.cluster.parcel import Parcel, Returned
from testbed.machine import trees
from testbed.store.cells import Shelf

if TYPE_CHECKING:
    from distributed import Future


class GoneError(RunError):
    """There is no scheduler any more."""


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


def arrived(future: Future, task: Task, where: Address) -> Executed:
    """Take a cell's folder over; raise why it has not come."""
    from distributed import CancelledError as TakenBackError
    from distributed.scheduler import KilledWorker

    try:
        returned: Returned = future.result()
    except KilledWorker as error:
        raise lost(task, str(error)) from error
    except TakenBackError as error:
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


def lost(task: Task, got: str) -> MachineError:
    """Return the error that workers were lost with a cell."""
    return MachineError(
        "the workers that ran it were lost", where=f"cell {task.planned.id}", got=got[:300],
        hint="they may be short of memory",
    )  # fmt: skip


def gone(where: Address) -> GoneError:
    """Return the error that there is no scheduler any more."""
    return GoneError(
        "the scheduler went away", where=str(where),
        hint="finished cells are kept; start it again, then its workers, then groundtruth resume",
    )  # fmt: skip
