"""docs/data-format.md lists the columns of the telemetry tables: all of them, in order, typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors import congestion_parse, drops_parse, queue_parse

pytestmark = pytest.mark.unit

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "data-format.md").read_text()
TYPES = {"text": pl.String, "integer": pl.Int64, "float": pl.Float64}
TABLES = {
    "congestion": congestion_parse.COLUMNS,
    "drops": drops_parse.COLUMNS,
    "queue": queue_parse.COLUMNS,
}
#: Numbers without a unit: names of something.
NAMES = {"local_port"}
SUFFIXES = ("_s", "_bytes", "_pkts", "_segments")


def documented(table: str) -> list[tuple[str, str]]:
    """Return the columns and types of the first table after a table's name."""
    after = TEXT.split(f"`tables/{table}.parquet`, one row per ", 1)[1]
    rows = after.split("|---|", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    found = []
    for row in rows:
        names, kind = [cell.strip() for cell in row.split("|")[1:3]]
        found += [(name, kind) for name in re.findall(r"`(\w+)`", names)]
    return found


@pytest.mark.parametrize("table", TABLES)
def test_the_documented_columns_are_the_tables(table: str) -> None:
    listed = {name: TYPES[kind.removesuffix(" or null")] for name, kind in documented(table)}
    assert list(listed.items()) == list(TABLES[table].items())


@pytest.mark.parametrize("table", TABLES)
def test_a_number_names_its_unit(table: str) -> None:
    columns: dict[str, Any] = TABLES[table]
    numbers = {name for name, kind in columns.items() if kind != pl.String}
    assert {name for name in numbers if not name.endswith(SUFFIXES)} <= NAMES
