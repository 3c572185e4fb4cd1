"""The congestion window: as a loss episode ends and until it has grown again, and its mean. Pure.

Invariant of the mean: the kernel's events tell the window an event *meets*, so each value held
since the event before; before the first and after the last it is unknown and has no weight.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from collectors.episodes.sender_limits import packet_bytes
from collectors.episodes.window import Window, between_s, main_rows
from model.cell import Cell, Flow
from model.run_files.loss_tables import EpisodeRow


def with_windows(
    rows: Sequence[EpisodeRow], seen: Window, message_bytes: int
) -> Iterator[EpisodeRow]:
    """Yield a flow's episodes, in order, with the windows around and after their ends.

    A window has grown again once it is ``message_bytes`` above the threshold that the loss left,
    having come down to that, and the sender having acted on no other loss until then.
    """
    for row, following in itertools.zip_longest(rows, rows[1:]):
        over_s = row.recovered_s
        regrown_s = _regrown_s(row, following, seen, message_bytes)
        yield dataclasses.replace(
            row,
            cwnd_changes=_changes(row, seen),
            cwnd_at_recovery_bytes=None if over_s is None else seen.before(over_s),
            cwnd_after_recovery_bytes=None if over_s is None else seen.after(over_s)[0],
            regrown_s=regrown_s,
            regrow_s=between_s(row.detected_s, regrown_s),
        )


def _changes(row: EpisodeRow, seen: Window) -> int | None:
    if row.detected_s is None or row.recovered_s is None:
        return None
    return seen.changes(row.detected_s, row.recovered_s)


def _regrown_s(
    row: EpisodeRow, following: EpisodeRow | None, seen: Window, message_bytes: int
) -> float | None:
    """Return when the window had grown again; None also after a timeout, which empties it."""
    if row.detected_s is None or row.ssthresh_after_bytes is None or row.timeouts:
        return None
    until_s = float(seen.t_s[-1]) if len(seen.t_s) else 0.0
    if following is not None:
        # When the sender acted on the next is not told of timeouts: up to here it had not.
        acted_s = following.detected_s if following.detected_s is not None else row.recovered_s
        until_s = acted_s if acted_s is not None else row.detected_s
    low_bytes = row.ssthresh_after_bytes
    return seen.regrown_s(low_bytes, low_bytes + message_bytes, row.detected_s, until_s)


def mean_cwnd_segments(flow: Flow, cell: Cell, congestion: pl.DataFrame) -> float | None:
    """Return the mean over the measuring window, in segments of payload; None if it is not known.

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
