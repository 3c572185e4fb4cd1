"""Reads columns of a Parquet table; whatever is no such table raises ``ParseError`` naming it.

Tables of a run are held against their digests before they are read: on some files with a few wrong
bytes the Parquet library ends the whole program, and no exception tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from model import plain_files
from model.errors import ParseError


def _is_text(dtype: pl.DataType) -> bool:
    return dtype == pl.String


def _is_number(dtype: pl.DataType) -> bool:
    return dtype.is_numeric()


def _is_truth(dtype: pl.DataType) -> bool:
    return dtype == pl.Boolean


#: Names of columns that hold no numbers, in every table that is read here.
TEXTS = frozenset({
    "flow", "group", "protocol", "basis", "detected_by", "span", "point", "direction", "event",
    "node", "device", "role",
})  # fmt: skip
TRUTHS = frozenset({"retransmission", "closes"})


def _kind(name: str) -> str:
    return "text" if name in TEXTS else "true or false" if name in TRUTHS else "numbers"


_FITS: Mapping[str, Callable[[pl.DataType], bool]] = {
    "text": _is_text,
    "numbers": _is_number,
    "true or false": _is_truth,
}


def read_columns(path: Path, wanted: Sequence[str]) -> pl.DataFrame:
    """Return these columns of a table.

    Args:
        path: the file.
        wanted: their names, which say what is in them; nulls fit all.
    """
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
        kind, dtype = _kind(name), table.schema[name]
        if not _FITS[kind](dtype) and dtype != pl.Null:
            raise ParseError(
                f"column {name} has another type", where=str(path), wanted=kind, got=str(dtype)
            )
    return table.select(wanted)
