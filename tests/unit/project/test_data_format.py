"""docs/columns.md says of every column what its declaration does; each number names its unit."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from docs.generate import columns
from model.run_files import column_words
from model.run_files.tables import TABLES, schema

#: Numbers without a unit: names, counts and numbers of something, or whether it is so.
NAMES = {
    "local_port", "connection", "packet", "ttl", "ip_id", "ip_checksum_ok", "checksum_ok",
    "retransmission", "tcp_flags", "seq", "ack", "sack_blocks", "dupack_count", "window_scale",
    "data_chunk_count", "tsn", "data_chunks", "cum_tsn_ack", "gap_blocks", "duplicate_tsns",
    "closes", "reorderings", "timeouts", "backoffs", "gap_blocks_received", "delivery_app_limited",
    "paths", "streams_in", "streams_out", "path_errors", "association_errors", "value",
    "episode", "first_lost_segment", "first_lost_packet", "dupacks", "first_new_on_dupack",
    "first_new_segment", "cwnd_changes",
    "unacked_chunks", "message", "stream", "ordered", "path", "frames", "attempts", "link_breaks",
    "route_requests", "route_requests_forwarded", "route_replies", "routes_broken", "discoveries",
    "discoveries_failed",
}  # fmt: skip
SUFFIXES = ("_s", "_bytes", "_pkts", "_segments", "_chunks", "_bps", "_frac", "_frames",
            "_attempts")  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_the_page_of_the_run_folder_tells_of_the_table(table: str) -> None:
    text = (columns.FOLDER / "data-format.md").read_text()
    assert text.count(f"[`tables/{table}.parquet`](columns.md#{table}parquet), one row per ") == 1


@pytest.mark.parametrize("table", TABLES)
def test_a_number_names_its_unit(table: str) -> None:
    numbers = {name for name, kind in schema(TABLES[table]).items() if kind != pl.String}
    assert {name for name in numbers if not name.endswith(SUFFIXES)} <= NAMES


def test_the_page_of_all_columns_is_as_written_from_the_declarations() -> None:
    page = (columns.FOLDER / "columns.md").read_text()
    assert page == columns.written(), "write it again: python -m docs.generate.columns"
    named = sum(len(schema(table)) for table in TABLES.values())
    assert page.count("\n| `") == named
    assert not re.search(r"\| -? \|$", page, re.MULTILINE), "a column nobody explains"


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [("t_s", pl.Float64, "s"), ("goodput_bps", pl.Float64, "bit/s"), ("flow", pl.String, ""),
     ("lost_pkts", pl.Int64, "packets"), ("dupacks", pl.Int64, "")],
)  # fmt: skip
def test_units_are_read_off_the_names(name: str, kind: Any, unit: str) -> None:
    assert column_words.unit(name, kind) == unit
