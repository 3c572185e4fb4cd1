"""The congestion window around the moment a sender acted, and words of a loss episode. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.episodes.retransmissions import AT_ONCE_S
from collectors.packets.seen import Floats

CAPTURES, TELEMETRY = "captures", "telemetry"
#: What detected a loss.
DUPACKS, RACK, PROBE, TIMEOUT = "dupacks", "rack", "probe", "timeout"
#: The duplicates that are looked at one by one, and the column of each.
EACH_DUPACK = {k: f"new_data_on_dupack_{k}_pkts" for k in (1, 2, 3)}


@dataclass(frozen=True, kw_only=True)
class Window:
    """One flow's congestion window as each acknowledgement met it; unknown is NaN."""

    t_s: Floats
    cwnd_bytes: Floats
    ssthresh_bytes: Floats

    def before(self, t_s: float) -> int | None:
        """Return the window that the last acknowledgement up to a time met.

        None if no acknowledgement is known from then on: the kernel may have stopped telling.
        """
        index = self._after(t_s) - 1
        told = index + 1 < len(self.t_s) or (index >= 0 and t_s - self.t_s[index] <= AT_ONCE_S)
        return _whole(self.cwnd_bytes, index) if told else None

    def after(self, t_s: float) -> tuple[int | None, int | None]:
        """Return window and threshold that the first acknowledgement after a time met."""
        index = self._after(t_s)
        return _whole(self.cwnd_bytes, index), _whole(self.ssthresh_bytes, index)

    def changes(self, since_s: float, until_s: float) -> int | None:
        """Return how often what acknowledgements met changed, from the first after a time on.

        To the last up to the other time; None if one is not known, or none came.
        """
        met = self.cwnd_bytes[self._after(since_s) : self._after(until_s)]
        return None if not len(met) or np.isnan(met).any() else int((np.diff(met) != 0).sum())

    def regrown_s(
        self, low_bytes: int, high_bytes: int, since_s: float, until_s: float
    ) -> float | None:
        """Return when an acknowledgement made the window ``high_bytes``, after it had been low.

        None unless both were between the times: Linux's TCP lowers it step by step.
        """
        first, end = self._after(since_s), self._after(until_s)
        low = np.flatnonzero(self.cwnd_bytes[first:end] <= low_bytes)
        first += int(low[0]) if len(low) else end
        high = np.flatnonzero(self.cwnd_bytes[first:end] >= high_bytes)
        # An acknowledgement shows what it meets: the one before it did that.
        return float(self.t_s[first + int(high[0]) - 1]) if len(high) else None

    def _after(self, t_s: float) -> int:
        return int(np.searchsorted(self.t_s, t_s + AT_ONCE_S, side="right"))


def window(congestion: pl.DataFrame, flow: str) -> Window:
    """Return a flow's window: of its busiest connection and path."""
    rows = main_rows(congestion, flow).filter(pl.col("event") == "ack")
    names = ("t_s", "cwnd_bytes", "ssthresh_bytes")
    return Window(**{n: rows[n].cast(pl.Float64).fill_null(np.nan).to_numpy() for n in names})


def main_rows(congestion: pl.DataFrame, flow: str) -> pl.DataFrame:
    """Return the rows of a flow's busiest connection, and of the busiest path of its ACKs."""
    is_own = congestion["flow"] == flow
    rows = congestion if is_own.all(ignore_nulls=False) else congestion.filter(is_own)
    for name in ("local_port", "path"):
        if rows[name].drop_nulls().n_unique() > 1:
            busiest = rows[name].drop_nulls().value_counts(sort=True)[name][0]
            rows = rows.filter(pl.col(name) == busiest)
    return rows


def _whole(values: Floats, index: int) -> int | None:
    if not 0 <= index < len(values) or np.isnan(values[index]):
        return None
    return int(values[index])


def between_s(start_s: float | None, end_s: float | None) -> float | None:
    """Return the time from one event to another; None if one of them is not known."""
    return None if start_s is None or end_s is None else end_s - start_s
