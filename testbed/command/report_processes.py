"""Reports of a set's runs, each in a process of its own, as many at once as asked for.

Invariants: a run whose report fails is kept apart, and the others are written; when
:func:`report_runs` returns or raises, none of its processes is left.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from model.errors import GroundtruthError, RunError
from testbed.command import chart_library
from testbed.machine import lifeline, workers

if TYPE_CHECKING:
    from reports.verdict.summary import Summary

#: A report takes seconds; one that takes this long never ends.
TIMEOUT_S = 3600.0


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A run's report: what it found, or why there is none."""

    run: Path
    found: Summary | None
    error: GroundtruthError | OSError | None


def report_runs(
    runs: Sequence[tuple[Path, Mapping[str, str]]],
    *,
    jobs: int,
    report: Callable[[int, int], None],
) -> list[Reported]:
    """Write the report of each run folder, leaving out the cells named with it.

    ``report`` is called with how many are done, and of how many.
    """
    cancelled = threading.Event()
    cpus = os.sched_getaffinity(0)
    found: dict[Path, Summary] = {}
    errors: dict[Path, GroundtruthError | OSError] = {}
    ended_runs = 0

    def act(one: tuple[Path, Mapping[str, str]]) -> None:
        found[one[0]] = _in_process(one[0], one[1], cpus, cancelled)

    def ended(one: tuple[Path, Mapping[str, str]], error: Exception | None) -> None:
        nonlocal ended_runs
        ended_runs += 1
        if isinstance(error, GroundtruthError | OSError):
            errors[one[0]] = error
        report(ended_runs, len(runs))

    report(0, len(runs))
    # All that is shared is loaded or bundled once, before it would be at the same time.
    chart_library.library()
    workers.each(runs, act, jobs=jobs, cancelled=cancelled, ended=ended)
    return [Reported(run=run, found=found.get(run), error=errors.get(run)) for run, _ in runs]


def _in_process(
    run: Path, changed: Mapping[str, str], cpus: set[int], cancelled: threading.Event
) -> Summary:
    """Return what a new process makes of a run; it is gone afterwards, whatever happens."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    tied, ends_it = context.Pipe(duplex=False)
    process = context.Process(
        target=_child, args=(theirs, tied, run, dict(changed), cpus), daemon=True
    )
    deadline_s = time.monotonic() + TIMEOUT_S
    try:
        process.start()
        theirs.close()
        tied.close()
        while not ours.poll(workers.WAKE_S):
            if cancelled.is_set():
                raise RunError("interrupted while the report was written", where=str(run))
            if time.monotonic() > deadline_s:
                raise RunError(
                    "the report never ends", where=str(run), wanted=f"within {TIMEOUT_S:g} s"
                )
        answer: Summary | GroundtruthError | OSError = ours.recv()
    except EOFError:
        process.join(workers.WAKE_S * 20)
        raise RunError(
            "the process that writes a report died", where=str(run),
            got=f"exit status {process.exitcode}", hint=f"try again: groundtruth report {run}",
        ) from None  # fmt: skip
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
        ours.close()
        ends_it.close()
    if isinstance(answer, GroundtruthError | OSError):
        raise answer
    return answer


def _child(
    answer: Connection, tied: Connection, run: Path, changed: Mapping[str, str], cpus: set[int]
) -> None:
    # Who is interrupted is the parent, which ends this process then, and also when it is killed.
    lifeline.tie(tied.fileno())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.sched_setaffinity(0, cpus)
    from reports.page.write import (
        write_report,  # when needed: tables, statistics and figures load slowly
    )

    try:
        answer.send(write_report(run, changed, chart_library.library))
    except (GroundtruthError, OSError) as error:
        answer.send(error)
