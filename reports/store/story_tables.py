"""Reads a cell's ``episodes.parquet`` and ``limits.parquet``; what is unsound is a ``ParseError``.

A cell that recorded neither has no such tables: that is None, and nothing is ever read as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reports.store.columns import read_columns

Row = dict[str, Any]

EPISODE_COLUMNS = (
    "flow", "protocol", "episode", "basis", "lost_s", "lost_pkts", "first_lost_segment",
    "detected_s", "detected_by", "dupacks", "new_data_pkts", "new_data_on_dupack_1_pkts",
    "new_data_on_dupack_2_pkts", "new_data_on_dupack_3_pkts", "first_new_on_dupack",
    "first_new_segment", "acks_to_new_data_pkts", "retransmitted_pkts", "lost_again_pkts",
    "timeouts",
    "cwnd_before_bytes", "cwnd_after_bytes", "ssthresh_after_bytes", "flight_before_bytes",
    "flight_at_act_bytes", "cwnd_changes", "cwnd_at_recovery_bytes", "cwnd_after_recovery_bytes",
    "recovered_s", "detect_s", "recover_s", "regrow_s",
)  # fmt: skip
#: What of limits.parquet is averaged.
LIMIT_COLUMNS = (
    "recovering_frac", "cwnd_frac", "rwnd_frac", "sender_frac", "unknown_frac",
    "bottleneck_busy_frac", "tcp_busy_s", "tcp_rwnd_limited_s", "tcp_sndbuf_limited_s",
    "loss_frac", "rtt_s", "rto_s", "rate_bps", "sqrt_bound_bps", "pftk_bound_bps",
    "rate_of_sqrt_frac", "rate_of_pftk_frac",
)  # fmt: skip


def read_episodes(path: Path) -> tuple[Row, ...] | None:
    """Return the rows of a cell's episodes; None if it has no such table."""
    return _read(path, EPISODE_COLUMNS)


def read_limits(path: Path) -> tuple[Row, ...] | None:
    """Return what limited each flow over the whole run; None if the cell has no such table."""
    rows = _read(path, ("flow", "span", *LIMIT_COLUMNS))
    return None if rows is None else tuple(row for row in rows if row["span"] == "run")


def read_windows(path: Path, times: Sequence[tuple[str, float]]) -> dict[tuple[str, float], int]:
    """Return the congestion window of flows at times: what the next acknowledgement meets.

    What is not known has no entry; without times the table is not read.
    """
    if not times or not path.exists():
        return {}
    acks = read_columns(path, ("flow", "event", "t_s", "cwnd_bytes")).filter(event="ack")
    found = {}
    for flow, t_s in times:
        met = acks.filter(pl.col("t_s") >= t_s, flow=flow)["cwnd_bytes"].head(1).drop_nulls()
        if len(met):
            found[flow, t_s] = int(met[0])
    return found


def _read(path: Path, wanted: tuple[str, ...]) -> tuple[Row, ...] | None:
    if not path.exists():
        return None
    return tuple(read_columns(path, wanted).iter_rows(named=True))
