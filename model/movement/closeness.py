"""Which nodes are in range of each other, and from when to when: solved, not sampled. Pure.

Standard library only. Two nodes are in range while they are no further apart than it. Between two
rows both move at constant speed, so the square of their distance is a parabola of time, which is
below the range's square in one span at most; its ends are the roots of a quadratic. Invariants: the
contacts of a pair stand in order and do not touch; times are whole nanoseconds. Only operations
that IEEE 754 rounds in one way are used (+, -, *, / and square roots), so every machine finds the
same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from model.movement.paths import Movement, Path, Piece
from model.units import NS_PER_S

#: What rounding may part, or make of nodes that only touch each other's range.
_NOTHING_NS = 1000

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Contact:
    """A time in which two nodes are in range, its end excluded."""

    from_ns: int
    to_ns: int


@dataclass(frozen=True, kw_only=True)
class Links:
    """The contacts of every pair that has any, from 0 to a time; the smaller node stands first."""

    nodes: int
    until_ns: int
    contacts: Mapping[Pair, tuple[Contact, ...]]


@dataclass(frozen=True, slots=True)
class Change:
    """What changes at a time: links that begin, links that end."""

    t_ns: int
    begun: tuple[Pair, ...]
    ended: tuple[Pair, ...]


def links(movement: Movement, range_mm: int, until_ns: int) -> Links:
    """Return the contacts of all pairs from 0 to a time.

    Args:
        movement: the paths of the nodes.
        range_mm: how far apart nodes may be and hear each other.
        until_ns: the end; what goes on there ends with it.
    """
    pieces = [path.pieces(0, until_ns) for path in movement.paths]
    found = {}
    for one in range(movement.nodes):
        for other in range(one + 1, movement.nodes):
            if met := _joined(_in_range(pieces[one], pieces[other], range_mm)):
                found[one, other] = met
    return Links(nodes=movement.nodes, until_ns=until_ns, contacts=found)


def contacts(one: Path, other: Path, range_mm: int, until_ns: int) -> tuple[Contact, ...]:
    """Return when two paths are in range, from 0 to a time."""
    return _joined(_in_range(one.pieces(0, until_ns), other.pieces(0, until_ns), range_mm))


def changes(found: Links) -> Iterator[Change]:
    """Yield what changes, by time; the first is at 0 and has the links that are there then."""
    events: dict[int, tuple[list[Pair], list[Pair]]] = {0: ([], [])}
    for pair, met in found.contacts.items():
        for contact in met:
            events.setdefault(contact.from_ns, ([], []))[0].append(pair)
            if contact.to_ns < found.until_ns:
                events.setdefault(contact.to_ns, ([], []))[1].append(pair)
    for t_ns in sorted(events):
        begun, ended = events[t_ns]
        yield Change(t_ns, tuple(begun), tuple(ended))


def _in_range(
    ones: Sequence[Piece], others: Sequence[Piece], range_mm: int
) -> Iterator[tuple[int, int]]:
    """Yield spans in which two nodes are in range; those of neighbouring pieces may touch."""
    at = along = 0
    while at < len(ones) and along < len(others):
        one, other = ones[at], others[along]
        from_ns, to_ns = max(one.from_ns, other.from_ns), min(one.to_ns, other.to_ns)
        if span := _solved(one, other, from_ns, to_ns, range_mm):
            yield span
        at += one.to_ns == to_ns
        along += other.to_ns == to_ns


def _solved(
    one: Piece, other: Piece, from_ns: int, to_ns: int, range_mm: int
) -> tuple[int, int] | None:
    """Return when both are in range while each is on one piece; None if they are not."""
    (x_mm, y_mm), (other_x_mm, other_y_mm) = one.at(from_ns), other.at(from_ns)
    across_mm, up_mm = other_x_mm - x_mm, other_y_mm - y_mm
    vx, vy = other.x_mm_per_s - one.x_mm_per_s, other.y_mm_per_s - one.y_mm_per_s
    # The distance's square less the range's: square * s * s + 2 * half * s + rest, s in seconds.
    square = vx * vx + vy * vy
    half = across_mm * vx + up_mm * vy
    rest = across_mm * across_mm + up_mm * up_mm - float(range_mm) * range_mm
    if square == 0:
        return (from_ns, to_ns) if rest <= 0 else None
    under = half * half - square * rest
    if under < 0:
        return None
    # The root of larger size first, the other by their product: no difference of near numbers.
    larger = -(half + (math.sqrt(under) if half >= 0 else -math.sqrt(under)))
    roots = sorted((larger / square, rest / larger if larger else 0.0))
    length_s = (to_ns - from_ns) / NS_PER_S
    if roots[0] > length_s or roots[1] < 0:
        return None
    begin_ns = from_ns + round(max(roots[0], 0.0) * NS_PER_S)
    end_ns = to_ns if roots[1] >= length_s else from_ns + round(roots[1] * NS_PER_S)
    return begin_ns, end_ns


def _joined(spans: Iterator[tuple[int, int]]) -> tuple[Contact, ...]:
    found: list[list[int]] = []
    for begin_ns, end_ns in spans:
        if found and begin_ns - found[-1][1] <= _NOTHING_NS:
            found[-1][1] = end_ns
        else:
            found.append([begin_ns, end_ns])
    return tuple(Contact(*span) for span in found if span[1] - span[0] > _NOTHING_NS)
