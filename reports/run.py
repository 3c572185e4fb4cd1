"""Reads a run folder into typed records; the only part of reports that reads files.

Invariants: a file that is missing or not what it should be raises ``ParseError`` naming it; a cell
without DONE is listed as unfinished and read only for the checks that may have stopped it; the
order is the study's own (points as in the study file, then replicate), never the file system's.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from reports.flow_table import read_flows
from reports.jsondoc import Doc
from reports.parsing import (
    SCHEMA,
    parse_checks,
    parse_ledger,
    parse_plan,
    parse_study,
    parse_warning,
)
from reports.records import (
    Check,
    FlowRow,
    LedgerReading,
    PlannedCell,
    Point,
    Purpose,
    RunWarning,
    Study,
)
from reports.story_tables import Row, read_episodes, read_limits
from testbed import cell as cells
from testbed import runfolder
from testbed.errors import ParseError


@dataclass(frozen=True, kw_only=True)
class FinishedCell:
    """A cell with DONE; calibrating cells have neither flows nor ledger; others may lack more."""

    plan: PlannedCell
    cell: cells.Cell
    env: dict[str, Any]
    warnings: tuple[RunWarning, ...]
    audit: tuple[RunWarning, ...]
    checks: tuple[Check, ...]
    ledger: tuple[LedgerReading, ...]
    flows: tuple[FlowRow, ...]
    episodes: tuple[Row, ...] | None
    limits: tuple[Row, ...] | None


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A planned cell without DONE: not run, cut short, or stopped by a check that failed."""

    plan: PlannedCell
    started: bool
    checks: tuple[Check, ...]
    ledger: tuple[LedgerReading, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder: the study, the plan, and what has finished of it."""

    study: Study
    provenance: dict[str, Any]
    plan: tuple[PlannedCell, ...]
    finished: tuple[FinishedCell, ...]
    unfinished: tuple[Attempt, ...]
    unplanned: tuple[str, ...]

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


def _read_json(folder: Path, name: str, parse_float: Callable[[str], Any] = float) -> Doc:
    path = folder / name
    file = str(path)

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text, parse_float=parse_float, parse_constant=refuse)
        # Half of a surrogate pair is legal JSON but no text: nothing could be written with it.
        json.dumps(value, ensure_ascii=False, default=str).encode()
        return Doc(value, file)
    except FileNotFoundError:
        raise ParseError(
            "file is missing", where=file, hint="is this a run folder of this version?"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParseError("file cannot be read", where=file, got=str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ParseError("file is not JSON", where=file, got=str(error)) from error


def _read_cell_spec(folder: Path, planned: PlannedCell, study: Study) -> cells.Cell:
    doc = _read_json(folder, runfolder.CELL)
    doc.fields()
    try:
        cell = cells.from_dict(doc.value)
    except ValueError as error:
        raise ParseError("file is not a cell", where=doc.file, got=str(error)) from error
    got = (cell.study, cell.purpose, Point.of(cell.point), cell.replicate, cell.seed)
    wanted = (study.id, planned.purpose, planned.point, planned.replicate, planned.seed)
    if got != wanted:
        raise ParseError(
            "the cell is not the planned one", where=doc.file, wanted=str(wanted), got=str(got)
        )
    return cell


def _read_cell(run: Path, planned: PlannedCell, study: Study) -> FinishedCell:
    folder = runfolder.cell_folder(run, planned.id)
    cell = _read_cell_spec(folder, planned, study)
    env = _read_json(folder, runfolder.ENV)
    env.get("kernel_release").text()
    flows: tuple[FlowRow, ...] = ()
    ledger: tuple[LedgerReading, ...] = ()
    if planned.purpose == "measure":
        groups = frozenset(group.id for group in study.groups)
        flows = read_flows(folder / runfolder.FLOWS_TABLE, cell, groups)
        ledger = parse_ledger(_read_json(folder, runfolder.LEDGER))
    return FinishedCell(
        plan=planned,
        cell=cell,
        env=env.value,
        warnings=tuple(parse_warning(item) for item in env.get("warnings").items()),
        audit=_read_audit(folder),
        checks=parse_checks(_read_json(folder, runfolder.VERIFY)),
        ledger=ledger,
        flows=flows,
        episodes=read_episodes(folder / runfolder.EPISODES_TABLE),
        limits=read_limits(folder / runfolder.LIMITS_TABLE),
    )


def _read_audit(folder: Path) -> tuple[RunWarning, ...]:
    """Return what does not add up in a measuring cell; cells of older versions have no audit."""
    if not (folder / runfolder.AUDIT).exists():
        return ()
    audit = _read_json(folder, runfolder.AUDIT)
    audit.require_schema(SCHEMA)
    return tuple(parse_warning(item) for item in audit.get("warnings").items())


def _read_attempt(run: Path, planned: PlannedCell) -> Attempt:
    """Return what an unfinished cell left to explain itself; what it did not is no error."""
    folder = runfolder.cell_folder(run, planned.id)
    checks: tuple[Check, ...] = ()
    ledger: tuple[LedgerReading, ...] = ()
    with contextlib.suppress(ParseError):
        checks = parse_checks(_read_json(folder, runfolder.VERIFY))
    with contextlib.suppress(ParseError):
        ledger = parse_ledger(_read_json(folder, runfolder.LEDGER))
    return Attempt(plan=planned, started=folder.is_dir(), checks=checks, ledger=ledger)


def _read_provenance(run: Path) -> dict[str, Any]:
    if not (run / runfolder.PROVENANCE).exists():
        return {}
    doc = _read_json(run, runfolder.PROVENANCE)
    return {key: field.value for key, field in doc.fields()}


def _folders(run: Path) -> frozenset[str]:
    cells_folder = runfolder.cell_folder(run, "x").parent
    if not cells_folder.is_dir():
        return frozenset()
    return frozenset(path.name for path in cells_folder.iterdir() if path.is_dir())


def read_run(run: Path) -> Run:
    """Return what a run folder holds.

    Raises ``ParseError`` naming the file if one is missing, truncated, mistyped or inconsistent.
    """
    if not run.is_dir():
        raise ParseError("no such run folder", where=str(run))
    study = parse_study(
        _read_json(run, runfolder.RESOLVED),
        _read_json(run, runfolder.RESOLVED, parse_float=Decimal),
    )
    plan = parse_plan(_read_json(run, runfolder.PLAN), study)
    done = {
        cell.id for cell in plan if (runfolder.cell_folder(run, cell.id) / runfolder.DONE).is_file()
    }
    return Run(
        study=study,
        provenance=_read_provenance(run),
        plan=plan,
        finished=tuple(_read_cell(run, cell, study) for cell in plan if cell.id in done),
        unfinished=tuple(_read_attempt(run, cell) for cell in plan if cell.id not in done),
        unplanned=tuple(sorted(_folders(run) - {cell.id for cell in plan})),
    )
