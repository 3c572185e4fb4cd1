"""What each receiver had got when: in order, and beyond a hole. Pure.

ns-2's agents count no bytes, so all of it is made from arrivals. TCP's acknowledgements in a trace
have no SACK blocks and SCTP's no gap blocks: what a receiver held beyond the first hole is what its
acknowledgements reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collectors.raw.flows import Received
from model.cell import Cell, Flow
from model.run_files.traffic_tables import IntervalRow
from simulators.ns2.packet_lines import Floats, Ints

#: From a number up to, not including, another.
Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """A flow's data as it arrived, one item each.

    ``line`` in the trace; after it all up to ``reached`` was there in order, and ``held`` beyond.
    """

    line: Ints
    t_s: Floats
    reached: Ints
    held: Sequence[tuple[Span, ...]]


def arrivals(line: Ints, t_s: Floats, number: Ints) -> Arrivals:
    """Return what a receiver had after each arrival of data, whose numbers count from 1."""
    reached = np.zeros(len(number), np.int64)
    held: list[tuple[Span, ...]] = []
    following = 1
    beyond: tuple[Span, ...] = ()
    for index, one in enumerate(number.tolist()):
        if one == following and not beyond:
            following += 1
        elif one >= following:
            beyond = _joined(beyond, one)
            if beyond[0][0] == following:
                following, beyond = beyond[0][1], beyond[1:]
        reached[index] = following - 1
        held.append(beyond)
    return Arrivals(line=line, t_s=t_s, reached=reached, held=held)


def _joined(spans: tuple[Span, ...], number: int) -> tuple[Span, ...]:
    """Return spans, in order and apart, with one number more."""
    found: list[Span] = []
    for start, end in sorted([*spans, (number, number + 1)]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def received(flow: Flow, cell: Cell, got: Arrivals) -> Received:
    """Return what the receiver could hand over, in intervals cut by the measuring window."""
    new_bytes = np.diff(got.reached, prepend=0) * flow.message_bytes
    delivers = np.flatnonzero(new_bytes)
    t_s, new_bytes = got.t_s[delivers], new_bytes[delivers]
    inside = (t_s >= cell.measure_from_s) & (t_s < cell.measure_to_s)
    return Received(
        window_bytes=int(new_bytes[inside].sum()),
        total_bytes=int(new_bytes.sum()),
        first_byte_s=float(t_s[0]) if len(t_s) else None,
        last_byte_s=float(t_s[-1]) if len(t_s) else None,
        intervals=_intervals(flow, cell, t_s, new_bytes),
    )


def _intervals(flow: Flow, cell: Cell, t_s: Floats, new_bytes: Ints) -> tuple[IntervalRow, ...]:
    every_s = cell.collect.interval_s
    edges = {round(every_s * k, 9) for k in range(math.ceil(cell.duration_s / every_s) + 1)}
    cuts = {cell.measure_from_s, cell.measure_to_s}
    bounds = np.array(sorted(edges | cuts))
    place = np.searchsorted(bounds, t_s, side="right") - 1
    summed = np.bincount(place, weights=new_bytes, minlength=len(bounds)).astype(np.int64)
    return tuple(
        IntervalRow(
            flow=flow.id,
            start_s=float(bounds[index]),
            end_s=float(bounds[min(index + 1, len(bounds) - 1)]),
            goodput_bytes=int(summed[index]),
        )
        for index in np.flatnonzero(summed).tolist()
    )
