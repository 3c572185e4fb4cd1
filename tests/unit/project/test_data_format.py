"""docs/data-format.md lists the columns of the tables: all of them, in order, typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.tables.columns import TABLES
from docs.generate import columns
from reports.store.columns import TEXTS, TRUTHS

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "data-format.md").read_text()
TYPES = {
    "text": pl.String,
    "integer": pl.Int64,
    "float": pl.Float64,
    "boolean": pl.Boolean,
    "list of integers": pl.List(pl.Int64),
}
#: Numbers without a unit: names, counts and numbers of something, or whether it is so.
NAMES = {
    "local_port", "connection", "packet", "ttl", "ip_id", "ip_checksum_ok", "checksum_ok",
    "retransmission", "tcp_flags", "seq", "ack", "sack_blocks", "dupack_count", "window_scale",
    "data_chunk_count", "tsn", "data_chunks", "cum_tsn_ack", "gap_blocks", "duplicate_tsns",
    "closes", "reorderings", "timeouts", "backoffs", "gap_blocks_received", "delivery_app_limited",
    "paths", "streams_in", "streams_out", "path_errors", "association_errors", "value",
    "episode", "first_lost_segment", "first_lost_packet", "dupacks", "first_new_on_dupack",
    "first_new_segment", "cwnd_changes",
    "unacked_chunks",
}  # fmt: skip
SUFFIXES = ("_s", "_bytes", "_pkts", "_segments", "_chunks", "_bps", "_frac")


def documented(table: str) -> list[tuple[str, str]]:
    """Return the columns and types of the first table after a table's name."""
    after = TEXT.split(f"`tables/{table}.parquet`, one row per ", 1)[1]
    rows = after.split("|---|", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    found = []
    for row in rows:
        names, kind = [cell.strip() for cell in row.split("|")[1:3]]
        found += [(name, kind) for name in re.findall(r"`(\w+)`", names)]
    return found


def typed(kind: str) -> Any:
    """Return the type a table's second column names; lists of structures name their fields."""
    if kind not in TYPES and kind.startswith("list of `"):
        return pl.List(pl.Struct(dict.fromkeys(re.findall(r"`(\w+)`", kind), pl.Int64)))
    return TYPES[kind]


@pytest.mark.parametrize("table", TABLES)
def test_the_documented_columns_are_the_tables(table: str) -> None:
    listed = {name: typed(kind.removesuffix(" or null")) for name, kind in documented(table)}
    assert list(listed.items()) == list(TABLES[table].items())


@pytest.mark.parametrize("table", TABLES)
def test_reports_expect_of_a_column_what_is_written(table: str) -> None:
    expected = {**dict.fromkeys(TEXTS, pl.String), **dict.fromkeys(TRUTHS, pl.Boolean)}
    if table == "congestion":
        del expected["retransmission"]  # its kind, which no report reads
    columns: dict[str, Any] = TABLES[table]
    found = {name: kind for name, kind in columns.items() if name in expected}
    assert found == {name: expected[name] for name in found}


@pytest.mark.parametrize("table", TABLES)
def test_a_number_names_its_unit(table: str) -> None:
    columns: dict[str, Any] = TABLES[table]
    numbers = {name for name, kind in columns.items() if kind != pl.String}
    assert {name for name in numbers if not name.endswith(SUFFIXES)} <= NAMES


def test_the_page_of_all_columns_is_as_written_from_the_schemas() -> None:
    page = (columns.FOLDER / "columns.md").read_text()
    assert page == columns.written(), "write it again: python -m docs.generate.columns"
    named = sum(len(table) for table in TABLES.values())
    assert page.count("\n| `") == named
    assert not re.search(r"\| -? \|$", page, re.MULTILINE), "a column nobody explains"


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [("t_s", pl.Float64, "s"), ("goodput_bps", pl.Float64, "bit/s"), ("flow", pl.String, "-"),
     ("lost_pkts", pl.Int64, "packets"), ("dupacks", pl.Int64, "-")],
)  # fmt: skip
def test_units_are_read_off_the_names(name: str, kind: Any, unit: str) -> None:
    assert columns.unit(name, kind) == unit
