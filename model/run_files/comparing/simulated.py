"""``simulator.json``: what a live simulator's run of the same study gave, kept beside a kernel's.

Invariant: it is a copy of what that run's own report says, with the run's name and digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from model.run_files.json_file import Name
from model.run_files.point import Point
from model.run_files.summary_fields import Interval, Number


@dataclass(frozen=True, kw_only=True)
class SimulatedMetric:
    """A metric at a point; ``published_in_pi95``: the printed value could be one of its runs."""

    metric: str
    mean: Number
    ci95: Interval
    n: Annotated[int, Field(ge=0)]
    published_in_pi95: bool | None


@dataclass(frozen=True, kw_only=True)
class SimulatedPoint:
    """A point of the study."""

    point: Point
    metrics: tuple[SimulatedMetric, ...]


@dataclass(frozen=True, kw_only=True)
class SimulatedClaim:
    """The verdict of the simulator's runs on a claim, and what it rests on."""

    id: str
    verdict: str
    evidence: str


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """``simulator.json``: ``simulator`` is what readers call it, ``run`` its folder's name."""

    schema: int = 1
    simulator: str
    run: Name
    manifest_sha256: str
    points: tuple[SimulatedPoint, ...]
    claims: tuple[SimulatedClaim, ...]

    def metric_at(self, point: Point, metric: str) -> SimulatedMetric | None:
        """Return a metric at a point; None where it was not simulated."""
        for one in self.points:
            if one.point == point:
                return next((m for m in one.metrics if m.metric == metric), None)
        return None

    def claim(self, id_: str) -> SimulatedClaim | None:
        """Return the verdict on a claim; None where it was not judged."""
        return next((one for one in self.claims if one.id == id_), None)


SIMULATED = TypeAdapter(Simulated)
