"""What files have in common that say how far metrics of two sides are apart, judged by margins.

Invariant: what is a field here comes first in the files, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from model.run_files.json_file import Name
from model.run_files.point import Point
from model.run_files.study import Compare, Group, Parameter
from model.run_files.summary_fields import Interval, Number

Verdict = Literal["equivalent", "different", "not shown", "not judged"]


class OfMetric:
    """A metric at a point: ``difference`` and ``margin`` are in one unit, or null."""

    metric: str
    point: Point
    relative: bool
    margin: Number
    difference: Number
    ci95: Interval
    verdict: Verdict

    @property
    def in_margins(self) -> float | None:
        """The size of the difference in units of its margin; None if either is not known."""
        if self.difference is None or not self.margin:
            return None
        return abs(self.difference) / self.margin


One = TypeVar("One", bound=OfMetric)


class Compared(Generic[One]):
    """Comparisons of metrics at points."""

    comparisons: tuple[One, ...]

    @property
    def judged(self) -> int:
        """How many were judged."""
        return len(self.comparisons) - len(self.having("not judged"))

    def having(self, verdict: Verdict) -> tuple[One, ...]:
        """Return the comparisons with this verdict."""
        return tuple(one for one in self.comparisons if one.verdict == verdict)


@dataclass(frozen=True, kw_only=True)
class OfStudy:
    """What is said of the study, as ``resolved.json`` has it."""

    schema: int = 1
    study: Name
    title: str
    duration_s: float
    groups: tuple[Group, ...]
    compare: Compare | None
    flows: tuple[Name, ...]
    parameters: tuple[Parameter, ...]
