"""Write docs/columns.md: every column of every table, with unit, meaning and source.

    .venv/bin/python -m docs.generate.columns

All of it stands where the tables are declared (``model/run_files/tables.py``): what is said of a
column in the comments at it, what it is in its type and the end of its name.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import polars as pl

from collectors.sockets.sockets import SCTP_FIELDS, TCP_FIELDS
from model.run_files.kernel_tables import SocketRow
from model.run_files.tables import TABLES, schema

FOLDER = Path(__file__).parents[1]
HEAD = """# All columns

Written by `python -m docs.generate.columns` from the tables' declarations; do not edit. What a
table is for, and when a cell has it, stands in [data-format.md](data-format.md). Null is unknown,
never 0. What a column is taken from stands last.
"""
#: Ends of names, and the unit each stands for.
UNITS = {
    "_s": "s", "_bytes": "bytes", "_pkts": "packets", "_segments": "segments", "_chunks": "chunks",
    "_bps": "bit/s", "_frac": "0 to 1",
}  # fmt: skip
KINDS = {pl.String: "text", pl.Int64: "integer", pl.Float64: "float", pl.Boolean: "boolean"}


def unit(name: str, kind: Any) -> str:
    """Return the unit a column's name ends in; a dash for what has none."""
    if kind in (pl.String, pl.Boolean) or isinstance(kind, pl.List):
        return "-"
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "-")


def kind_words(kind: Any) -> str:
    """Return a column's type in words."""
    if kind in KINDS:
        return KINDS[kind]
    inner = kind.inner
    fields = [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []
    return f"list of {', '.join(f'`{name}`' for name in fields)}" if fields else "list of integers"


def meanings(row_type: type) -> dict[str, str]:
    """Return what is said of each column of a table: beside it, or in the lines above it."""
    said: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(row_type).splitlines():
        code, _, words = line.strip().partition("#: ")
        above += [words] if words else []
        if column := re.match(r"(\w+): ", code):
            said[column[1]] = " ".join(above)
            above = []
    return said


def of_socket(name: str) -> str:
    """Return which of the kernel's fields a column of sockets.parquet is as it is."""
    fields = (("TCP", TCP_FIELDS), ("SCTP", SCTP_FIELDS))
    return "".join(f"; {by}: `{names[name]}`" for by, names in fields if name in names)


def written() -> str:
    """Return the content of columns.md."""
    parts = [HEAD]
    for table, row_type in TABLES.items():
        hints, said = get_type_hints(row_type), meanings(row_type)
        parts.append(f"\n## {table}.parquet\n\n{inspect.getdoc(row_type)}\n")
        parts.append("\n| column | type | unit | meaning and source |\n|---|---|---|---|\n")
        for name, kind in schema(row_type).items():
            words = said[name] + (of_socket(name) if row_type is SocketRow else "")
            words = words.replace("|", r"\|")
            null = " or null" if NoneType in get_args(hints[name]) else ""
            parts.append(
                f"| `{name}` | {kind_words(kind)}{null} | {unit(name, kind)} | {words} |\n"
            )
    return "".join(parts)


if __name__ == "__main__":
    (FOLDER / "columns.md").write_text(written())
