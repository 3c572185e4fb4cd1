"""What is said of how nodes move and who can reach whom: speeds, pauses, neighbours, hops. Pure.

Standard library only. Invariants: means are weighted with time, over all nodes, between two times;
what depends on links depends on contacts alone (:mod:`model.movement.closeness`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from model.movement.closeness import Links, changes
from model.movement.paths import Movement
from model.units import MM_PER_M, NS_PER_S


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """How nodes move on average: their speed with pauses, and the share of time that they stand."""

    mean_mps: float
    paused_frac: float

    @property
    def moving_mps(self) -> float | None:
        """The mean speed of those that move; None if none does."""
        return self.mean_mps / (1 - self.paused_frac) if self.paused_frac < 1 else None


@dataclass(frozen=True, slots=True)
class Hops:
    """From a time on: the fewest links between two nodes, None while no links join them."""

    t_ns: int
    hops: int | None


def speeds(movement: Movement, from_ns: int, to_ns: int) -> Speeds:
    """Return the mean speed and the share of pauses between two times."""
    gone_mm, paused_ns = 0.0, 0
    for path in movement.paths:
        for piece in path.pieces(from_ns, to_ns):
            vx, vy = piece.x_mm_per_s, piece.y_mm_per_s
            if vx == 0 and vy == 0:
                paused_ns += piece.to_ns - piece.from_ns
            else:
                gone_mm += math.sqrt(vx * vx + vy * vy) * (piece.to_ns - piece.from_ns) / NS_PER_S
    whole_ns = (to_ns - from_ns) * movement.nodes
    return Speeds(
        mean_mps=gone_mm / MM_PER_M / (whole_ns / NS_PER_S), paused_frac=paused_ns / whole_ns
    )


def mean_neighbours(found: Links) -> float:
    """Return how many nodes are in range of one, on average over nodes and time."""
    together_ns = sum(
        contact.to_ns - contact.from_ns for met in found.contacts.values() for contact in met
    )
    return 2 * together_ns / (found.nodes * found.until_ns)


def link_changes_per_s(found: Links) -> float:
    """Return how many links begin or end per second, in the whole network."""
    number = sum(len(one.begun) + len(one.ended) for one in changes(found) if one.t_ns > 0)
    return number / (found.until_ns / NS_PER_S)


def hops_over_time(found: Links, one: int, other: int) -> tuple[Hops, ...]:
    """Return the fewest hops between two nodes, from 0 on, a step for each change of it."""
    near = [0] * found.nodes
    steps: list[Hops] = []
    for change in changes(found):
        for here, there in (*change.begun, *change.ended):
            near[here] ^= 1 << there
            near[there] ^= 1 << here
        hops = _hops(near, one, other)
        if not steps or steps[-1].hops != hops:
            steps.append(Hops(change.t_ns, hops))
    return tuple(steps)


def connected_frac(steps: Sequence[Hops], until_ns: int) -> float:
    """Return the share of time in which links join two nodes; the rest they are partitioned."""
    joined_ns = sum(length_ns for hops, length_ns in _lengths(steps, until_ns) if hops is not None)
    return joined_ns / until_ns


def mean_hops(steps: Sequence[Hops], until_ns: int) -> float | None:
    """Return the mean of the fewest hops while there are any; None if there never are."""
    lengths = [(hops, ns) for hops, ns in _lengths(steps, until_ns) if hops is not None]
    whole_ns = sum(length_ns for _, length_ns in lengths)
    return sum(hops * length_ns for hops, length_ns in lengths) / whole_ns if whole_ns else None


def _lengths(steps: Sequence[Hops], until_ns: int) -> list[tuple[int | None, int]]:
    ends = [*(step.t_ns for step in steps[1:]), until_ns]
    return [(step.hops, end - step.t_ns) for step, end in zip(steps, ends, strict=True)]


def _hops(near: Sequence[int], one: int, other: int) -> int | None:
    """Return the fewest links between two; bit n of ``near[m]`` says that m and n have one."""
    seen = front = 1 << one
    hops = 0
    while front:
        if front >> other & 1:
            return hops
        reached = 0
        while front:
            lowest = front & -front
            reached |= near[lowest.bit_length() - 1]
            front ^= lowest
        front = reached & ~seen
        seen |= reached
        hops += 1
    return None
