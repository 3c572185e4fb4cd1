"""Reads ``tables/flows.parquet``; whatever is not one sound row per flow raises ``ParseError``."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl

from reports.records import FlowRow
from testbed import cell as cells
from testbed.errors import ParseError

_TEXT_COLUMNS = ("flow", "group")
_NUMBER_COLUMNS = ("goodput_bps", "loss_offered_pkts", "loss_dropped_pkts")


def _read_table(path: Path) -> pl.DataFrame:
    wanted = [*_TEXT_COLUMNS, *_NUMBER_COLUMNS]
    try:
        table = pl.read_parquet(path.read_bytes())
    except FileNotFoundError:
        raise ParseError("file is missing", where=str(path)) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ParseError("file is not a Parquet table", where=str(path), got=str(error)) from error
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise ParseError(
            "columns are missing",
            where=str(path),
            wanted=", ".join(missing),
            got=", ".join(table.columns) or "none",
        )
    for name in wanted:
        dtype = table.schema[name]
        fits = dtype == pl.String if name in _TEXT_COLUMNS else dtype.is_numeric()
        if not fits and dtype != pl.Null:
            raise ParseError(
                f"column {name} has another type",
                where=str(path),
                wanted="text" if name in _TEXT_COLUMNS else "numbers",
                got=str(dtype),
            )
    return table.select(wanted)


def read_flows(path: Path, cell: cells.Cell, groups: frozenset[str]) -> tuple[FlowRow, ...]:
    """Return one row per flow of the cell; raise ``ParseError`` naming the file."""
    rows = tuple(FlowRow(**row) for row in _read_table(path).iter_rows(named=True))
    wanted = sorted(flow.id for flow in cell.flows)
    got = sorted(str(row.flow) for row in rows)
    if got != wanted:
        raise ParseError(
            "not one row per flow", where=str(path), wanted=", ".join(wanted), got=", ".join(got)
        )
    for row in rows:
        if row.group not in groups:
            raise ParseError(f"flow {row.flow} has an unknown group", where=str(path),
                             wanted=", ".join(sorted(groups)), got=str(row.group))  # fmt: skip
        if row.goodput_bps is not None and not (0 <= row.goodput_bps < math.inf):
            raise ParseError(
                f"flow {row.flow}: goodput_bps is no rate",
                where=str(path),
                got=str(row.goodput_bps),
            )
    return rows
