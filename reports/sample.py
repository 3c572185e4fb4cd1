"""What metrics of one cell are computed from, and how they say that there is nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reports.records import AuditReading, Compare, FlowRow, Group, PathReading

#: How the metrics begin that need all intervals of a cell: they are read only where asked for.
VARIATION = "goodput_over_time"


class UnavailableError(Exception):
    """Why a metric has no value; never leaves :func:`reports.metrics.evaluate`."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The flows of one cell, its forward bottleneck rate, and what else is known of the flows.

    ``paths`` is empty if the cell was not captured, ``audit`` if it was made before there was one.
    ``delivered_segments`` holds, by flow, what arrived between the times the study asks for,
    ``episodes`` the rows of the loss episodes, None if nothing recorded them, ``variation_pct`` by
    flow how its goodput varies over time, empty unless the study asks.
    """

    flows: tuple[FlowRow, ...]
    groups: tuple[Group, ...]
    compare: Compare | None
    bottleneck_rate_bps: int
    paths: tuple[PathReading, ...] = ()
    audit: tuple[AuditReading, ...] = ()
    delivered_segments: Mapping[str, float] = field(default_factory=dict)
    episodes: Sequence[Mapping[str, Any]] | None = None
    variation_pct: Mapping[str, float] = field(default_factory=dict)


def total(values: Iterable[float | int | None], what: str) -> float:
    """Return the sum; raise :class:`UnavailableError` if there is nothing or a value is unknown."""
    found = list(values)
    if not found:
        raise UnavailableError(f"there is no {what}")
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        raise UnavailableError(f"{what} is not known for every flow")
    return math.fsum(known)


def ratio(numerator: float, denominator: float, what: str) -> float:
    """Return the quotient; raise :class:`UnavailableError` unless the denominator is positive."""
    if not denominator > 0:
        raise UnavailableError(f"{what} is {denominator:g}")
    return numerator / denominator
