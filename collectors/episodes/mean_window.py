"""A flow's mean congestion window over the measuring window, in segments. Pure.

Invariant: the kernel's events tell the window an event *meets*, so each value held since the event
before; what held before the first event and after the last is unknown and has no weight.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from collectors.episodes.limits import packet_bytes
from collectors.episodes.row import main_rows
from model.cell import Cell, Flow


def mean_cwnd_segments(flow: Flow, cell: Cell, congestion: pl.DataFrame) -> float | None:
    """Return the mean over time, in segments of the flow's payload; None if it is not known.

    TCP's kernel counts segments; SCTP's bytes are divided by the user data of a full packet.
    """
    counted = "cwnd_segments" if flow.protocol == "tcp" else "cwnd_bytes"
    rows = main_rows(congestion, flow.id).filter(pl.col(counted).is_not_null())
    t_s = np.clip(rows["t_s"].to_numpy(), cell.measure_from_s, cell.measure_to_s)
    held_s = np.diff(t_s)
    if not held_s.sum() > 0:
        return None
    size = 1 if flow.protocol == "tcp" else packet_bytes(flow, rows)
    return float((rows[counted].to_numpy()[1:] * held_s).sum() / held_s.sum() / size)
