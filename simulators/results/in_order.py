"""How much of what arrived is new and in order: what a receiver can hand over. Pure.

Positions are bytes of TCP or numbers of packets, unwrapped by the caller or not, and count on.
Invariant: what is held beyond a hole is bounded; who sends more holes than that is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

#: Pieces beyond holes that are held for one flow, and for all flows of a file together.
MOST_HELD, MOST_HELD_IN_ALL = 100_000, 1_000_000


class TooManyHolesError(Exception):
    """More pieces are beyond holes than any receiver's window has room for."""


@dataclass(kw_only=True)
class InOrder:
    """What has arrived: all before ``edge``, and pieces beyond holes, in order and apart."""

    edge: int
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def arrived(self, start: int, end: int) -> int:
        """Take what lies from ``start`` to before ``end``; return how far the edge moved."""
        before = self.edge
        if end <= self.edge:
            return 0
        if start <= self.edge:
            self.edge = end
            self._advance()
        else:
            self._hold(start, end)
        return self.edge - before

    def _advance(self) -> None:
        taken = 0
        while taken < len(self.starts) and self.starts[taken] <= self.edge:
            self.edge = max(self.edge, self.ends[taken])
            taken += 1
        del self.starts[:taken], self.ends[:taken]

    def _hold(self, start: int, end: int) -> None:
        first = bisect_right(self.starts, start)
        if first and self.ends[first - 1] >= start:
            first -= 1
            start = self.starts[first]
        last = first
        while last < len(self.starts) and self.starts[last] <= end:
            end = max(end, self.ends[last])
            last += 1
        self.starts[first:last], self.ends[first:last] = [start], [end]
        if len(self.starts) > MOST_HELD:
            raise TooManyHolesError
