"""Loss episodes as ``tables/episodes.parquet`` tells them, for those cells that have it. Pure.

Invariants: an episode without the times that place it in the capture is left out; a cell without
the table has no episodes, and the captures alone tell the story.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from model.run_files.loss_tables import EpisodeRow
from reports.store.columns import read_columns

#: How far a time in the table may be from the same one in the packets table, both being floats.
SAME_TIME_S = 1e-6
_USED = (
    "flow", "episode", "basis", "detected_s", "detected_by", "dupacks", "recovered_s",
    "cwnd_before_bytes", "cwnd_after_bytes", "ssthresh_after_bytes", "flight_at_act_bytes",
    "cwnd_at_recovery_bytes", "cwnd_after_recovery_bytes",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Episode:
    """One loss episode of a flow: ``by`` is what made the sender act, on the n-th dupack.

    Windows are those of the table; None is unknown.
    """

    number: int
    detected_s: float
    by: str | None
    dupacks: int | None
    recovered_s: float | None
    cwnd_before_bytes: int | None = None
    cwnd_after_bytes: int | None = None
    ssthresh_after_bytes: int | None = None
    flight_at_act_bytes: int | None = None
    cwnd_at_recovery_bytes: int | None = None
    cwnd_after_recovery_bytes: int | None = None

    def begins_at(self, t_s: float) -> bool:
        """Return whether the sender acted at this time."""
        return abs(t_s - self.detected_s) <= SAME_TIME_S

    def over_at(self, t_s: float) -> bool:
        """Return whether all of it is acknowledged by this time."""
        return self.recovered_s is not None and t_s >= self.recovered_s - SAME_TIME_S

    def reduced(self) -> str:
        """Return, to be appended, what the sender made of its window when it acted."""
        told = _changed(self.cwnd_before_bytes, self.cwnd_after_bytes)
        if told and self.ssthresh_after_bytes is not None:
            told += f", threshold {self.ssthresh_after_bytes}"
        if told and self.flight_at_act_bytes is not None:
            told += f", {self.flight_at_act_bytes} outstanding"
        return told

    def left(self) -> str:
        """Return, to be appended, what its window is after the recovery."""
        return _changed(self.cwnd_at_recovery_bytes, self.cwnd_after_recovery_bytes)


def _changed(before_bytes: int | None, after_bytes: int | None) -> str:
    if before_bytes is None or after_bytes is None:
        return ""
    if before_bytes == after_bytes:
        return f", congestion window {after_bytes} bytes"
    return f", congestion window from {before_bytes} to {after_bytes} bytes"


def read_episodes(path: Path) -> dict[str, tuple[Episode, ...]]:
    """Return the episodes of each flow in order of time; none if there is no such table.

    Raises:
        ParseError: the file is no such table.
    """
    return by_flow(read_columns(path, EpisodeRow, _USED)) if path.exists() else {}


def by_flow(table: pl.DataFrame) -> dict[str, tuple[Episode, ...]]:
    """Return the episodes that captures can place, by flow."""
    placed = table.filter(
        pl.col("basis") == "captures", pl.col("flow", "episode", "detected_s").is_not_null()
    ).sort("flow", "detected_s")
    found: dict[str, list[Episode]] = {}
    for row in placed.iter_rows(named=True):
        episode = Episode(
            number=row["episode"], detected_s=row["detected_s"], by=row["detected_by"],
            dupacks=row["dupacks"], recovered_s=row["recovered_s"],
            **{name: row[name] for name in _USED if name.endswith("_bytes")},
        )  # fmt: skip
        found.setdefault(row["flow"], []).append(episode)
    return {flow: tuple(episodes) for flow, episodes in found.items()}
