"""A movement as few numbers as a page needs: rows that say nothing left out, the rest as steps.

Pure. Invariants: a place on the page is within half a decimetre of the movement's, and of the
tolerance that is told with it; what a page gets is at most as large as asked for, unless no
tolerance helps.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from model.movement.paths import Movement, Path, Row
from model.units import NS_PER_S
from reports.store.route_table import Routes

NS_PER_MS, MM_PER_DM = NS_PER_S // 1000, 100
#: What the paths of a page's movement may take, and how far rows may be off to have it so.
MOST_BYTES = 150_000
TOLERANCES_MM = (0, 100, 500, 1000, 2000, 5000, 10_000, 50_000)


#: What the routes of all ways may take, and how coarse their times may become to have it so.
MOST_ROUTE_BYTES = 150_000
STEPS_MS = (1, 10, 100, 1000, 10_000)


@dataclass(frozen=True, kw_only=True)
class ShownRoutes:
    """Per way rows of a time (ms) and a route's nodes; ``step_ms`` has one row at most."""

    ways: tuple[tuple[tuple[int, ...], ...], ...]
    step_ms: int


@dataclass(frozen=True, kw_only=True)
class Compact:
    """Per node steps of time (ms) and place (dm), each from the row before, the first from 0."""

    steps: tuple[tuple[int, ...], ...]
    tolerance_mm: int


def compact(movement: Movement, until_ns: int, most_bytes: int = MOST_BYTES) -> Compact:
    """Return the paths up to a time with the least tolerance that makes them small enough."""
    for tolerance_mm in TOLERANCES_MM:
        found = Compact(
            steps=tuple(
                _steps(thinned(_until(path, until_ns), tolerance_mm)) for path in movement.paths
            ),
            tolerance_mm=tolerance_mm,
        )
        if len(json.dumps(found.steps, separators=(",", ":"))) <= most_bytes:
            break
    return found


def thinned(rows: Sequence[Row], tolerance_mm: float) -> list[Row]:
    """Return the rows without those that a straight way between the others passes by as near.

    As Douglas and Peucker thin lines (1973), but by where a node is at the row's time.
    """
    kept = {0, len(rows) - 1}
    spans = [(0, len(rows) - 1)]
    while spans:
        first, last = spans.pop()
        far_mm, far = -1.0, -1
        for between in range(first + 1, last):
            off_mm = _off_mm(rows[first], rows[between], rows[last])
            if off_mm > far_mm:
                far_mm, far = off_mm, between
        if far_mm > tolerance_mm:
            kept.add(far)
            spans += [(first, far), (far, last)]
    return [rows[number] for number in sorted(kept)]


def _off_mm(first: Row, row: Row, last: Row) -> float:
    """Return how far a row is from the straight way between two others at its time."""
    part = (row.t_ns - first.t_ns) / (last.t_ns - first.t_ns)
    across_mm = first.x_mm + part * (last.x_mm - first.x_mm) - row.x_mm
    up_mm = first.y_mm + part * (last.y_mm - first.y_mm) - row.y_mm
    return math.hypot(across_mm, up_mm)


def _until(path: Path, until_ns: int) -> list[Row]:
    """Return the rows up to the first at or after a time."""
    before = sum(row.t_ns < until_ns for row in path.rows)
    return list(path.rows[: before + 1])


def _steps(rows: Sequence[Row]) -> tuple[int, ...]:
    found: list[int] = []
    last = (0, 0, 0)
    for row in rows:
        here = (
            round(row.t_ns / NS_PER_MS), round(row.x_mm / MM_PER_DM), round(row.y_mm / MM_PER_DM),
        )  # fmt: skip
        found += [value - before for value, before in zip(here, last, strict=True)]
        last = here
    return tuple(found)


def shown_routes(ways: Sequence[Routes], most_bytes: int = MOST_ROUTE_BYTES) -> ShownRoutes:
    """Return the routes of ways with the least step of time that makes them small enough.

    Of several that begin within one step the last is left, at its own time.
    """
    for step_ms in STEPS_MS:
        found = ShownRoutes(
            ways=tuple(_last_of_steps(way, step_ms * NS_PER_MS) for way in ways), step_ms=step_ms
        )
        if len(json.dumps(found.ways, separators=(",", ":"))) <= most_bytes:
            break
    return found


def _last_of_steps(way: Routes, step_ns: int) -> tuple[tuple[int, ...], ...]:
    last = {t_ns // step_ns: (t_ns, nodes) for t_ns, nodes in way}
    found: list[tuple[int, ...]] = []
    for t_ns, nodes in last.values():
        if not found or found[-1][1:] != nodes:
            found.append((round(t_ns / NS_PER_MS), *nodes))
    return tuple(found)
