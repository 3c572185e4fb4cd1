"""Run all cells of a plan on the machine's cores, keeping finished ones whatever happens.

Invariants: a finished cell is never run twice; a failed one stops neither the others nor leaves a
folder that looks finished; after an interrupt no lab process is left.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from testbed import runfolder
from testbed.errors import GroundtruthError, RunError
from testbed.execute import Lab, execute
from testbed.plan import PlannedCell, virtual_s

#: How long the main thread sleeps at most before it looks for an interrupt.
WAKE_S = 0.25


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


def _pinned_to(cpus: Iterator[int]) -> None:
    """Bind the calling worker thread, and so its labs, to one core.

    The lab's kernel and its programs take turns and never run at once. On one core a turn costs
    a context switch; on two it costs waking an idle core, which takes many times as long.
    """
    os.sched_setaffinity(0, {next(cpus)})


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
    allowed = sorted(os.sched_getaffinity(0))
    # Two campaigns of one job each should not share the first core.
    first = os.getpid() % len(allowed)
    cpus = itertools.cycle(allowed[first:] + allowed[:first])
    with ThreadPoolExecutor(
        max_workers=jobs, thread_name_prefix="cell", initializer=_pinned_to, initargs=(cpus,)
    ) as pool:
        pending: dict[Future[None], PlannedCell] = {
            pool.submit(work, planned): planned for planned in todo
        }
        try:
            while pending:
                done, _ = wait(pending, timeout=WAKE_S, return_when=FIRST_COMPLETED)
                for future in done:
                    _account(future, pending.pop(future), progress, work.failures)
                    report(progress)
        except BaseException:
            # Also reached by an interrupt: labs see the event and end, then the pool closes.
            work.cancelled.set()
            for future in pending:
                future.cancel()
            raise
    finished = len(cells) - len(unfinished(run, cells))
    return Outcome(finished_cells=finished, failures=tuple(work.failures))


def _account(
    future: Future[None],
    planned: PlannedCell,
    progress: Progress,
    failures: list[tuple[str, str]],
) -> None:
    error = future.exception()
    if error is None:
        progress.done_cells += 1
        progress.done_virtual_s += virtual_s(planned.cell)
        return
    if not isinstance(error, GroundtruthError | OSError):
        raise error
    progress.failed_cells += 1
    failures.append((planned.id, str(error)))


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
