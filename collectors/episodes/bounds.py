"""Where each loss episode of a flow begins and ends. Pure.

An episode begins with the first loss of data after the flow had last recovered. Its end moves each
time the sender acts anew: at its first retransmission, at every timeout, and when it repeats data
beyond the end. It is over when all that was outstanding at the last of these is acknowledged, and
nothing sent by then was lost beyond it. A retransmission with nothing lost makes an episode too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from collectors.episodes.sent_data import Acks, Bools, Data, Ints
from collectors.packets.seen import Floats

NEVER = np.inf


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """One episode: the packets lost and the retransmissions, as rows of :class:`Data`.

    ``lost`` is empty if nothing was lost, ``again`` if the sender never acted; ``recovered_s`` is
    infinite if it never recovered.
    """

    lost: Ints
    again: Ints
    recovered_s: float


def bounds(data: Data, acks: Acks, timeouts: Bools) -> list[Bounds]:
    """Return a flow's episodes in order; ``timeouts`` marks packets sent by that timer."""
    walk = _Walk(data, acks, timeouts)
    found = []
    while (first := walk.next_trouble_s()) < NEVER:
        found.append(walk.episode(first))
    return found


class _Walk:
    """A walk through losses and retransmissions that puts each into one episode."""

    def __init__(self, data: Data, acks: Acks, timeouts: Bools) -> None:
        self.data, self.acks = data, acks
        self.highest = np.maximum.accumulate(data.end)
        self.lost = np.flatnonzero(~np.isnan(data.lost_s))
        self.missed = self.lost[_missed(data, acks, self.lost)]
        self.again = np.flatnonzero(data.again)
        self.lost_s, self.missed_s, self.again_s = (
            data.t_s[rows] for rows in (self.lost, self.missed, self.again)
        )
        self.timeouts = timeouts[self.again]
        self.done_s = -NEVER

    def next_trouble_s(self) -> float:
        """Return when the first packet was sent that is in no episode yet: lost, or repeated."""
        pending = [sent_s[self._from(sent_s) :][:1] for sent_s in (self.missed_s, self.again_s)]
        return min((float(sent_s[0]) for sent_s in pending if len(sent_s)), default=NEVER)

    def _from(self, sent_s: Floats) -> int:
        """Return the first of some packets, by when they were sent, after the last episode."""
        return int(sent_s.searchsorted(self.done_s))

    def episode(self, begins_s: float) -> Bounds:
        """Return the episode whose first packet left at a time, and step to its end."""
        self.done_s = begins_s
        first_lost, first_again = self._from(self.lost_s), self._from(self.again_s)
        recovered_s = self._recovered_s(first_again)
        self.done_s = recovered_s
        return Bounds(
            lost=self.lost[first_lost : self._from(self.lost_s)],
            again=self.again[first_again : self._from(self.again_s)],
            recovered_s=recovered_s,
        )

    def _recovered_s(self, acted: int) -> float:
        """Return when all is well again after the sender acted by a retransmission."""
        while acted < len(self.again):
            target = int(self.highest[self.again[acted]])
            # What was acknowledged before it was repeated is over once that has left.
            left_s = np.nextafter(self.data.t_s[self.again[acted]], NEVER)
            over_s = max(self._acknowledged_s(target), float(left_s))
            anew = self._acts_anew(acted, target, over_s)
            if anew is not None:
                acted = anew
            elif self._lost_beyond(acted, target, over_s):
                acted = self._repairs(acted, target)
            else:
                return over_s
        return NEVER

    def _acknowledged_s(self, target: int) -> float:
        row = int(self.acks.reached.searchsorted(target))
        return float(self.acks.t_s[row]) if row < len(self.acks.t_s) else NEVER

    def _acts_anew(self, acted: int, target: int, over_s: float) -> int | None:
        """Return the next retransmission before the end that moves it, if there is one."""
        rows = self.again[acted + 1 :]
        rows = rows[: self.again_s[acted + 1 :].searchsorted(over_s)]
        moves = self.timeouts[acted + 1 :][: len(rows)] | (self.data.start[rows] >= target)
        return acted + 1 + int(np.argmax(moves)) if moves.any() else None

    def _lost_beyond(self, acted: int, target: int, over_s: float) -> bool:
        """Return whether data beyond the end, sent before it was reached, was lost."""
        first = self.lost.searchsorted(self.again[acted])
        end = self.lost_s.searchsorted(over_s)
        return bool((self.data.start[self.lost[first:end]] >= target).any())

    def _repairs(self, acted: int, target: int) -> int:
        """Return the next retransmission of data beyond the end; past the last if there is none."""
        moves = self.data.start[self.again[acted + 1 :]] >= target
        return acted + 1 + (int(np.argmax(moves)) if moves.any() else len(moves))


def _missed(data: Data, acks: Acks, lost: Ints) -> Bools:
    """Return which lost packets had to be sent again, or would have: no other copy had arrived."""
    last = dict(zip(data.start[data.again].tolist(), data.t_s[data.again].tolist(), strict=True))
    reached = int(acks.reached[-1]) if len(acks.reached) else 0
    repeated = [last.get(int(data.start[row]), -NEVER) > data.t_s[row] for row in lost]
    return np.array(repeated, dtype=bool) | (data.end[lost] > reached)
