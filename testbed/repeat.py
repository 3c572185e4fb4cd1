"""Repeating finished cells: which to take, and whether they came out the same to the byte."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed import campaign, digests, runfolder
from testbed.execute import Lab
from testbed.plan import PlannedCell

SCRATCH = ".verify-"


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
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder))
    try:
        outcome = campaign.run_cells(scratch, chosen, lab, jobs=jobs, report=report)
        campaign.raise_if_failed(outcome, folder)
        return compare(folder, scratch, chosen)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


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
