"""Rounds of a run that adds seeds until it knows enough: what is needed next.

Invariants: what is planned next follows from the run folder alone, so an interrupted run goes on
as if it had not been; ``plan.json`` only grows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from model import run_folder
from testbed.campaign import manifest, run_cells, saved_runs
from testbed.campaign.run_cell import json_text
from testbed.planning.plan import PlannedCell

if TYPE_CHECKING:
    from reports.inference.replication import Replication


def next_cells(run: Path) -> tuple[PlannedCell, ...]:
    """Plan the next round of a run whose planned cells have finished, and return its cells.

    There are none if every point has stopped, if the run has a fixed number of seeds, or while a
    cell is unfinished. ``replication.json`` says how far each point is.

    Raises:
        ParseError: the folder is not a readable run.
    """
    planned = saved_runs.load_cells(run)
    if run_cells.unfinished(run, planned):
        return ()
    # Imported when needed: tables and statistics take longer to load than most commands.
    from reports.page.write import read_replication
    from reports.verdict.repeats import replication_record

    found = read_replication(run)
    if found is None:
        return ()
    manifest.write(run, {run_folder.REPLICATION: json_text(replication_record(found))})
    new = _next(found, planned, saved_runs.load_candidates(run))
    if new:
        saved_runs.record_plan(run, [*planned, *new])
    return new


def _next(
    found: Replication, planned: Sequence[PlannedCell], candidates: Sequence[PlannedCell]
) -> tuple[PlannedCell, ...]:
    """Return as many of the candidates, in their order, as each point needs."""
    known = {cell.id for cell in planned}
    wanted = {_key(state.point.as_dict()): state.runs + state.more for state in found.points}
    return tuple(
        cell
        for cell in candidates
        if cell.id not in known
        and cell.cell.purpose == "measure"
        and cell.cell.replicate <= wanted.get(_key(cell.cell.point), 0)
    )


def _key(point: Mapping[str, float | int | str]) -> frozenset[tuple[str, float | int | str]]:
    return frozenset(point.items())
