"""What the congestion window does as a loss episode ends, and until it has grown again. Pure."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from collectors.episodes.row import EpisodeRow, Window, between_s


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
