"""Replicates, put together of what several files or lines give of each. Pure.

Invariant: a number or a flow that comes twice is refused; the time taken grows with what is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from model.errors import ParseError
from model.run_files.comparing.brought import GroupFlow, Reading
from model.run_files.point import Point

#: How many replicates there may be in all.
MOST_READINGS = 200_000
Key = tuple[Point, str]


@dataclass(kw_only=True)
class Replicate:
    """What files gave of a replicate so far; flows by group and words."""

    where: str
    point: Point
    replicate: str
    flows: dict[tuple[str, str], GroupFlow] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)

    def add(self, one: Reading) -> None:
        """Add what a file gives; raise :class:`ParseError` for what is there already."""
        flows = {(flow.group, flow.found.words): flow for flow in one.flows}
        again = [name for _, name in flows.keys() & self.flows.keys()]
        again += one.metrics.keys() & self.metrics.keys()
        if len(flows) < len(one.flows):
            again += Counter(flow.found.words for flow in one.flows).most_common(1)[0][:1]
        if again:
            raise ParseError(
                f"{min(again)} for the second time", where=one.where,
                got=f"replicate {one.replicate[:60]} at {words(one.point)}",
                hint=f"it is in {self.where}, too",
            )  # fmt: skip
        self.flows.update(flows)
        self.metrics.update(one.metrics)

    def reading(self) -> Reading:
        """Return it."""
        return Reading(
            where=self.where, point=self.point, replicate=self.replicate,
            flows=tuple(self.flows.values()), metrics=self.metrics,
        )  # fmt: skip


def merged(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """Return one reading for each replicate of a point; raises as
    :meth:`Replicate.add`."""
    found: dict[Key, Replicate] = {}
    for one in readings:
        merge(found, one)
    return tuple(one.reading() for one in found.values())


def merge(found: dict[Key, Replicate], one: Reading) -> None:
    """Add what a file gives of a replicate to what others gave of it."""
    key = one.point, one.replicate
    if key not in found:
        if len(found) >= MOST_READINGS:
            raise ParseError(
                "too many replicates", where=one.where, wanted=f"at most {MOST_READINGS}"
            )
        found[key] = Replicate(where=one.where, point=one.point, replicate=one.replicate)
    found[key].add(one)


def words(point: Point) -> str:
    """Return a point in words."""
    return ", ".join(f"{name} {value}" for name, value in point.settings) or "the study's point"
