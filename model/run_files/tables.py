"""The tables of a cell, each declared once: by a class whose fields are its columns, in order.

Its writer builds the table from it, its reader takes names and types from it, and docs/columns.md
is made of it, with what the comments (``#:``) at its fields say.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import polars as pl

from model.run_files.kernel_tables import CongestionRow, CounterRow, DropRow, QueueRow, SocketRow
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from model.run_files.path_tables import AirtimeRow, EventRow, PathStateRow, RadioRow, RouteRow
from model.run_files.traffic_tables import (
    AcknowledgementRow,
    AuditRow,
    FlowRow,
    IntervalRow,
    MessageRow,
    PacketRow,
    PathRow,
    QdiscRow,
)

_TYPES = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
#: By the file's name.
TABLES: dict[str, type] = {
    "flows": FlowRow,
    "intervals": IntervalRow,
    "messages": MessageRow,
    "acknowledgements": AcknowledgementRow,
    "qdiscs": QdiscRow,
    "packets": PacketRow,
    "path": PathRow,
    "audit": AuditRow,
    "episodes": EpisodeRow,
    "limits": LimitsRow,
    "congestion": CongestionRow,
    "drops": DropRow,
    "queue": QueueRow,
    "sockets": SocketRow,
    "protocol": CounterRow,
    "events": EventRow,
    "paths": PathStateRow,
    "radios": RadioRow,
    "airtime": AirtimeRow,
    "routes": RouteRow,
}


def schema(row_type: type) -> dict[str, Any]:
    """Return the Parquet columns of a table; any of them can hold nulls."""
    return {name: _type(hint) for name, hint in get_type_hints(row_type).items()}


def fitted(rows: pl.DataFrame, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return all columns of a table, typed and in order; one that is not there is null."""
    there = {name: pl.col(name) if name in rows.columns else pl.lit(None) for name in columns}
    return rows.select(there[name].cast(kind).alias(name) for name, kind in columns.items())


def _type(hint: Any) -> Any:
    parts = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) is list:
        return pl.List(_type(parts[0]))
    if parts:  # or null
        return _type(parts[0])
    return _TYPES.get(hint) or pl.Struct(schema(hint))
