"""The tables of cells, and each cell's metrics, as CSV (RFC 4180), for spreadsheets and R.

Invariants: numbers are those of the tables, to the last digit; null is an empty field, an empty
text a quoted one; no text begins as a formula does: see :func:`plain_text`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from model.run_files.column_words import kind_words, meanings, unit, unit_of
from model.run_files.tables import TABLES, schema
from reports.exports.cell import ExportedCell, OutFile, json_text
from reports.store.columns import read_slices

ENDING = ".csv"
LINE_END = "\r\n"
#: Spreadsheets take a text for a formula that begins so; some also look behind a line's end.
FORMULA_STARTS = (
    "=+-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}"
    "\N{FULLWIDTH COMMERCIAL AT}"
)
#: What spreadsheets take for "this is text"; a text that begins with one gets another.
MARK = "'"
IDENTITY = ("study", "cell")
METRIC_COLUMNS = (
    "replicate", "seed", "kernel_release", "lab", "excluded", "metric", "value", "unit", "reason",
)  # fmt: skip


def plain_text(text: str) -> str:
    """Return a text that no spreadsheet computes; :func:`as_it_was` undoes it."""
    return MARK + text if text[:1] and text[0] in FORMULA_STARTS + MARK else text


def as_it_was(text: str) -> str:
    """Return the text that :func:`plain_text` was given."""
    return text.removeprefix(MARK)


def table_files(cell: ExportedCell) -> Iterator[OutFile]:
    """Yield a file for each table that a cell has."""
    for name, row_type in TABLES.items():
        path = cell.folder / "tables" / f"{name}.parquet"
        if path.exists():
            yield OutFile(name=f"{cell.stem}-{name}{ENDING}", pieces=_table(path, row_type))


def _table(path: Path, row_type: type) -> Iterator[bytes]:
    yield _lines([schema(row_type)])
    for rows in read_slices(path, row_type):
        text = rows.select(map(_field, rows.columns, rows.dtypes)).write_csv(
            include_header=False, line_terminator=LINE_END, quote_style="necessary"
        )
        yield text.encode()


def _field(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(kind, pl.List):
        return column.map_elements(_list_text, return_dtype=pl.String)
    if kind == pl.String:
        marked = column.str.slice(0, 1).is_in([*FORMULA_STARTS, MARK])
        return pl.when(marked).then(MARK + column).otherwise(column).alias(name)
    return column


def _list_text(values: Iterable[Any]) -> str:
    """Return a list as JSON; structures in it as lists of their fields, in order."""
    return json_text([list(one.values()) if isinstance(one, dict) else one for one in values])


def metrics_file(study: str, parameters: Sequence[str], cells: Iterable[ExportedCell]) -> OutFile:
    """Return the metrics of all cells, one line each, with the reason where there is none."""
    return OutFile(name=f"{study}-metrics{ENDING}", pieces=_metrics(parameters, cells))


def _metrics(parameters: Sequence[str], cells: Iterable[ExportedCell]) -> Iterator[bytes]:
    taken = {*IDENTITY, *METRIC_COLUMNS}
    swept = [f"point.{name}" if name in taken else name for name in parameters]
    yield _lines([[*IDENTITY, *swept, *METRIC_COLUMNS]])
    for cell in cells:
        settings = cell.cell
        head = [
            settings.study, cell.id, *(settings.point.get(name) for name in parameters),
            settings.replicate, settings.seed, cell.kernel, settings.lab.get("name"), cell.excluded,
        ]  # fmt: skip
        yield _lines(
            [*head, name, found.value, unit_of(name), found.reason]
            for name, found in cell.values.items()
        )


def columns_file(study: str) -> OutFile:
    """Return what is in each column of each table: type, unit, meaning, and when it is empty."""
    return OutFile(name=f"{study}-columns{ENDING}", pieces=_columns())


def _columns() -> Iterator[bytes]:
    yield _lines([["table", "column", "type", "unit", "meaning"]])
    for table, row_type in TABLES.items():
        said = meanings(row_type)
        yield _lines(
            [table, name, kind_words(row_type, name, kind), unit(name, kind), said[name]]
            for name, kind in schema(row_type).items()
        )


def _lines(rows: Iterable[Iterable[Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=LINE_END)
    for row in rows:
        writer.writerow([plain_text(one) if isinstance(one, str) else one for one in row])
    return out.getvalue().encode()
