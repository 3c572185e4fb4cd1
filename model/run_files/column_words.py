"""What is to be said of the columns of tables: type, unit and meaning, from their declarations.

What is said of a column stands in the comments (``#:``) at it, what it is in its type and the end
of its name.
"""

from __future__ import annotations

import inspect
import re
from types import NoneType
from typing import Any, get_args, get_type_hints

import polars as pl

#: Ends of names of columns, metrics and settings, and the unit each stands for.
UNITS = {
    "_s": "s", "_bytes": "bytes", "_pkts": "packets", "_segments": "segments", "_chunks": "chunks",
    "_bps": "bit/s", "_frac": "0 to 1", "_pct": "%", "_frames": "frames",
    "_attempts": "transmissions",
}  # fmt: skip
#: The one unit that also begins names.
PER_CENT = "pct_"
KINDS = {pl.String: "text", pl.Int64: "integer", pl.Float64: "float", pl.Boolean: "boolean"}


def unit_of(name: str) -> str:
    """Return the unit a name ends in, or begins with; nothing for what has none."""
    if name.startswith(PER_CENT):
        return UNITS["_pct"]
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), "")


def unit(name: str, kind: Any) -> str:
    """Return a column's unit; nothing for what has none."""
    if kind in (pl.String, pl.Boolean) or isinstance(kind, pl.List):
        return ""
    return unit_of(name)


def kind_words(row_type: type, name: str, kind: Any) -> str:
    """Return a column's type in words."""
    null = " or null" if NoneType in get_args(get_type_hints(row_type)[name]) else ""
    return _kind(kind) + null


def _kind(kind: Any) -> str:
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
