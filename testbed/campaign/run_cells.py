"""Run all cells of one or several plans on all cores, keeping finished ones whatever happens.

Invariants: a finished cell is never run twice; a failed one stops neither the others nor leaves a
folder that looks finished; after an interrupt no lab process is left.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from model import run_folder
from model.errors import RunError
from model.words import how_many
from testbed.campaign import attempts, real_time
from testbed.campaign.run_cell import Executed, execute
from testbed.labs.contract.lab import Lab
from testbed.machine import room, workers
from testbed.machine.command_line import groundtruth
from testbed.planning.plan import PlannedCell, virtual_s
from testbed.store.cells import Store, opened


@dataclass(kw_only=True)
class Progress:
    """How far a campaign is; ``virtual_s`` counts finished cells of this campaign only."""

    total_cells: int
    done_cells: int = 0
    kept_cells: int = 0
    failed_cells: int = 0
    #: Of those that are done, how many came from the store; no virtual time is counted for them.
    stored_cells: int = 0
    #: Of those still to come, how many are tried again.
    retried_cells: int = 0
    #: What went wrong on the way and failed no cell, each once.
    said: tuple[str, ...] = ()
    #: Why the first that failed did; empty while none has. All are told at the end.
    first_failure: str = ""
    total_virtual_s: float = 0.0
    done_virtual_s: float = 0.0
    #: How many run side by side, where that had to be fewer than were asked for.
    at_once: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a campaign left: how many cells are finished, and why the others are not."""

    finished_cells: int
    failures: tuple[tuple[str, str], ...]  # cell id, message
    #: How many of them have come from the store now.
    stored_cells: int = 0


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one run folder adds to a campaign: its cells, and the lab they were planned for."""

    run: Path
    cells: Sequence[PlannedCell]
    lab: Lab


@dataclass(frozen=True, kw_only=True)
class Task:
    """One cell that is to run: of which run, in which lab, and the store it may come from."""

    run: Path
    lab: Lab
    planned: PlannedCell
    store: Store | None = None


class Elsewhere(Protocol):
    """Other machines that cells can run on."""

    def each(
        self, todo: Sequence[Task], ended: Callable[[Task, Executed | Exception], None]
    ) -> None:
        """Run cells there; ``ended`` is called with each that ended, and how."""


def _execute(task: Task, late: Sequence[str] = ()) -> Executed:
    folder = run_folder.cell_folder(task.run, task.planned.id)
    attempts.set_aside(task.run, task.planned.id)
    return execute(task.planned.cell, folder, task.lab, workers.CANCELLED, late, task.store)


def _execute_in_time(task: Task) -> Executed:
    return real_time.in_time(lambda late: _execute(task, late))


def unfinished(run: Path, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Return the cells without a DONE file, in order."""
    return [
        planned
        for planned in cells
        if not run_folder.is_done(run_folder.cell_folder(run, planned.id))
    ]


def run_cells(
    run: Path,
    cells: Sequence[PlannedCell],
    lab: Lab,
    *,
    jobs: int,
    report: Callable[[Progress], None],
) -> Outcome:
    """Run what is not finished yet of one run folder; see :func:`run_parts`."""
    (outcome,) = run_parts([Part(run=run, cells=cells, lab=lab)], jobs=jobs, report=report)
    return outcome


def run_parts(
    parts: Sequence[Part],
    *,
    jobs: int,
    report: Callable[[Progress], None],
    use_store: bool = False,
    elsewhere: Elsewhere | None = None,
    retries: int = attempts.RETRIES,
) -> tuple[Outcome, ...]:
    """Run what is not finished yet in ``jobs`` processes; ``report`` is called on every change.

    All parts are one queue: each keeps its own order, and they advance evenly, so that no core
    waits for another study's end. Returns one outcome per part. An interrupt (whatever exception
    it is) leaves only after all labs have been stopped; so does a disk that is full, of which each
    cell after this one would fail. With ``use_store`` a cell may come from the
    store of finished cells, if there is one; who repeats cells to compare them must not use it.
    ``elsewhere`` is where they run if not here, which then decides how many at once. What fails
    for the machine's sake is tried again ``retries`` times.
    """
    todo = _queue(parts)
    labs = {part.lab.properties.name: part.lab for part in parts if todo}
    if use_store:
        store = opened({name: lab.properties for name, lab in labs.items()})
        todo = [dataclasses.replace(task, store=store) for task in todo]
    in_real_time = any(lab.properties.clock == "real" for lab in labs.values())
    if in_real_time:
        real_time.check_jobs((task.planned.cell for task in todo), jobs)
    kept_cells = sum(len(part.cells) for part in parts) - len(todo)
    tally = _Tally(todo, kept_cells, report, retries)
    with contextlib.ExitStack() as prepared:
        for lab in labs.values():
            prepared.enter_context(lab.prepared())
        # What failed for the machine's sake comes last: the machine may be well again by then.
        while todo:
            if elsewhere is not None:
                elsewhere.each(todo, tally.ended)
            elif in_real_time:
                _run_in_real_time(todo, tally, jobs)
            else:
                workers.each(todo, _execute, name=_name, jobs=jobs, ended=tally.ended)
            todo = tally.tried_again()
    return tuple(tally.outcome(part) for part in parts)


