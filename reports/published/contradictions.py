"""All checks of the published tables as a whole, and the warning they give. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from model.run_files.cells import RunWarning
from model.run_files.point import Point
from model.run_files.publication import Published
from model.run_files.study import Study
from model.run_files.summary_points import TableContradiction
from reports.published.claims import claims_against_numbers
from reports.published.flows import computed_columns
from reports.published.tables import Check, once, printed_points
from reports.published.utilisation import utilisation_beyond_readings, window_against_utilisation
from reports.published.wire_rates import wire_rates

CHECKS: tuple[Check, ...] = (
    computed_columns, utilisation_beyond_readings, window_against_utilisation, wire_rates,
    claims_against_numbers,
)  # fmt: skip


def table_contradictions(study: Study) -> tuple[TableContradiction, ...]:
    """Return what the printed numbers of several rows or tables say against each other."""
    printed = printed_points(study)
    return once(found for check in CHECKS for found in check(study, printed))


def rows_in_doubt(published: Published, points: Mapping[Point, bool]) -> tuple[RunWarning, ...]:
    """Return a warning if rows contradict themselves; ``points`` is whether any there does."""
    contradicted = sum(points.values())
    if not contradicted:
        return ()
    printed = sum(bool(published.rows_at(point)) for point in points)
    return (
        RunWarning(
            rule="published-contradicts-itself",
            where=published.where,
            text=f"{contradicted} of {printed} published rows contradict themselves beyond "
            "rounding; they are marked, and the arithmetic is shown.",
        ),
    )


def tables_in_doubt(found: tuple[TableContradiction, ...]) -> tuple[RunWarning, ...]:
    """Return one warning for each kind of contradiction between rows or tables."""
    kinds: dict[tuple[str, str], str] = {(one.rule, one.where): one.title for one in found}
    return tuple(
        RunWarning(
            rule="published-contradicts-itself",
            where=where,
            text=f"Among the published numbers {title}; the arithmetic is shown.",
        )
        for (_, where), title in kinds.items()
    )
