"""``crosscheck.json``, as it is written and read: how far labs agree on one study.

Invariants: what is unknown is null; a metric's numbers are in its own unit, whatever it is shown
in; every comparison is of a lab with the first one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from model.run_files.comparing.judged import Compared, OfMetric, OfStudy, Verdict
from model.run_files.point import Point
from model.run_files.summary_fields import Interval, Number, Rounded


@dataclass(frozen=True, kw_only=True)
class LabRun:
    """A run: its label in the comparison, its folder's name, and what it was made on.

    ``manifest_sha256`` tells the run from any other; ``excluded`` cells do not count, because one
    of their checks failed; ``facts`` are words by what they are about.
    """

    label: str
    run: str
    manifest_sha256: str
    seeds: Annotated[int, Field(ge=0)]
    excluded: Annotated[int, Field(ge=0)]
    facts: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Side:
    """What the paired runs of one lab gave for a metric at a point."""

    n: Annotated[int, Field(ge=0)]
    mean: Rounded
    sd: Rounded


@dataclass(frozen=True, kw_only=True)
class Comparison(OfMetric):
    """A metric at a point in one lab against the first lab.

    ``difference`` is the lab's less the first one's, in the metric's unit or, if ``relative``, as a
    part of the mean of both; so are its intervals and ``margin``, which is null for what is not
    judged. It is that of the means, or at equal realised loss if ``at_equal_loss``; that of the
    means is ``plain_difference`` either way, and what is ``plain`` is of it. ``p_equivalent`` is of
    the two one-sided tests, ``p_different`` of the difference lying beyond the margin,
    ``p_distributions`` of both labs' values being drawn from one distribution (Kolmogorov and
    Smirnov); the last two are corrected for all comparisons.
    ``seeds_wanted`` is about how many seeds would decide what is not shown.
    """

    metric: str
    point: Point
    lab: str
    first: Side
    other: Side
    relative: bool
    margin: Number
    plain_difference: Number
    plain_ci95: Interval
    plain_p_equivalent: Number
    at_equal_loss: bool
    difference: Number
    ci90: Interval
    ci95: Interval
    p_equivalent: Number
    p_different: Number
    p_distributions: Rounded
    verdict: Verdict
    seeds_wanted: int | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """How a metric goes together in two labs over runs of the same seed, within points."""

    metric: str
    lab: str
    pairs: Annotated[int, Field(ge=0)]
    correlation: Number


@dataclass(frozen=True, kw_only=True)
class Crosscheck(Compared[Comparison], OfStudy):
    """Labs compared on one study; the first of ``labs`` is what the others are compared with."""

    labs: tuple[LabRun, ...]
    comparisons: tuple[Comparison, ...]
    pairings: tuple[Pairing, ...]
    missing: dict[str, str]


CROSSCHECK = TypeAdapter(Crosscheck)
