"""Write docs/columns.md: every column of every table, with unit, meaning and source.

    .venv/bin/python -m docs.generate.columns

All of it stands where the tables are declared (``model/run_files/tables.py``): what is said of a
column in the comments at it, what it is in its type and the end of its name.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from collectors.sockets.sockets import SCTP_FIELDS, TCP_FIELDS
from model.run_files.column_words import kind_words, meanings, unit
from model.run_files.kernel_tables import SocketRow
from model.run_files.tables import TABLES, schema

FOLDER = Path(__file__).parents[1]
HEAD = """# All columns

Written by `python -m docs.generate.columns` from the tables' declarations; do not edit. What a
table is for, and when a cell has it, stands in [data-format.md](data-format.md). Null is unknown,
never 0. What a column is taken from stands last.
"""


def of_socket(name: str) -> str:
    """Return which of the kernel's fields a column of sockets.parquet is as it is."""
    fields = (("TCP", TCP_FIELDS), ("SCTP", SCTP_FIELDS))
    return "".join(f"; {by}: `{names[name]}`" for by, names in fields if name in names)


def written() -> str:
    """Return the content of columns.md."""
    parts = [HEAD]
    for table, row_type in TABLES.items():
        said = meanings(row_type)
        parts.append(f"\n## {table}.parquet\n\n{inspect.getdoc(row_type)}\n")
        parts.append("\n| column | type | unit | meaning and source |\n|---|---|---|---|\n")
        for name, kind in schema(row_type).items():
            words = said[name] + (of_socket(name) if row_type is SocketRow else "")
            words = words.replace("|", r"\|")
            of = kind_words(row_type, name, kind)
            parts.append(f"| `{name}` | {of} | {unit(name, kind) or '-'} | {words} |\n")
    return "".join(parts)


if __name__ == "__main__":
    (FOLDER / "columns.md").write_text(written())
