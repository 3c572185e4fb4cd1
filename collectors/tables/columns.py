"""The columns of every table of a cell, by the table's name: what docs and checks go by."""

from __future__ import annotations

from typing import Any

from collectors.episodes.row import EpisodeRow
from collectors.episodes.sender_limits import LimitsRow
from collectors.packets import columns as packets
from collectors.packets.path import PathRow
from collectors.raw.flows import FlowRow, IntervalRow
from collectors.sockets import columns as sockets
from collectors.sockets import protocol
from collectors.tables.parquet import schema
from collectors.tables.write import QdiscRow
from collectors.trace import congestion, drops, queue
from model.run_files.tables import AuditRow

TABLES: dict[str, dict[str, Any]] = {
    "flows": schema(FlowRow),
    "intervals": schema(IntervalRow),
    "qdiscs": schema(QdiscRow),
    "packets": packets.COLUMNS,
    "path": schema(PathRow),
    "audit": schema(AuditRow),
    "episodes": schema(EpisodeRow),
    "limits": schema(LimitsRow),
    "congestion": congestion.COLUMNS,
    "drops": drops.COLUMNS,
    "queue": queue.COLUMNS,
    "sockets": sockets.COLUMNS,
    "protocol": protocol.COLUMNS,
}
