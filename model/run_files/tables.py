"""Rows of a cell's tables that are written and read alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """One direction of one flow; columns of ``audit.parquet``."""

    flow: str
    direction: str
    basis: str  # captures or counters
    sent_pkts: int | None
    access_dropped_pkts: int | None
    queue_dropped_pkts: int | None
    loss_dropped_pkts: int | None
    exit_dropped_pkts: int | None
    delivered_pkts: int | None
    in_flight_pkts: int | None
    unexplained_pkts: int | None
    closes: bool | None
