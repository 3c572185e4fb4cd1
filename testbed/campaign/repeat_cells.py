"""Repeating finished cells: which to take, and whether they came out the same to the byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from model import run_folder
from testbed.campaign import digests, run_cells
from testbed.campaign.run_cell import Lab
from testbed.machine import scratch
from testbed.planning.plan import PlannedCell


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
    report: Callable[[run_cells.Progress], None],
) -> dict[str, str]:
    """Run finished cells of a run folder again, beside it; return how they differ.

    Raises:
        RunError: a cell failed this time.
    """
    with scratch.scratch(folder, run_folder.VERIFY_SCRATCH) as place:
        outcome = run_cells.run_cells(place, chosen, lab, jobs=jobs, report=report)
        run_cells.raise_if_failed(outcome, folder)
        return compare(folder, place, chosen)


def compare(folder: Path, again: Path, chosen: Sequence[PlannedCell]) -> dict[str, str]:
    """Return how the cells in ``again`` differ from those a run folder recorded, by place."""
    problems = {}
    for planned in chosen:
        recorded = digests.read_done(run_folder.cell_folder(folder, planned.id))
        repeated = digests.of_cell(run_folder.cell_folder(again, planned.id))
        for line in digests.differences(recorded, repeated):
            name, _, how = line.partition(": ")
            problems[f"cells/{planned.id}/{name}"] = how
    return problems
