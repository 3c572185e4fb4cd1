"""Write docs/columns.md: every column of every table, with unit and source, from the schemas.

    .venv/bin/python -m docs.generate.columns

Names, types and units are the schemas'; what a column means and where it is from is taken from the
row that data-format.md has on it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from collectors.tables.columns import TABLES

FOLDER = Path(__file__).parents[1]
HEAD = """# All columns

Written by `python -m docs.generate.columns` from the tables' schemas; do not edit. What a table is
for, and when a cell has it, stands in [data-format.md](data-format.md). Null is unknown, never 0.
"""
#: Ends of names, and the unit each stands for.
UNITS = {
    "_s": "s", "_bytes": "bytes", "_pkts": "packets", "_segments": "segments", "_chunks": "chunks",
    "_bps": "bit/s", "_frac": "0 to 1",
}  # fmt: skip
KINDS = {pl.String: "text", pl.Int64: "integer", pl.Float64: "float", pl.Boolean: "boolean"}


def unit(name: str, kind: Any) -> str:
    """Return the unit a column's name ends in; a dash for what has none."""
    if kind in (pl.String, pl.Boolean):
        return "-"
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "-")


def kind_words(kind: Any) -> str:
    """Return a column's type in words."""
    if kind in KINDS:
        return KINDS[kind]
    inner = kind.inner
    fields = [field.name for field in inner.fields] if isinstance(inner, pl.Struct) else []
    return f"list of {', '.join(f'`{name}`' for name in fields)}" if fields else "list of integers"


def sources(table: str, text: str) -> dict[str, str]:
    """Return what data-format.md says of each column of a table."""
    _, found, after = text.partition(f"`tables/{table}.parquet`, one row per ")
    if not found:
        return {}
    rows = after.split("|---|", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    said: dict[str, str] = {}
    for row in rows:
        names, _, *rest = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        words = "; ".join(cell for cell in rest if cell and cell != "-")
        said |= dict.fromkeys(re.findall(r"`(\w+)`", names), words)
    return said


def written() -> str:
    """Return the content of columns.md."""
    text = (FOLDER / "data-format.md").read_text()
    parts = [HEAD]
    for table, columns in TABLES.items():
        said = sources(table, text)
        parts.append(f"\n## {table}.parquet\n\n| column | type | unit | meaning and source |\n")
        parts.append("|---|---|---|---|\n")
        parts += [
            f"| `{name}` | {kind_words(kind)} | {unit(name, kind)} | {said.get(name, '-')} |\n"
            for name, kind in columns.items()
        ]
    return "".join(parts)


if __name__ == "__main__":
    (FOLDER / "columns.md").write_text(written())
