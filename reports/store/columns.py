"""Reads columns of a Parquet table; whatever is no such table raises ``ParseError`` naming it.

Tables of a run are held against their digests before they are read: on some files with a few wrong
bytes the Parquet library ends the whole program, and no exception tells of it.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def read_columns(path: Path, row_type: type, wanted: Sequence[str] = ()) -> pl.DataFrame:
    """Return columns of a table.

    Args:
        path: the file.
        row_type: what declares the table, and so what is in a column; nulls fit all.
        wanted: their names; without any they are all that it has.
    """
    kinds = pl.Schema(schema(row_type))
    wanted = wanted or tuple(kinds)
    try:
        table = pl.read_parquet(plain_files.read_bytes(path))
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
            hint="groundtruth parse RUN makes the tables of an older run again",
        )
    for name in wanted:
        kind, dtype = _kind(kinds[name]), table.schema[name]
        if _kind(dtype) != kind and dtype != pl.Null:
            raise ParseError(
                f"column {name} has another type", where=str(path), wanted=kind, got=str(dtype)
            )
    return table.select(wanted)
