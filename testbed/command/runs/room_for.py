"""Whether this machine has room for what is about to run: said, or refused before anything does.

The store is not counted: on the disk of the run its files share their blocks with the run's, and a
store that is full fails no cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from model.cell import Cell
from model.errors import UnsupportedError
from model.words import how_many, size_text
from testbed.labs import registry
from testbed.machine import room
from testbed.machine.console import words
from testbed.planning.resources import Resources, needed

OVERRIDE = "--no-check-room"


def line(need: Resources, jobs: int, *, of_labs: bool = True) -> str:
    """Return what cells take, in words; ``of_labs`` is whether they take memory of their own."""
    said = f"about {size_text(need.disk_bytes)} of disk"
    if need.scratch_bytes:
        said += f", {size_text(need.scratch_bytes)} more while cells run"
    if of_labs:
        said += f", at most {size_text(need.memory_bytes)} of memory with {how_many(jobs, 'job')}"
    return said


def check(
    cells: Iterable[Cell], jobs: int, place: Path, *, lab: str, here: bool, refuse: bool
) -> None:
    """Say what cells take that are to run; raise if this machine has less.

    Args:
        cells: what is to run, stored cells among it.
        jobs: how many at once.
        place: where runs will be.
        lab: the name of their lab.
        here: whether cells run on this machine, which they take memory of then.
        refuse: whether to raise at all.

    Raises:
        UnsupportedError: disk or memory are not enough; wanted, got and what to do are told.
    """
    need = needed(cells, jobs)
    of_labs = here and registry.named(lab).properties.clock == "virtual"
    words().print(f"this takes {line(need, jobs, of_labs=of_labs)}", soft_wrap=True)
    if not refuse:
        return
    wanted_bytes = need.disk_bytes + (need.scratch_bytes if here else 0)
    free_bytes = room.free_bytes(place)
    if free_bytes < wanted_bytes:
        raise UnsupportedError(
            "not enough room on the disk for this", where=str(place),
            wanted=f"{size_text(wanted_bytes)} free", got=size_text(free_bytes),
            hint="groundtruth gc RUN frees raw files of a run, groundtruth gc the store's old "
            f"cells; fewer seeds: --reps; another disk: --data-dir; all the same: {OVERRIDE}",
        )  # fmt: skip
    got_bytes = room.available_memory_bytes()
    if of_labs and got_bytes is not None and got_bytes < need.memory_bytes:
        raise UnsupportedError(
            "not enough memory for this", where=how_many(jobs, "cell") + " at once",
            wanted=f"{size_text(need.memory_bytes)} available", got=size_text(got_bytes),
            hint=f"fewer at once: --jobs (JOBS=); all the same: {OVERRIDE}",
        )  # fmt: skip
