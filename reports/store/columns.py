"""Reads columns of a Parquet table; whatever is no such table raises ``ParseError`` naming it.

Tables of a run are held against their digests before they are read: on some files with a few wrong
bytes the Parquet library ends the whole program, and no exception tells of it.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from model import plain_files
from model.errors import ParseError
from model.run_files.tables import schema

_Row = TypeVar("_Row")


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "numbers"
    return {pl.String: "text", pl.Boolean: "true or false"}.get(type(dtype), "other values")


def read_rows(path: Path, row_type: type[_Row]) -> tuple[_Row, ...]:
    """Return all rows of a table."""
    return tuple(row_type(**row) for row in read_columns(path, row_type).iter_rows(named=True))


def read_columns(
    path: Path, row_type: type, wanted: Sequence[str] = (), rows: pl.Expr | None = None
) -> pl.DataFrame:
    """Return columns of a table.

    Args:
        path: the file.
        row_type: what declares the table, and so what is in a column; nulls fit all.
        wanted: their names; without any they are all that it has.
        rows: what is true of those that are returned; without it they are all.
    """
    kinds = pl.Schema(schema(row_type))
    wanted = wanted or tuple(kinds)
    try:
        table = pl.scan_parquet(io.BytesIO(plain_files.read_bytes(path)))
        _check(path, table.collect_schema(), {name: kinds[name] for name in wanted})
        if rows is not None:
            table = table.filter(rows)
        return table.select(wanted).collect()
    except FileNotFoundError:
        raise ParseError("file is missing", where=str(path)) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ParseError("file is not a Parquet table", where=str(path), got=str(error)) from error


def _check(path: Path, found: pl.Schema, wanted: Mapping[str, pl.DataType]) -> None:
    """Raise ``ParseError`` unless a table has these columns."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ParseError(
            "columns are missing",
            where=str(path),
            wanted=", ".join(missing),
            got=", ".join(found) or "none",
            hint="groundtruth parse RUN makes the tables of an older run again",
        )
    for name, declared in wanted.items():
        kind, dtype = _kind(declared), found[name]
        if _kind(dtype) != kind and dtype != pl.Null:
            raise ParseError(
                f"column {name} has another type", where=str(path), wanted=kind, got=str(dtype)
            )
