"""Checks over several printed numbers of a publication: columns, rows and tables together. Pure.

Each check is one function; a finding holds where its text does, and is said once. Invariant: a
check fires only where no reading of the printed digits, and no ordinary run, allows the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from model.run_files.network_path import PointPath
from model.run_files.point import Point
from model.run_files.study import Study
from model.run_files.summary_points import TableContradiction


@dataclass(frozen=True, kw_only=True)
class Printed:
    """All that is printed of one point, whatever the table, and its path if it is known."""

    point: Point
    where: tuple[str, ...]
    values: Mapping[str, Decimal]
    path: PointPath | None


Check = Callable[[Study, tuple[Printed, ...]], Iterable[TableContradiction]]


def printed_points(study: Study) -> tuple[Printed, ...]:
    """Return what is printed, one item for each point that has any, in the study's order."""
    found = []
    for point in study.points:
        rows = study.published.rows_at(point) if study.published else ()
        if rows:
            found.append(
                Printed(
                    point=point,
                    where=tuple(dict.fromkeys(row.where for row in rows)),
                    values={name: value for row in rows for name, value in row.values.items()},
                    path=study.path_at(point),
                )
            )
    return tuple(found)


def places(printed: Iterable[Printed]) -> str:
    """Return the tables these are printed in."""
    return "; ".join(dict.fromkeys(where for one in printed for where in one.where))


def once(found: Iterable[TableContradiction]) -> tuple[TableContradiction, ...]:
    """Return each finding once, at all of its points: a row may stand at several points."""
    merged: dict[tuple[str, str], TableContradiction] = {}
    for one in found:
        key = (one.rule, one.text)
        points = (*merged[key].points, *one.points) if key in merged else one.points
        merged[key] = one.model_copy(update={"points": tuple(dict.fromkeys(points))})
    return tuple(merged.values())
