"""A run folder that every export has something of: the recorded cell with the kernel's events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from model import run_folder
from model.cell import Cell, cell_id, to_dict
from model.run_files.kernel_tables import CongestionRow
from model.run_files.tables import fitted, schema
from reports.exports.cell import ExportedCell
from reports.exports.formats import exported_cells
from reports.store.run import read_run
from testbed.campaign import manifest
from testbed.campaign.run_cell import finish, json_text, write_json
from testbed.planning.plan import PlannedCell
from testbed.planning.resolved import plan_json
from tests.support import exported_cell
from tests.support.runs.figure_run import TABLES
from tests.support.runs.report_run import CHECK, LEDGER, RESOLVED

#: Time zero of the recorded cell stands in its raw/epoch.json.
EPOCH = exported_cell.RECORDED / run_folder.EPOCH


def build_export_run(run: Path, **changes: Any) -> Path:
    """Write a finished run of one cell; ``changes`` replace keys of ``resolved.json``."""
    folder = exported_cell.make_run(run)
    cell = exported_cell.recorded_cell()
    write_json(folder / run_folder.LEDGER, LEDGER)
    write_json(folder / run_folder.VERIFY, {"schema": 1, "checks": [CHECK]})
    kernels_rows().write_parquet(folder / run_folder.CONGESTION_TABLE)
    finish(folder)
    write_run(run, [cell], **changes)
    return run


def kernels_rows() -> pl.DataFrame:
    """Return recorded rows of the kernel's events, and round trips of TCP that it may have had."""
    recorded = pl.read_parquet(TABLES / "congestion.parquet")
    rows = fitted(recorded, schema(CongestionRow)).with_row_index()
    srtt_s = (pl.lit(508_000) + pl.col("index") * 7) / 1_000_000
    acks = (pl.col("protocol") == "tcp") & (pl.col("event") == "ack") & (pl.col("index") > 3)
    return rows.with_columns(
        srtt_s=pl.when(acks).then(srtt_s),
        retransmission=pl.when(pl.col("event") == "retransmit").then(pl.lit("fast")),
    ).drop("index")


def write_run(run: Path, cells: list[Cell], **changes: Any) -> None:
    """Write the files of a run that has these cells."""
    planned = [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]
    points = [dict(point) for point in {tuple(cell.point.items()): 0 for cell in cells}]
    resolved = {
        **RESOLVED, "points": points, "published": None, "seeds": [cell.seed for cell in cells],
        **changes,
    }  # fmt: skip
    listed = [{"id": p.id, "cell": to_dict(p.cell)} for p in planned]
    manifest.write(
        run,
        {
            run_folder.PLAN: plan_json(planned),
            run_folder.CELLS: json_text(listed),
            run_folder.RESOLVED: json_text(resolved),
        },
    )


def cells_of(run: Path) -> list[ExportedCell]:
    """Return a run's cells as the exports take them."""
    epoch_ns = int(json.loads(EPOCH.read_text())["epoch_realtime_ns"])
    return exported_cells(read_run(run), run, lambda _folder: epoch_ns)


def only_cell(run: Path) -> ExportedCell:
    """Return a run's only cell."""
    (found,) = cells_of(run)
    return found


def content(pieces: Any) -> bytes:
    """Return a file's whole content."""
    return b"".join(pieces)


def table(cell: ExportedCell, name: str) -> pl.DataFrame:
    """Return one of a cell's tables, read by itself."""
    return pl.read_parquet(cell.folder / "tables" / f"{name}.parquet")
