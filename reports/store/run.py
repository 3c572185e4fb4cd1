"""Reads a run folder into typed records; the only part of reports that reads files.

Invariants: a file of the run that is missing or not what it should be raises ``ParseError`` naming
it, one of a finished cell makes the cell a damaged one, listed with the reason; a cell without DONE
is listed as unfinished and read only for the checks that may have stopped it; the order is the
study's own (points as in the study file, then replicate), never the file system's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import cell as cells
from model import plain_files, run_folder
from model.check import Check
from model.errors import ParseError
from model.movement import kept
from model.movement.paths import Movement
from model.run_files import json_file
from model.run_files import study as resolved_study
from model.run_files.cells import (
    CHECKED,
    ENVIRONMENT,
    LEDGER,
    OBJECT,
    PLANNED,
    WARNINGS,
    LedgerReading,
    PlannedCell,
    Purpose,
    RunWarning,
)
from model.run_files.comparing.simulated import SIMULATED, Simulated
from model.run_files.point import Point
from model.run_files.study import Study
from model.run_files.traffic_tables import FlowRow
from reports.store.audit import Evidence, read_evidence
from reports.store.failover_table import NO_DOWN, read_failovers
from reports.store.flow_table import read_delivered, read_flows, read_variation
from reports.store.message_table import read_messages
from reports.store.sample import (
    NO_MESSAGES,
    NO_SPANS,
    VARIATION,
    Failover,
    MessageSpread,
    Spans,
)
from reports.store.spans import read_spans
from reports.store.story_tables import Row, read_episodes, read_limits, read_windows


@dataclass(frozen=True, kw_only=True)
class FinishedCell:
    """A cell with DONE; calibrating cells have neither flows nor ledger; others may lack more.

    ``windows`` are congestion windows in bytes, by flow and the time asked for.
    """

    plan: PlannedCell
    cell: cells.Cell
    env: dict[str, Any]
    warnings: tuple[RunWarning, ...]
    evidence: Evidence
    checks: tuple[Check, ...]
    ledger: tuple[LedgerReading, ...]
    flows: tuple[FlowRow, ...]
    delivered_segments: Mapping[str, float]
    variation_pct: Mapping[str, float]
    spans: Spans
    messages: Mapping[tuple[str, str], MessageSpread] | str
    failovers: Mapping[str, Failover] | str
    episodes: tuple[Row, ...] | None
    limits: tuple[Row, ...] | None
    windows: Mapping[tuple[str, float], int]


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A planned cell without DONE: not run, cut short, or stopped by a check that failed."""

    plan: PlannedCell
    started: bool
    checks: tuple[Check, ...]
    ledger: tuple[LedgerReading, ...]


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """A cell with DONE that cannot be believed: a file was changed, or cannot be read; ``why``."""

    plan: PlannedCell
    why: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder: the study, the plan, and what has finished of it.

    ``failures`` are the run's last words on cells that failed; ``traced`` is where the nodes of
    its first measured cell are, if they follow a file.
    """

    study: Study
    provenance: dict[str, Any]
    plan: tuple[PlannedCell, ...]
    finished: tuple[FinishedCell, ...]
    unfinished: tuple[Attempt, ...]
    damaged: tuple[Damaged, ...]
    failures: tuple[RunWarning, ...]
    unplanned: tuple[str, ...]
    simulated: Simulated | None = None
    traced: Movement | None = None

    def checked(self, purpose: Purpose) -> list[tuple[PlannedCell, tuple[Check, ...]]]:
        """Return the cells of a purpose with the checks they left, finished ones first."""
        tried: tuple[FinishedCell | Attempt, ...] = (*self.finished, *self.unfinished)
        return [(cell.plan, cell.checks) for cell in tried if cell.plan.purpose == purpose]

    def measured(self) -> tuple[FinishedCell, ...]:
        """Return the finished measuring cells."""
        return tuple(cell for cell in self.finished if cell.plan.purpose == "measure")

    def calibrated(self) -> tuple[FinishedCell, ...]:
        """Return the finished calibrating cells."""
        return tuple(cell for cell in self.finished if cell.plan.purpose == "calibrate")


def _read_cell_spec(folder: Path, planned: PlannedCell, study: Study) -> cells.Cell:
    path = folder / run_folder.CELL
    content = json_file.read(OBJECT, path, schema=None)
    try:
        cell = cells.from_dict(content)
    except ValueError as error:
        raise ParseError("file is not a cell", where=str(path), got=str(error)) from error
    got = (cell.study, cell.purpose, Point.of(cell.point), cell.replicate, cell.seed)
    wanted = (study.id, planned.purpose, planned.point, planned.replicate, planned.seed)
    if got != wanted:
        raise ParseError(
            "the cell is not the planned one", where=str(path), wanted=str(wanted), got=str(got)
        )
    return cell


def _read_cell(run: Path, planned: PlannedCell, study: Study) -> FinishedCell:
    folder = run_folder.cell_folder(run, planned.id)
    cell = _read_cell_spec(folder, planned, study)
    env = json_file.read(ENVIRONMENT, folder / run_folder.ENV, schema=None)
    flows: tuple[FlowRow, ...] = ()
    delivered: Mapping[str, float] = {}
    variation: Mapping[str, float] = {}
    spans = NO_SPANS
    messages: Mapping[tuple[str, str], MessageSpread] | str = NO_MESSAGES
    failovers: Mapping[str, Failover] | str = NO_DOWN
    ledger: tuple[LedgerReading, ...] = ()
    evidence = Evidence()
    if planned.purpose == "measure":
        groups = frozenset(group.id for group in study.groups)
        flows = read_flows(folder / run_folder.FLOWS_TABLE, cell, groups)
        if study.delivered:
            delivered = read_delivered(folder / run_folder.INTERVALS_TABLE, cell, study.delivered)
        if any(name.startswith(VARIATION) for name in study.wanted_metrics):
            variation = read_variation(folder / run_folder.INTERVALS_TABLE, cell)
        spans = read_spans(folder, cell, study)
        messages = read_messages(folder, cell, study)
        failovers = read_failovers(folder, cell, study)
        ledger = json_file.read(LEDGER, folder / run_folder.LEDGER, schema=None)
        evidence = read_evidence(folder, cell)
    episodes = read_episodes(folder / run_folder.EPISODES_TABLE)
    return FinishedCell(
        plan=planned,
        cell=cell,
        env=json_file.read(OBJECT, folder / run_folder.ENV, schema=None),
        warnings=env.warnings,
        evidence=evidence,
        checks=json_file.read(CHECKED, folder / run_folder.VERIFY).checks,
        ledger=ledger,
        flows=flows,
        delivered_segments=delivered,
        variation_pct=variation,
        spans=spans,
        messages=messages,
        failovers=failovers,
        episodes=episodes,
        limits=read_limits(folder / run_folder.LIMITS_TABLE),
        windows=read_windows(folder / run_folder.CONGESTION_TABLE, _times(study, episodes)),
    )


def _times(study: Study, episodes: tuple[Row, ...] | None) -> list[tuple[str, float]]:
    """Return the flows and times at which something was published of a grown window."""
    published = study.published.episodes if study.published else ()
    return [
        (entry.flow, row["detected_s"] + entry.grown_s)
        for entry in published
        for row in episodes or ()
        if entry.grown_s is not None
        and row["detected_s"] is not None
        and (row["flow"], row["episode"]) == (entry.flow, entry.episode)
    ]


def _read_attempt(run: Path, planned: PlannedCell) -> Attempt:
    """Return what an unfinished cell left to explain itself; what it did not is no error."""
    folder = run_folder.cell_folder(run, planned.id)
    checks: tuple[Check, ...] = ()
    ledger: tuple[LedgerReading, ...] = ()
    with contextlib.suppress(ParseError):
        checks = json_file.read(CHECKED, folder / run_folder.VERIFY).checks
    with contextlib.suppress(ParseError):
        ledger = json_file.read(LEDGER, folder / run_folder.LEDGER, schema=None)
    return Attempt(
        plan=planned, started=plain_files.is_folder(folder), checks=checks, ledger=ledger
    )


def _read_provenance(run: Path) -> dict[str, Any]:
    if not (run / run_folder.PROVENANCE).exists():
        return {}
    return json_file.read(OBJECT, run / run_folder.PROVENANCE, schema=None)


def _folders(run: Path) -> frozenset[str]:
    cells_folder = run_folder.cell_folder(run, "x").parent
    if not plain_files.is_folder(cells_folder):
        return frozenset()
    return frozenset(path.name for path in cells_folder.iterdir() if plain_files.is_folder(path))


def _read_failures(run: Path) -> tuple[RunWarning, ...]:
    if not (run / run_folder.WARNINGS).exists():
        return ()
    return json_file.read(WARNINGS, run / run_folder.WARNINGS, schema=None)


def _read_simulated(run: Path) -> Simulated | None:
    path = run / run_folder.SIMULATOR
    return json_file.read(SIMULATED, path) if path.exists() else None


def _read_traced(run: Path, finished: Iterable[FinishedCell]) -> Movement | None:
    networks = (one.cell.ad_hoc for one in finished if one.plan.purpose == "measure")
    network = next((network for network in networks if network), None)
    sha256 = network.mobility.movement_sha256 if network else ""
    return kept.movement(run_folder.kept_movement(run, sha256), sha256) if sha256 else None


def _read_finished(
    run: Path, planned: PlannedCell, study: Study, changed: Mapping[str, str]
) -> FinishedCell | Damaged:
    """Return a cell with DONE, or why it cannot be believed; paths in words are the run's."""
    if planned.id in changed:
        return Damaged(plan=planned, why=changed[planned.id])
    try:
        return _read_cell(run, planned, study)
    except ParseError as error:
        return Damaged(plan=planned, why=str(error).replace(f"{run}/", ""))


