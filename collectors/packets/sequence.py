"""Number connections, unwrap 32-bit sequence numbers, tell first sight from repetition. Pure.

Invariants: arrays are parallel and in order of time. A *lane* is one direction of a connection
(its number is 2 x connection + side), a *line* one lane at one capture point: within a line packets
keep their order, so 32-bit numbers can be followed from one to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from collectors.raw.pcap import Flags, Ints

HALF, MASK = 1 << 31, (1 << 32) - 1
#: Keeps the values of different groups apart in one running maximum.
APART = 1 << 44
UNKNOWN = -1


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Addresses and ports of packets."""

    protocol: Ints
    source: Ints
    destination: Ints
    source_port: Ints
    destination_port: Ints


def lanes(ends: Ends) -> Ints:
    """Return each packet's lane; connections are numbered in order of first appearance."""
    one = (ends.source << 16) | ends.source_port
    other = (ends.destination << 16) | ends.destination_port
    low, high = np.minimum(one, other), np.maximum(one, other)
    keys = pl.DataFrame({"protocol": ends.protocol, "low": low, "high": high})
    numbered = keys.unique(maintain_order=True).with_row_index("connection")
    joined = keys.join(numbered, on=keys.columns, how="left", maintain_order="left")
    connection = joined["connection"].cast(pl.Int64).to_numpy()
    lane: Ints = 2 * connection + (one > low)
    return lane


def opposite(lane: Ints) -> Ints:
    """Return the lanes of the other direction."""
    other: Ints = lane ^ 1
    return other


def bases(lane_count: int, *candidates: tuple[Ints, Ints]) -> Ints:
    """Return per lane where its numbers start, or ``UNKNOWN``.

    Args:
        lane_count: how many lanes there are.
        candidates: (lanes, raw numbers) in order of time, best source first; the first number of
            a lane in the first source that has any is taken.
    """
    found = np.full(lane_count, UNKNOWN, np.int64)
    for lane, number in reversed(candidates):
        found[lane[::-1]] = number[::-1] & MASK
    return found


def unwrapped(raw: Ints, lines: Ints, start: Ints) -> Ints:
    """Return numbers relative to ``start`` that do not wrap, each followed from the last.

    Args:
        raw: 32-bit numbers in order of time.
        lines: what each belongs to.
        start: the number that becomes 0, for each.
    """
    if not len(raw):
        return np.zeros(0, np.int64)
    order = np.argsort(lines.astype(np.int32), kind="stable")
    numbers, line = raw[order], lines[order]
    first = np.concatenate([[True], line[1:] != line[:-1]])
    previous = np.concatenate([[0], numbers[:-1]])
    previous[first] = start[order][first]
    steps = ((numbers - previous + HALF) & MASK) - HALF
    return _counted_from(first, steps, order)


def near(raw: Ints, base_raw: Ints, base: Ints) -> Ints:
    """Return unwrapped numbers less than half the number space away from known ones."""
    relative: Ints = base + ((raw - base_raw + HALF) & MASK) - HALF
    return relative


def repeated(starts: Ints, lengths: Ints, groups: Ints) -> Flags:
    """Return which ranges, in order of time, start below what their group has already reached."""
    if not len(starts):
        return np.zeros(0, np.bool_)
    order = np.argsort(groups.astype(np.int32), kind="stable")
    apart = groups[order] * APART
    reached = np.maximum.accumulate(starts[order] + lengths[order] + apart)
    before = np.concatenate([[np.iinfo(np.int64).min], reached[:-1]])
    found = np.zeros(len(starts), np.bool_)
    found[order] = starts[order] + apart < before
    # A group's first range is compared with the group before it, which never reaches it.
    return found & (lengths > 0)


def runs_of_equal(values: Ints, counted: Flags, lines: Ints) -> Ints:
    """Return how many packets were counted so far in each line's current run of one value."""
    one = counted.astype(np.int64)
    if not len(values):
        return np.zeros(0, np.int64)
    order = np.argsort(lines.astype(np.int32), kind="stable")
    value, line = values[order], lines[order]
    first = np.concatenate([[True], (value[1:] != value[:-1]) | (line[1:] != line[:-1])])
    return _counted_from(first, one[order], order)


def _counted_from(first: Flags, steps: Ints, order: Ints) -> Ints:
    """Return the sum of ``steps`` since the last ``first`` (itself included), put back in order."""
    total = np.cumsum(steps)
    begins = np.flatnonzero(first)
    before: Ints = total[begins] - steps[begins]
    found: Ints = np.empty_like(total)
    found[order] = total - np.repeat(before, np.diff([*begins, len(total)]))
    return found
