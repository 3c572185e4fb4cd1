"""Repeating finished cells: which to take, and whether they came out the same to the byte."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from testbed import campaign, digests, plain, runfolder
from testbed.execute import Lab
from testbed.plan import PlannedCell


def choose(cells: Sequence[PlannedCell], count: int) -> list[PlannedCell]:
    """Return ``count`` cells spread evenly over those given; all of them for 0."""
    if count == 0 or count >= len(cells):
        return list(cells)
    return [cells[index * len(cells) // count] for index in range(count)]


def repeat(
    folder: Path,
    chosen: Sequence[PlannedCell],
    lab: Lab,
    *,
    jobs: int,
    report: Callable[[campaign.Progress], None],
) -> dict[str, str]:
    """Run finished cells of a run folder again, beside it; return how they differ.

    Raises:
        RunError: a cell failed this time.
    """
    with _scratch(folder) as scratch:
        outcome = campaign.run_cells(scratch, chosen, lab, jobs=jobs, report=report)
        campaign.raise_if_failed(outcome, folder)
        return compare(folder, scratch, chosen)


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Give a folder for the block, and remove those of processes that were killed."""
    for stale in folder.glob(f"{runfolder.VERIFY_SCRATCH}*"):
        with contextlib.suppress(OSError), _held(stale):
            plain.remove(stale)
    scratch = Path(tempfile.mkdtemp(prefix=runfolder.VERIFY_SCRATCH, dir=folder))
    try:
        with _held(scratch):
            yield scratch
    finally:
        plain.remove(scratch)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder's lock for the block; raise ``OSError`` if another process has it."""
    handle = os.open(folder, plain.FOLDER_FLAGS)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def compare(folder: Path, scratch: Path, chosen: Sequence[PlannedCell]) -> dict[str, str]:
    """Return how the cells in ``scratch`` differ from those a run folder recorded, by place."""
    problems = {}
    for planned in chosen:
        recorded = digests.read_done(runfolder.cell_folder(folder, planned.id))
        repeated = digests.of_cell(runfolder.cell_folder(scratch, planned.id))
        for line in digests.differences(recorded, repeated):
            name, _, how = line.partition(": ")
            problems[f"cells/{planned.id}/{name}"] = how
    return problems