def read_study(run: Path) -> Study:
    """Return the study a run folder is of; raises as :func:`read_run`."""
    return resolved_study.read_study(run / run_folder.RESOLVED)


def read_planned(run: Path) -> tuple[Study, tuple[PlannedCell, ...]]:
    """Return the study a run folder is of, and its plan; raises as :func:`read_run`."""
    resolved = read_study(run)
    rank = {point: index for index, point in enumerate(resolved.all_points)}
    planned = json_file.read(PLANNED, run / run_folder.PLAN).cells
    for index, cell in enumerate(planned):
        if cell.purpose == "measure" and cell.point not in rank:
            where, got = f"{run / run_folder.PLAN}: cells[{index}]", str(cell.point.as_dict())
            raise ParseError("a cell lies at no point of the study", where=where, got=got)
    order = sorted(
        planned, key=lambda c: (rank.get(c.point, -1), c.purpose, c.replicate, c.seed, c.id)
    )
    return resolved, tuple(order)


def read_run(run: Path, changed: Mapping[str, str] | None = None) -> Run:
    """Return what a run folder holds.

    Args:
        run: the folder.
        changed: finished cells known to be no longer what the run left, by id, and why.

    Raises:
        ParseError: a file of the run itself is missing, truncated, mistyped or inconsistent; it is
            named. One of a finished cell makes that cell a damaged one.
    """
    if not run.is_dir():
        raise ParseError("no such run folder", where=str(run))
    study, plan = read_planned(run)
    done = {cell.id for cell in plan if run_folder.is_done(run_folder.cell_folder(run, cell.id))}
    read = [_read_finished(run, cell, study, changed or {}) for cell in plan if cell.id in done]
    finished = tuple(cell for cell in read if isinstance(cell, FinishedCell))
    return Run(
        study=study,
        provenance=_read_provenance(run),
        plan=plan,
        finished=finished,
        unfinished=tuple(_read_attempt(run, cell) for cell in plan if cell.id not in done),
        damaged=tuple(cell for cell in read if isinstance(cell, Damaged)),
        failures=_read_failures(run),
        unplanned=tuple(sorted(_folders(run) - {cell.id for cell in plan})),
        simulated=_read_simulated(run),
        traced=_read_traced(run, finished),
    )
