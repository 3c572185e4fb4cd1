"""The columns of every table of a cell, by the table's name: what docs and checks go by."""

from __future__ import annotations

from typing import Any

from collectors import (
    congestion_parse,
    drops_parse,
    packet_columns_parse,
    protocol_parse,
    queue_parse,
    socket_columns_parse,
)
from collectors.audit_parse import AuditRow
from collectors.episode_row_parse import EpisodeRow
from collectors.flows_parse import FlowRow, IntervalRow
from collectors.limits_parse import LimitsRow
from collectors.path_parse import PathRow
from collectors.table_files_parse import schema
from collectors.tables_parse import QdiscRow

TABLES: dict[str, dict[str, Any]] = {
    "flows": schema(FlowRow),
    "intervals": schema(IntervalRow),
    "qdiscs": schema(QdiscRow),
    "packets": packet_columns_parse.COLUMNS,
    "path": schema(PathRow),
    "audit": schema(AuditRow),
    "episodes": schema(EpisodeRow),
    "limits": schema(LimitsRow),
    "congestion": congestion_parse.COLUMNS,
    "drops": drops_parse.COLUMNS,
    "queue": queue_parse.COLUMNS,
    "sockets": socket_columns_parse.COLUMNS,
    "protocol": protocol_parse.COLUMNS,
}
