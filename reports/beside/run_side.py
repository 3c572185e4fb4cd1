"""A run that a user's own results are set beside: what it is, and what its cells give. Pure."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.point import Point
from reports.store.run import Run
from reports.verdict.points import CellSummary


@dataclass(frozen=True, kw_only=True)
class RunSide:
    """A run: its folder's name, digest, kernels, and the values of its cells."""

    name: str
    manifest_sha256: str
    kernels: tuple[str, ...]
    run: Run
    cells: tuple[CellSummary, ...]

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics that its cells have."""
        return list(self.cells[0].values) if self.cells else []

    @functools.cached_property
    def _counted(self) -> dict[Point, list[CellSummary]]:
        found: dict[Point, list[CellSummary]] = {}
        for cell in self.cells:
            if cell.excluded is None:
                found.setdefault(cell.point, []).append(cell)
        return found

    def counted_at(self, point: Point) -> Sequence[CellSummary]:
        """Return the cells that count at a point."""
        return self._counted.get(point, [])


def point_words(point: Point) -> str:
    """Return a point in words."""
    return ", ".join(f"{name} {value}" for name, value in point.settings) or "the study's point"
