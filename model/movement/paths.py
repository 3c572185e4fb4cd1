"""Where nodes are: rows of time and place, and between two of a node's rows a straight line. Pure.

Standard library only. Invariants: times are whole nanoseconds from the start of the run, places
whole millimetres; the times of a node's rows ascend; between two rows it moves at constant speed,
before its first and after its last it stays.
"""

from __future__ import annotations

import bisect
import functools
import math
from dataclasses import dataclass

from model.units import MM_PER_M, NS_PER_S

#: What a movement may hold: a C program keeps places in 32 bits, times in 64.
MOST_NODES, MOST_ROWS, MOST_MM, MOST_NS = 10_000, 2_000_000, 2**31 - 1, 2**62


@dataclass(frozen=True, kw_only=True)
class Field:
    """The rectangle that nodes are in: from 0 to width, from 0 to height, edges included."""

    width_mm: int
    height_mm: int

    def __post_init__(self) -> None:
        if not (0 < self.width_mm <= MOST_MM and 0 < self.height_mm <= MOST_MM):
            raise ValueError(f"no field of {self.width_mm} by {self.height_mm} mm")

    @property
    def diagonal_mm(self) -> float:
        """How far apart two nodes can be."""
        return math.sqrt(self.width_mm * self.width_mm + self.height_mm * self.height_mm)

    def holds(self, x_mm: float, y_mm: float) -> bool:
        """Return whether a place is in it."""
        return 0 <= x_mm <= self.width_mm and 0 <= y_mm <= self.height_mm


@dataclass(frozen=True, slots=True)
class Row:
    """Where a node is at a time."""

    t_ns: int
    x_mm: int
    y_mm: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a path: from a time to a time, from a place on, at a velocity."""

    from_ns: int
    to_ns: int
    x_mm: float
    y_mm: float
    x_mm_per_s: float
    y_mm_per_s: float

    def at(self, t_ns: int) -> tuple[float, float]:
        """Return the place at a time of the stretch."""
        since_s = (t_ns - self.from_ns) / NS_PER_S
        return self.x_mm + self.x_mm_per_s * since_s, self.y_mm + self.y_mm_per_s * since_s


@dataclass(frozen=True)
class Path:
    """All rows of a node, at least one."""

    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError("a path without a row")
        for one, following in zip(self.rows, self.rows[1:], strict=False):
            if one.t_ns >= following.t_ns:
                raise ValueError(f"times that do not ascend: {one.t_ns}, {following.t_ns}")

    @functools.cached_property
    def _times_ns(self) -> tuple[int, ...]:
        return tuple(row.t_ns for row in self.rows)

    def at(self, t_ns: int) -> tuple[float, float]:
        """Return the place at a time, in mm."""
        after = bisect.bisect_right(self._times_ns, t_ns)
        if after == 0 or after == len(self.rows):
            row = self.rows[max(after - 1, 0)]
            return float(row.x_mm), float(row.y_mm)
        one, following = self.rows[after - 1], self.rows[after]
        gone_ns, whole_ns = t_ns - one.t_ns, following.t_ns - one.t_ns
        # Of whole numbers, so that a division rounds once.
        return (
            one.x_mm + (following.x_mm - one.x_mm) * gone_ns / whole_ns,
            one.y_mm + (following.y_mm - one.y_mm) * gone_ns / whole_ns,
        )

    def until(self, t_ns: int) -> Path:
        """Return the same up to a time; of what comes later the end of a trip under way is left."""
        later = bisect.bisect_left(self._times_ns, t_ns)
        return Path(self.rows[: later + 1])

    def speed_mps(self, t_ns: int) -> float:
        """Return the speed from a time on; on a row's time that of what follows."""
        after = bisect.bisect_right(self._times_ns, t_ns)
        if after == 0 or after == len(self.rows):
            return 0.0
        return _speed_mps(self.rows[after - 1], self.rows[after])

    def pieces(self, from_ns: int, to_ns: int) -> tuple[Piece, ...]:
        """Return the stretches between two times, none of them empty, that follow on each other."""
        first, last = self.rows[0], self.rows[-1]
        found = []
        if from_ns < first.t_ns:
            found.append(_still(from_ns, min(first.t_ns, to_ns), first))
        begin = max(bisect.bisect_right(self._times_ns, from_ns) - 1, 0)
        for one, following in zip(self.rows[begin:], self.rows[begin + 1 :], strict=False):
            if one.t_ns >= to_ns:
                break
            found.append(_part(one, following, max(one.t_ns, from_ns), min(following.t_ns, to_ns)))
        if last.t_ns < to_ns:
            found.append(_still(max(last.t_ns, from_ns), to_ns, last))
        return tuple(piece for piece in found if piece.from_ns < piece.to_ns)


@dataclass(frozen=True)
class Movement:
    """The paths of all nodes, which are numbered from 0."""

    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        if not self.paths:
            raise ValueError("a movement without a node")

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.paths)

    @property
    def last_ns(self) -> int:
        """From when on all nodes stand, whatever they did before."""
        return max(path.rows[-1].t_ns for path in self.paths)

    def until(self, t_ns: int) -> Movement:
        """Return the same up to a time; trips under way are there to their ends."""
        return Movement(tuple(path.until(t_ns) for path in self.paths))

    def distance_mm(self, one: int, other: int, t_ns: int) -> float:
        """Return how far two nodes are apart at a time."""
        (x_mm, y_mm), (other_x_mm, other_y_mm) = (self.paths[n].at(t_ns) for n in (one, other))
        across_mm, up_mm = other_x_mm - x_mm, other_y_mm - y_mm
        return math.sqrt(across_mm * across_mm + up_mm * up_mm)


def length_mm(one: Row, other: Row) -> float:
    """Return how far two places are apart."""
    across_mm, up_mm = other.x_mm - one.x_mm, other.y_mm - one.y_mm
    return math.sqrt(across_mm * across_mm + up_mm * up_mm)


def _speed_mps(one: Row, following: Row) -> float:
    return length_mm(one, following) / MM_PER_M / ((following.t_ns - one.t_ns) / NS_PER_S)


def _still(from_ns: int, to_ns: int, row: Row) -> Piece:
    return Piece(from_ns, to_ns, row.x_mm, row.y_mm, 0.0, 0.0)


def _part(one: Row, following: Row, from_ns: int, to_ns: int) -> Piece:
    whole_ns = following.t_ns - one.t_ns
    across_mm, up_mm = following.x_mm - one.x_mm, following.y_mm - one.y_mm
    gone_ns = from_ns - one.t_ns
    return Piece(
        from_ns, to_ns,
        one.x_mm + across_mm * gone_ns / whole_ns, one.y_mm + up_mm * gone_ns / whole_ns,
        across_mm * NS_PER_S / whole_ns, up_mm * NS_PER_S / whole_ns,
    )  # fmt: skip
