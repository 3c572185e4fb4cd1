"""Goodput over time on one grid for all flows of a cell. Pure.

Invariants: a value of the grid is that of the receiver's interval which ends there, to the last
digit; 0 only where the flow was on and its receiver got nothing; None where nothing is known.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reports.exports.cell import NS_PER_S

#: From bytes per nanosecond to Mbit/s.
MBPS_PER_BYTE_PER_NS = 8 * NS_PER_S // 1_000_000


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One interval of a receiver with data."""

    start_ns: int
    end_ns: int
    goodput_bytes: int

    @property
    def mbps(self) -> float:
        """Return its goodput in Mbit/s."""
        return self.goodput_bytes * MBPS_PER_BYTE_PER_NS / (self.end_ns - self.start_ns)


def grid(intervals: Iterable[Interval], duration_ns: int, interval_ns: int) -> list[int]:
    """Return the ends of all intervals, those without data too, in order."""
    ends = {one.end_ns for one in intervals}
    if interval_ns > 0:
        ends.update(range(interval_ns, duration_ns + 1, interval_ns))
    return sorted(ends)


def on_grid(
    places: Sequence[int], intervals: Sequence[Interval], from_ns: int, to_ns: int
) -> list[float | None]:
    """Return a flow's goodput in Mbit/s at each place of the grid.

    Args:
        places: the grid.
        intervals: the flow's, in order.
        from_ns: when it begins.
        to_ns: when it ends.
    """
    by_end = {one.end_ns: one for one in intervals}
    starts = [one.start_ns for one in intervals]
    found: list[float | None] = []
    before = 0
    for place in places:
        if place in by_end:
            found.append(by_end[place].mbps)
        else:
            at = bisect.bisect_left(starts, place) - 1
            silent = at < 0 or intervals[at].end_ns <= before
            found.append(0.0 if silent and from_ns <= before and place <= to_ns else None)
        before = place
    return found


def summed(series: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    """Return the sum of the known values of several series at each place, None without any."""
    return [math.fsum(known) if known else None for known in _known(series)]


def averaged(series: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    """Return the mean of the known values of several series at each place, None without any."""
    return [math.fsum(known) / len(known) if known else None for known in _known(series)]


def _known(series: Mapping[str, Sequence[float | None]]) -> list[list[float]]:
    rows = zip(*series.values(), strict=True)
    return [[value for value in row if value is not None] for row in rows]
