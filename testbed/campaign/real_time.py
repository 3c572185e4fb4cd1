"""Cells whose clock is the wall's: run again if the machine was late, and not too many at once.

Invariant: no more cells that measure run side by side than calibrations did that passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from model.cell import Cell
from model.errors import GroundtruthError, LateError, StudyError, VerifyError
from testbed.machine import workers

Task = TypeVar("Task")
Result = TypeVar("Result")
#: How often a cell is run that the machine did not keep up with, before it is given up.
TRIES = 3


def check_jobs(cells: Iterable[Cell], jobs: int) -> None:
    """Raise :class:`StudyError` if cells cannot be told apart that run at once on one kernel."""
    if jobs > 1 and any(cell.collect.telemetry for cell in cells):
        raise StudyError(
            "cells side by side on one kernel have no telemetry",
            where="JOBS", wanted="1, or --no-telemetry", got=str(jobs),
            hint="the kernel's events do not say in which network something happened",
        )  # fmt: skip


def in_time(act: Callable[[Sequence[str]], Result]) -> Result:
    """Act until the machine keeps up, and return what came of it; else nothing is tried again.

    ``act`` is told each time before this one, by the figure that says how late the machine was.

    Raises:
        LateError: it did not, so many times.
    """
    late: list[str] = []
    while True:
        try:
            return act(tuple(late))
        except LateError as error:
            late.append(f"{error.what}: {error.got}")
            if len(late) == TRIES:
                raise


def run(
    calibrating: Sequence[Task],
    measuring: Sequence[Task],
    act: Callable[[Task], Result],
    once: Callable[[Task], Result],
    *,
    name: Callable[[Task], str],
    jobs: int,
    ended: Callable[[Task, Result | GroundtruthError | OSError], None],
    at_once: Callable[[int], None],
) -> None:
    """Calibrate as many cells at once as asked, and halve that until all pass; then measure.

    ``act`` runs a cell again that was late; under load each calibration has but ``once``. ``ended``
    is called as :func:`workers.each` does.

    ``at_once`` is told whenever it is fewer than were asked for. Of a run that goes on with no
    calibration left, ``jobs`` are taken: each cell says itself whether the machine kept up.
    """
    left = list(calibrating)
    if left and jobs > len(left):
        at_once(jobs := len(left))
    while left:
        failed: list[Task] = []

        def calibrated(
            task: Task, how: Result | GroundtruthError | OSError, failed: list[Task] = failed
        ) -> None:
            if isinstance(how, VerifyError) and jobs > 1:
                failed.append(task)
            else:
                ended(task, how)

        calibrate = act if jobs == 1 else once
        workers.each(left, calibrate, name=name, jobs=jobs, ended=calibrated, bound=False)
        left = failed
        if left:
            at_once(jobs := jobs // 2)
    workers.each(measuring, act, name=name, jobs=jobs, ended=ended, bound=False)
