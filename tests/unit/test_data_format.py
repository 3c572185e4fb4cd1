"""docs/data-format.md lists the columns of the tables: all of them, in order, typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors import (
    congestion_parse,
    drops_parse,
    packet_columns_parse,
    protocol_parse,
    queue_parse,
    socket_columns_parse,
)
from collectors.audit_parse import AuditRow
from collectors.flows_parse import FlowRow
from collectors.path_parse import PathRow
from collectors.tables_parse import schema

pytestmark = pytest.mark.unit

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "data-format.md").read_text()
TYPES = {
    "text": pl.String,
    "integer": pl.Int64,
    "float": pl.Float64,
    "boolean": pl.Boolean,
    "list of integers": pl.List(pl.Int64),
}
TABLES: dict[str, dict[str, Any]] = {
    "flows": schema(FlowRow),
    "packets": packet_columns_parse.COLUMNS,
    "path": schema(PathRow),
    "audit": schema(AuditRow),
    "congestion": congestion_parse.COLUMNS,
    "drops": drops_parse.COLUMNS,
    "queue": queue_parse.COLUMNS,
    "sockets": socket_columns_parse.COLUMNS,
    "protocol": protocol_parse.COLUMNS,
}
#: Numbers without a unit: names, counts and numbers of something, or whether it is so.
NAMES = {
    "local_port", "connection", "packet", "ttl", "ip_id", "ip_checksum_ok", "checksum_ok",
    "retransmission", "tcp_flags", "seq", "ack", "sack_blocks", "dupack_count", "window_scale",
    "data_chunk_count", "tsn", "data_chunks", "cum_tsn_ack", "gap_blocks", "duplicate_tsns",
    "closes", "reorderings", "timeouts", "backoffs", "gap_blocks_received", "delivery_app_limited",
    "paths", "streams_in", "streams_out", "path_errors", "association_errors", "value",
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
def test_a_number_names_its_unit(table: str) -> None:
    columns: dict[str, Any] = TABLES[table]
    numbers = {name for name, kind in columns.items() if kind != pl.String}
    assert {name for name in numbers if not name.endswith(SUFFIXES)} <= NAMES
