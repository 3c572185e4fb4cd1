"""What is to be told of a user's results before their numbers are believed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from model.cell import Cell
from model.run_files.comparing.brought import Brought
from model.run_files.point import Point
from model.words import how_many
from reports.beside.replicates import Row
from reports.beside.run_side import RunSide, point_words

#: What is told once if both sides are one: the same numbers, replicate by replicate.
SAME_NUMBERS = "its numbers are the run's own, one by one: an export of this run?"
#: How many of a kind are named.
MOST_NAMED = 4
#: By how much of it a link's rate may be exceeded: the rounding of what was printed.
ROUNDING = 1e-6
_OF_DATA = ("goodput_", "flow_goodput_", "wire_rate_", "flow_wire_rate_", "utilisation_")


def notes(
    side: RunSide,
    brought: Brought,
    there: Mapping[Point, Sequence[Row]],
    cells: Mapping[Point, Cell],
) -> tuple[str, ...]:
    """Return the notes: those of the files' readers first.

    Args:
        side: the run.
        brought: what the files gave.
        there: the replicates at each point with their metrics.
        cells: a cell of the run at each point, for the bottleneck's rate.
    """
    told = list(brought.notes)
    most = max(map(len, there.values()), default=0)
    unlike = [
        f"{len(rows)} at {point_words(point)}" for point, rows in there.items() if len(rows) != most
    ]
    if unlike:
        named = ", ".join(unlike[:MOST_NAMED])
        told.append(
            f"not as many replicates everywhere: {how_many(most, 'replicate')} at most, {named}"
        )
    told += _faster_than_the_link(brought, there, cells)
    if there and all(_same(side, point, rows) for point, rows in there.items()):
        told.append(SAME_NUMBERS)
    return tuple(told)


def _faster_than_the_link(
    brought: Brought, there: Mapping[Point, Sequence[Row]], cells: Mapping[Point, Cell]
) -> Iterator[str]:
    """Yield a note if more data came through the bottleneck than its rate allows."""
    found = [
        f"{name} {value:.6g} at {point_words(point)} ({where})"
        for where, point, name, value in _numbers(brought, there)
        if name.startswith(_OF_DATA) and value > _most(name, cells[point]) * (1 + ROUNDING)
    ]
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        yield (
            f"more than the bottleneck's rate: {'; '.join(found[:MOST_NAMED])}{more}: are unit, "
            "headers, counted and the simulated link right?"
        )


def _numbers(
    brought: Brought, there: Mapping[Point, Sequence[Row]]
) -> Iterator[tuple[str, Point, str, float]]:
    for point, rows in there.items():
        for one, found in rows:
            yield from ((one.where, point, name, value) for name, value in found.items())
    yield from ((one.where, one.point, one.metric, one.mean) for one in brought.summaries)


def _most(name: str, cell: Cell) -> float:
    """Return what a metric of data through the bottleneck can be, in bit/s or %."""
    return 100.0 if name.endswith("_pct") else cell.carried_bps()


def _same(side: RunSide, point: Point, rows: Sequence[Row]) -> bool:
    """Return whether replicates have the numbers of the run's cells, in whatever order."""
    cells = side.counted_at(point)
    names = {name for _, found in rows for name in found} & set(side.metrics)
    return bool(names) and len(cells) == len(rows) and all(
        sorted(found.get(name, float("inf")) for _, found in rows)
        == sorted(_or_inf(cell.values[name].value) for cell in cells)
        for name in names
    )  # fmt: skip


def _or_inf(value: float | None) -> float:
    return float("inf") if value is None else value
