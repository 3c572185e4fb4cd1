"""What is read of the rows of a cell's tables, typed. No I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FlowRow:
    """What metrics need of one row of ``tables/flows.parquet``."""

    flow: str
    group: str
    goodput_bps: float | None
    loss_offered_pkts: int | None
    loss_dropped_pkts: int | None
    cwnd_mean_segments: float | None = None


@dataclass(frozen=True, kw_only=True)
class PathReading:
    """What is shown of one row of ``tables/path.parquet``."""

    flow: str
    connect_to_data_s: float | None
    bottleneck_wire_rate_bps: float | None
    ack_wire_rate_bps: float | None
    owd_mean_s: float | None
    owd_p95_s: float | None
    jitter_mean_s: float | None
    jitter_min_s: float | None
    jitter_p50_s: float | None
    jitter_max_s: float | None
    queue_mean_s: float | None
