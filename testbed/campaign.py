"""Run all cells of a plan on the machine's cores, keeping finished ones whatever happens.

Invariants: a finished cell is never run twice; a failed one stops neither the others nor leaves a
folder that looks finished; after an interrupt no lab process is left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed import runfolder, workers
from testbed.errors import RunError
from testbed.execute import Lab, execute
from testbed.plan import PlannedCell, virtual_s


@dataclass(kw_only=True)
class Progress:
    """How far a campaign is; ``virtual_s`` counts finished cells of this campaign only."""

    total_cells: int
    done_cells: int = 0
    kept_cells: int = 0
    failed_cells: int = 0
    total_virtual_s: float = 0.0
    done_virtual_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a campaign left: how many cells are finished, and why the others are not."""

    finished_cells: int
    failures: tuple[tuple[str, str], ...]  # cell id, message


@dataclass
class _Work:
    run: Path
    lab: Lab
    cancelled: threading.Event
    failures: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, planned: PlannedCell) -> None:
        if self.cancelled.is_set():
            return
        execute(planned.cell, runfolder.cell_folder(self.run, planned.id), self.lab, self.cancelled)


def unfinished(run: Path, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    """Return the cells without a DONE file, in order."""
    return [
        planned
        for planned in cells
        if not (runfolder.cell_folder(run, planned.id) / runfolder.DONE).is_file()
    ]


def run_cells(
    run: Path,
    cells: Sequence[PlannedCell],
    lab: Lab,
    *,
    jobs: int,
    report: Callable[[Progress], None],
) -> Outcome:
    """Run what is not finished yet on ``jobs`` threads; ``report`` is called on every change.

    An interrupt (whatever exception it is) leaves only after all labs have been stopped.
    """
    todo = unfinished(run, cells)
    progress = Progress(
        total_cells=len(todo),
        kept_cells=len(cells) - len(todo),
        total_virtual_s=sum(virtual_s(planned.cell) for planned in todo),
    )
    report(progress)
    work = _Work(run, lab, threading.Event())

    def ended(planned: PlannedCell, error: Exception | None) -> None:
        if error is None:
            progress.done_cells += 1
            progress.done_virtual_s += virtual_s(planned.cell)
        else:
            progress.failed_cells += 1
            work.failures.append((planned.id, str(error)))
        report(progress)

    workers.each(todo, work, jobs=jobs, cancelled=work.cancelled, ended=ended)
    finished = len(cells) - len(unfinished(run, cells))
    return Outcome(finished_cells=finished, failures=tuple(work.failures))


def raise_if_failed(outcome: Outcome, run: Path) -> None:
    """Raise one :class:`RunError` that names the first failures and how to go on."""
    if not outcome.failures:
        return
    shown = "\n".join(f"  {message}" for _, message in outcome.failures[:3])
    more = len(outcome.failures) - 3
    raise RunError(
        f"{len(outcome.failures)} cells failed:\n{shown}" + (f"\n  and {more} more" * (more > 0)),
        hint=f"{outcome.finished_cells} finished cells are kept; "
        f"go on with: groundtruth resume {run}",
    )
