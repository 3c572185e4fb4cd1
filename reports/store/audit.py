"""Reads what a cell's packets tell: the audit's rows and checks, and what the path did to flows.

A cell without captures has no path, one made before there was an audit has none; that is no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from model import cell as cells
from model import run_folder
from model.check import Check
from model.errors import ParseError
from model.run_files import json_file
from model.run_files.cells import CHECKED, RunWarning
from model.run_files.path_tables import AirtimeRow, RadioRow
from model.run_files.traffic_tables import AcknowledgementRow, AuditRow, PathRow
from reports.store.columns import read_rows

_Row = TypeVar("_Row", AuditRow, PathRow, AcknowledgementRow)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A measuring cell's audit, and one path for each flow if packets were captured.

    ``acknowledgements`` are those of flows whose are counted, if the cell counted any.
    Of a network of radios, what these did, what took time on the channel, and where its routes
    stand, if its daemons recorded them.
    """

    warnings: tuple[RunWarning, ...] = ()
    checks: tuple[Check, ...] = ()
    rows: tuple[AuditRow, ...] = ()
    paths: tuple[PathRow, ...] = ()
    radios: tuple[RadioRow, ...] = ()
    airtime: tuple[AirtimeRow, ...] = ()
    acknowledgements: tuple[AcknowledgementRow, ...] = ()
    routes: Path | None = None


def _read(path: Path, row_type: type[_Row], cell: cells.Cell) -> tuple[_Row, ...]:
    if not path.exists():
        return ()
    rows = read_rows(path, row_type)
    strangers = {row.flow for row in rows} - {flow.id for flow in cell.flows}
    if strangers:
        raise ParseError("rows of no flow", where=str(path), got=", ".join(map(str, strangers)))
    return rows


def read_evidence(folder: Path, cell: cells.Cell) -> Evidence:
    """Return a measuring cell's evidence."""
    if not (folder / run_folder.AUDIT).exists():  # cells of older versions have no audit
        return Evidence()
    audit = json_file.read(CHECKED, folder / run_folder.AUDIT)
    routes = folder / run_folder.ROUTES_TABLE
    return Evidence(
        warnings=audit.warnings,
        checks=audit.checks,
        rows=_read(folder / run_folder.AUDIT_TABLE, AuditRow, cell),
        paths=_read(folder / run_folder.PATH_TABLE, PathRow, cell),
        radios=read_rows(folder / run_folder.RADIOS_TABLE, RadioRow) if cell.ad_hoc else (),
        airtime=read_rows(folder / run_folder.AIRTIME_TABLE, AirtimeRow) if cell.ad_hoc else (),
        acknowledgements=_read(
            folder / run_folder.ACKNOWLEDGEMENTS_TABLE, AcknowledgementRow, cell
        ),
        routes=routes if routes.exists() else None,
    )
