"""Whether runs may be compared: of one study and its settings; labs may differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from model.cell import to_dict
from model.errors import StudyError
from model.run_files.point import Point
from reports.store.run import Run
from reports.verdict.points import CellSummary

LEAST_SEEDS = 2
#: Of a study, what must be the same; the rest is about what was published and concluded.
_SAME = (
    "id", "duration_s", "generator", "groups", "compare", "flows", "delivered", "windows", "bins",
    "parameters", "points", "metrics",
)  # fmt: skip
#: Of a cell, what may differ: where it ran, when it is given up, and its number.
_MAY_DIFFER = ("lab", "limits", "replicate")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A run of a lab: its label, its folder's name, what it holds, and the values of its cells."""

    label: str
    name: str
    manifest_sha256: str
    facts: dict[str, str]
    run: Run
    cells: tuple[CellSummary, ...]

    def counted(self) -> tuple[CellSummary, ...]:
        """Return the cells that count, at the study's own points."""
        return tuple(cell for point in self.run.study.points for cell in self.counted_at(point))

    def counted_at(self, point: Point) -> list[CellSummary]:
        """Return the cells that count at a point."""
        return [cell for cell in self.cells if cell.excluded is None and cell.point == point]


def check(runs: Sequence[Measured]) -> None:
    """Raise :class:`StudyError` naming the first thing for which runs cannot be compared."""
    first, *others = runs
    for one in runs:
        if one.run.study.precision is not None:
            raise StudyError(
                "seeds were added until the results were precise enough: such runs are not "
                "compared", where=one.name, wanted="a fixed number of seeds",
                hint="run it with --reps N",
            )  # fmt: skip
    for other in others:
        _check_study(first, other)
        _check_seeds(first, other)
        _check_cells(first, other)


def _check_seeds(first: Measured, other: Measured) -> None:
    for point in first.run.study.points:
        here, there = ({cell.seed for cell in one.counted_at(point)} for one in (first, other))
        if len(here & there) < LEAST_SEEDS:
            raise StudyError(
                f"too few runs to compare with {first.name}",
                where=f"{other.name}: {point.as_dict()}",
                wanted=f"at least {LEAST_SEEDS} seeds that count in both",
                got=f"{len(here & there)} (of {len(here)} and {len(there)})",
            )  # fmt: skip


def _check_study(first: Measured, other: Measured) -> None:
    for key in _SAME:
        wanted, got = (getattr(one.run.study, key) for one in (first, other))
        if wanted != got:
            raise _differs(first, other, key, wanted, got)


def _check_cells(first: Measured, other: Measured) -> None:
    """Compare the settings of cells of the same point and seed."""
    wanted, got = (_settings(one) for one in (first, other))
    for key in wanted.keys() & got.keys():
        found = _difference(wanted[key], got[key])
        if found:
            raise _differs(first, other, *found)


def _settings(one: Measured) -> dict[tuple[Any, int], dict[str, Any]]:
    found = {}
    for cell in one.run.measured():
        content = to_dict(cell.cell)
        found[cell.plan.point, cell.plan.seed] = {
            key: value for key, value in content.items() if key not in _MAY_DIFFER
        }
    return found


def _difference(wanted: Any, got: Any, where: str = "") -> tuple[str, Any, Any] | None:
    """Return the place of the first value that differs, and both values."""
    pairs: list[tuple[str, Any, Any]] = []
    if isinstance(wanted, dict) and isinstance(got, dict) and wanted.keys() == got.keys():
        pairs = [(f"{where}.{key}".lstrip("."), wanted[key], got[key]) for key in wanted]
    elif isinstance(wanted, list) and isinstance(got, list) and len(wanted) == len(got):
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(wanted, got, strict=True))]
    elif wanted != got:
        return where, wanted, got
    found = (_difference(a, b, place) for place, a, b in pairs)
    return next(filter(None, found), None)


def _differs(first: Measured, other: Measured, what: str, wanted: Any, got: Any) -> StudyError:
    return StudyError(
        f"not the same study as {first.name}: {what} differs", where=other.name,
        wanted=f"{wanted!s:.80}", got=f"{got!s:.80}",
        hint="a lab without trace events captures instead: --pcap --no-telemetry in the other"
        if what.startswith("collect.")
        else "only lab and kernel may differ: run the same study file with the same options",
    )  # fmt: skip
