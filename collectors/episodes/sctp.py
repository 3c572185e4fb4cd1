"""Loss episodes of an SCTP flow from the kernel's events alone, without captures. Pure.

There is no event for SCTP's retransmissions and none has a TSN: episodes are told by the steps of
the congestion window between two SACKs, and their ends by counting packets. Null is what that does
not tell: all about the loss itself, the reports of it, and when a timeout was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.episodes.bounds import NEVER
from collectors.episodes.retransmissions import THRESHOLD
from collectors.episodes.sent_data import Ints
from collectors.episodes.window import DUPACKS, TELEMETRY, TIMEOUT, between_s, main_rows
from collectors.packets.seen import Floats
from model.cell import Flow
from model.run_files.loss_tables import EpisodeRow

#: A packet's time on the bottleneck is longer, a SACK's shorter.
CLOSE_BEHIND_S = 1e-3


@dataclass(frozen=True, kw_only=True)
class _Step:
    """The window fell while, or after, a SACK was handled: its row, and by what."""

    row: int
    what: str


def sctp_rows(flow: Flow, congestion: pl.DataFrame) -> list[EpisodeRow]:
    """Return a flow's episodes from the rows of ``congestion.parquet``."""
    rows = main_rows(congestion, flow.id).filter(pl.col("cwnd_bytes").is_not_null())
    t_s = rows["t_s"].to_numpy()
    unacked = rows["unacked_chunks"].to_numpy()
    cwnd, ssthresh, flight, mtu = (
        rows[name].to_numpy()
        for name in ("cwnd_bytes", "ssthresh_bytes", "flight_bytes", "mtu_bytes")
    )
    found = []
    sacks = _sacks(t_s, unacked, cwnd, rows["snd_wnd_bytes"].to_numpy() + flight)
    for number, (steps, over) in enumerate(_stretches(_steps(cwnd, ssthresh, mtu), sacks)):
        row, fast = steps[0].row, steps[0].what == DUPACKS
        detected_s = float(t_s[row]) if fast else None
        recovered_s = float(t_s[over]) if over < len(t_s) else None
        found.append(
            EpisodeRow(
                flow=flow.id,
                protocol=flow.protocol,
                episode=number,
                basis=TELEMETRY,
                detected_s=detected_s,
                detected_by=steps[0].what,
                timeouts=sum(step.what == TIMEOUT for step in steps),
                cwnd_before_bytes=int(cwnd[row]),
                cwnd_after_bytes=int(cwnd[row + 1]),
                ssthresh_after_bytes=int(ssthresh[row + 1]),
                flight_before_bytes=int(flight[row]) if fast else None,
                recovered_s=recovered_s,
                recover_s=between_s(detected_s, recovered_s),
            )
        )
    return found


def _steps(cwnd: Ints, ssthresh: Ints, mtu: Ints) -> list[_Step]:
    """Return where the window was lowered between two SACKs, as RFC 9260, section 7.2.3, has it.

    A fast retransmission sets window and threshold alike (it may raise a window below 4 MTU); a
    timeout of T3 leaves one MTU.
    """
    moved, fell = ssthresh[1:] != ssthresh[:-1], cwnd[1:] < cwnd[:-1]
    timeout = (cwnd[1:] <= mtu[1:]) & (moved | fell)
    fast = (cwnd[1:] == ssthresh[1:]) & (moved | fell)
    return [
        _Step(row=int(row), what=TIMEOUT if timeout[row] else DUPACKS)
        for row in np.flatnonzero(timeout | fast)
    ]


@dataclass(frozen=True, kw_only=True)
class _Sacks:
    """What the SACKs of an association tell, one item each.

    ``unacked`` chunks were outstanding when it came, ``packets`` had been acknowledged after it,
    and ``complete`` lists those at which the receiver seems to have held nothing out of order.
    """

    unacked: Ints
    packets: Ints
    complete: Ints

    def over(self, step: _Step) -> int:
        """Return the SACK after which all that was outstanding at a step is acknowledged."""
        # A fast retransmission comes while a SACK is handled, a timeout before the next one.
        row = step.row if step.what == DUPACKS else step.row + 1
        before = self.packets[row] - 1
        least = int(np.searchsorted(self.packets, before + self.unacked[row]))
        index = int(np.searchsorted(self.complete, least))
        return int(self.complete[index]) if index < len(self.complete) else len(self.packets)

    def joins(self, step: _Step, over: int) -> bool:
        """Return whether a step is about data sent before an episode was over."""
        # The first report that a chunk is missing comes where its own acknowledgement would have.
        first = 1 - THRESHOLD if step.what == DUPACKS else 1
        missed = self.packets[step.row] + first
        return step.row <= over or bool(missed <= self.packets[over] - 1 + self.unacked[over])


def _sacks(t_s: Floats, unacked: Ints, cwnd: Ints, advertised_bytes: Ints) -> _Sacks:
    """Return what is known of each SACK from what the next one met.

    ``advertised_bytes`` is the peer's window and what is in flight, which add up to what the SACK
    before advertised. One close behind another that opens the window, because the receiver's
    application has read, acknowledges nothing; each other is taken to acknowledge one packet.
    Nothing is held out of order if the next packet finds as much room as any does; and in fast
    recovery no window grows.
    """
    opens = np.concatenate([np.diff(advertised_bytes) > 0, [False]])
    counts = ~(opens & (np.diff(t_s, prepend=-NEVER) < CLOSE_BEHIND_S))
    room = np.concatenate([advertised_bytes[1:], [-1]])
    most = room[counts].max(initial=0)
    following = np.searchsorted(np.flatnonzero(counts), np.arange(len(counts)), side="right")
    next_room = np.append(room[counts], -1)[following]
    grows = np.concatenate([np.diff(cwnd) > 0, [False]])
    return _Sacks(
        unacked=unacked,
        packets=np.cumsum(counts),
        complete=np.flatnonzero((next_room >= most) | grows),
    )


def _stretches(steps: list[_Step], sacks: _Sacks) -> list[tuple[list[_Step], int]]:
    """Return the steps of each episode, and the SACK with which it was over.

    SACKs have no TSN here, but a queue keeps order: what was outstanding is acknowledged after as
    many SACKs as there were packets.
    """
    found: list[tuple[list[_Step], int]] = []
    pending = steps[::-1]
    while pending:
        inside = [pending.pop()]
        while True:
            over = sacks.over(inside[-1])
            if not pending or (over < len(sacks.packets) and not sacks.joins(pending[-1], over)):
                break
            inside.append(pending.pop())
        found.append((inside, over))
    return found
