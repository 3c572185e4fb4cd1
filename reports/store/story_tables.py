"""Reads a cell's ``episodes.parquet`` and ``limits.parquet``; what is unsound is a ``ParseError``.

A cell that recorded neither has no such tables: that is None, and nothing is ever read as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from model.run_files.kernel_tables import CongestionRow
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from reports.store.columns import read_columns

Row = dict[str, Any]
_WINDOWS = ("flow", "event", "t_s", "cwnd_bytes")


def read_episodes(path: Path) -> tuple[Row, ...] | None:
    """Return the rows of a cell's episodes; None if it has no such table."""
    return _read(path, EpisodeRow)


def read_limits(path: Path) -> tuple[Row, ...] | None:
    """Return what limited each flow over the whole run; None if the cell has no such table."""
    rows = _read(path, LimitsRow)
    return None if rows is None else tuple(row for row in rows if row["span"] == "run")


def read_windows(path: Path, times: Sequence[tuple[str, float]]) -> dict[tuple[str, float], int]:
    """Return the congestion window of flows at times: what the next acknowledgement meets.

    What is not known has no entry; without times the table is not read.
    """
    if not times or not path.exists():
        return {}
    acks = read_columns(path, CongestionRow, _WINDOWS).filter(event="ack")
    found = {}
    for flow, t_s in times:
        met = acks.filter(pl.col("t_s") >= t_s, flow=flow)["cwnd_bytes"].head(1).drop_nulls()
        if len(met):
            found[flow, t_s] = int(met[0])
    return found


def _read(path: Path, row_type: type) -> tuple[Row, ...] | None:
    if not path.exists():
        return None
    return tuple(read_columns(path, row_type).iter_rows(named=True))