def _run_in_real_time(todo: Sequence[Task], tally: _Tally, jobs: int) -> None:
    calibrating = [task for task in todo if task.planned.cell.purpose == "calibrate"]
    measuring = [task for task in todo if task.planned.cell.purpose != "calibrate"]
    real_time.run(
        calibrating, measuring, _execute_in_time, _execute, name=_name, jobs=jobs,
        ended=tally.ended, at_once=tally.at_once,
    )  # fmt: skip


def _name(task: Task) -> str:
    return f"cell {task.planned.id}"


class _Tally:
    """Counts what becomes of cells, and reports every change."""

    def __init__(
        self,
        todo: Sequence[Task],
        kept_cells: int,
        report: Callable[[Progress], None],
        retries: int,
    ) -> None:
        self._report, self._retries = report, retries
        self._failed: dict[tuple[Path, str], str] = {}
        self._stored: collections.Counter[Path] = collections.Counter()
        self._again: list[Task] = []
        self._attempt = 1
        self._progress = Progress(
            total_cells=len(todo),
            kept_cells=kept_cells,
            total_virtual_s=sum(virtual_s(task.planned.cell) for task in todo),
        )
        report(self._progress)

    def ended(self, task: Task, how: Executed | Exception) -> None:
        """Count a cell that has finished, failed, or failed for the machine's sake.

        Raises:
            FullDiskError: it failed because a disk is full; it has not failed then, it is begun
                anew when the run goes on.
        """
        self._progress.retried_cells -= self._attempt > 1
        folder = run_folder.cell_folder(task.run, task.planned.id)
        if isinstance(how, Exception) and run_folder.is_done(folder):
            how = Executed()  # its process was killed before it could say so
        if not isinstance(how, Exception):
            self._done(task, how)
        elif full := room.full_disk(how, task.run, Path(tempfile.gettempdir())):
            raise full from how
        elif self._attempt <= self._retries and attempts.is_the_machines(how):
            attempts.record(folder, str(how))
            self._again.append(task)
            self._progress.retried_cells += 1
            self._say(f"to be tried again: {how}")
        else:
            self._fail(task, how)
        self._report(self._progress)

    def tried_again(self) -> list[Task]:
        """Return the cells that are tried once more, and begin to count that."""
        self._attempt += 1
        again, self._again = self._again, []
        return again

    def _fail(self, task: Task, error: Exception) -> None:
        why = str(error)
        if self._attempt > 1:
            why += f" (tried {self._attempt} times: {run_folder.FAILED}/{task.planned.id})"
        attempts.record(run_folder.cell_folder(task.run, task.planned.id), why)
        self._progress.failed_cells += 1
        self._failed[task.run, task.planned.id] = why
        self._progress.first_failure = self._progress.first_failure or why

    def _say(self, *words: str) -> None:
        self._progress.said = tuple(dict.fromkeys((*self._progress.said, *words)))

    def _done(self, task: Task, how: Executed) -> None:
        self._progress.done_cells += 1
        cell_virtual_s = virtual_s(task.planned.cell)
        if how.from_store:
            self._stored[task.run] += 1
            self._progress.stored_cells += 1
            self._progress.total_virtual_s -= cell_virtual_s
        else:
            self._progress.done_virtual_s += cell_virtual_s
        self._say(*how.said)

    def at_once(self, number: int) -> None:
        """Tell how many cells run side by side."""
        self._progress.at_once = number
        self._report(self._progress)

    def outcome(self, part: Part) -> Outcome:
        """Return what a part came to; failures in the plan's order, whichever came first."""
        ids = [planned.id for planned in part.cells]
        failed = {
            id_: self._failed[part.run, id_] for id_ in ids if (part.run, id_) in self._failed
        }
        return Outcome(
            finished_cells=len(part.cells) - len(unfinished(part.run, part.cells)),
            failures=tuple(failed.items()),
            stored_cells=self._stored[part.run],
        )


def _queue(parts: Sequence[Part]) -> list[Task]:
    """Return what is not finished, merged so that of every part the same share has its turn."""
    placed = [
        ((index + 1) / len(todo), Task(run=part.run, lab=part.lab, planned=planned))
        for part in parts
        for todo in [unfinished(part.run, part.cells)]
        for index, planned in enumerate(todo)
    ]
    return [task for _, task in sorted(placed, key=lambda entry: entry[0])]


def raise_if_failed(outcome: Outcome, run: Path) -> None:
    """Raise one :class:`RunError` that names the first failures and how to go on."""
    if not outcome.failures:
        return
    shown = "\n".join(f"  {message}" for _, message in outcome.failures[:3])
    more = len(outcome.failures) - 3
    raise RunError(
        f"{how_many(len(outcome.failures), 'cell')} failed:\n{shown}"
        + (f"\n  and {more} more" * (more > 0)),
        hint=f"{how_many(outcome.finished_cells, 'finished cell')} kept; "
        "go on with: " + groundtruth("resume", run),
    )
