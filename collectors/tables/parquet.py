"""One typed Parquet file per table: equal bytes for equal rows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from model import plain_files
from model.run_files.tables import schema


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
