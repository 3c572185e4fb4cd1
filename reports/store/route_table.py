"""Reads a cell's ``routes.parquet``: the route of each flow's ways over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from model.cell import Cell
from model.errors import ParseError
from model.run_files.path_tables import RouteRow
from model.units import seconds_to_ns
from reports.store.columns import read_rows

#: Times in ns since the start of the run, and a route's nodes by number, none if there is none.
Routes = tuple[tuple[int, tuple[int, ...]], ...]


def read_routes(path: Path, cell: Cell) -> dict[tuple[str, str], Routes]:
    """Return routes by flow and way (``data`` or ``ack``), the first at time 0.

    Raises:
        ParseError: the table is broken, or its flows, nodes or times are none of the cell's.
    """
    if cell.ad_hoc is None:
        return {}
    numbers = {name: number for number, name in enumerate(cell.ad_hoc.node_names())}
    found: dict[tuple[str, str], list[tuple[int, tuple[int, ...]]]] = {
        (flow.id, way): [] for flow in cell.flows for way in ("data", "ack")
    }
    for row in read_rows(path, RouteRow):
        try:
            nodes = tuple(numbers[name] for name in (row.nodes or "").split())
            found[row.flow, row.way].append((seconds_to_ns(row.t_s), nodes))
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise ParseError(
                "a route that is none of this network's", where=str(path), got=str(row)
            ) from error
    for key, rows in found.items():
        if any(one[0] > other[0] for one, other in pairwise(rows)):
            raise ParseError("times of routes descend", where=str(path), got=" ".join(key))
    return {key: from_start(rows) for key, rows in found.items()}


def from_start(rows: Sequence[tuple[int, tuple[int, ...]]]) -> Routes:
    """Return rows whose first is at time 0: what was the case before it, and what came later."""
    before = [nodes for t_ns, nodes in rows if t_ns <= 0]
    later = [row for row in rows if row[0] > 0]
    return ((0, before[-1] if before else ()), *later)
