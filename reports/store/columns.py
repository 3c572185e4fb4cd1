"""Reads columns of a Parquet table; whatever is no such table raises ``ParseError`` naming it.

Tables of a run are held against their digests before they are read: on some files with a few wrong
bytes the Parquet library ends the whole program, and no exception tells of it.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import polars as pl

from model import plain_files
from model.errors import ParseError
from model.run_files.tables import schema

_Row = TypeVar("_Row")
#: Rows that are held at once where a table is passed on row by row: bounds the memory.
AT_ONCE = 1 << 16


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
    return _collected(path, _scanned(path, row_type, wanted, rows))


def read_slices(
    path: Path, row_type: type, wanted: Sequence[str] = (), *, at_once: int = AT_ONCE
) -> Iterator[pl.DataFrame]:
    """Yield columns of a table, so many rows at a time; the rest is as in :func:`read_columns`."""
    table = _scanned(path, row_type, wanted, None)
    for start in itertools.count(0, at_once):
        found = _collected(path, table.slice(start, at_once))
        if len(found):
            yield found
        if len(found) < at_once:
            return


def _scanned(
    path: Path, row_type: type, wanted: Sequence[str], rows: pl.Expr | None
) -> pl.LazyFrame:
    kinds = pl.Schema(schema(row_type))
    wanted = wanted or tuple(kinds)
    try:
        table = pl.scan_parquet(io.BytesIO(plain_files.read_bytes(path)))
        _check(path, table.collect_schema(), {name: kinds[name] for name in wanted})
    except FileNotFoundError:
        raise ParseError("file is missing", where=str(path)) from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _no_table(path, error) from error
    if rows is not None:
        table = table.filter(rows)
    return table.select(wanted)


def _collected(path: Path, table: pl.LazyFrame) -> pl.DataFrame:
    try:
        return table.collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _no_table(path, error) from error


def _no_table(path: Path, error: Exception) -> ParseError:
    return ParseError("file is not a Parquet table", where=str(path), got=str(error))


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
