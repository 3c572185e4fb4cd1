"""One typed Parquet file per table: the columns of a row type, and equal bytes for equal rows."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from model import plain_files

TYPES = {
    "str": pl.String,
    "int": pl.Int64,
    "float": pl.Float64,
    "str | None": pl.String,
    "int | None": pl.Int64,
    "float | None": pl.Float64,
    "bool | None": pl.Boolean,
}


def schema(row_type: type) -> dict[str, Any]:
    """Return the Parquet columns of a row type."""
    return {f.name: TYPES[str(f.type)] for f in dataclasses.fields(row_type)}


def write_rows(rows: Sequence[Any], row_type: type, path: Path) -> None:
    """Write one table from its rows, which may be none."""
    columns = schema(row_type)
    values = {name: [getattr(row, name) for row in rows] for name in columns}
    write_parquet(pl.DataFrame(values, schema=columns), path)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write one table; equal rows give equal bytes."""
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", statistics=False)
    # A copy: a view of the buffer that an exception's frames hold on to is an error of its own.
    plain_files.write_pieces(
        path, [content.getvalue()]
    )  # a full disk is an OSError, polars has its own
