"""``explanation.json``, as it is written and read: what each mechanism does to a study's metrics.

Invariants: what is unknown is null with a reason; a metric's numbers are in its own unit, shares
are fractions; every effect is of runs paired by seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from model.run_files.json_file import Name
from model.run_files.point import Point
from model.run_files.study import Compare, Group, Hypothesis, Parameter
from model.run_files.summary_fields import Interval, Number

#: What an effect is of: one mechanism turned alone; one, averaged over the sets of the others; what
#: pairs do beyond that; all of them; what is left of all after the averages.
Kind = Literal["alone", "average", "pair", "all", "beyond pairs"]
Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, kw_only=True)
class MechanismRun:
    """A run of the study: its folder's name, the mechanisms in force, and the kernels it ran on.

    ``manifest_sha256`` tells it from any other; ``excluded`` cells do not count.
    """

    run: str
    mechanisms: tuple[Name, ...]
    manifest_sha256: str
    kernels: tuple[str, ...]
    seeds: Count
    excluded: Count


@dataclass(frozen=True, kw_only=True)
class Level:
    """A metric at a point in one run, over the seeds that count in all runs.

    ``published_inside`` is whether the published value could be one run of it.
    """

    run: str
    metric: str
    point: Point
    n: Count
    mean: Number
    ci95: Interval
    published: Number
    published_inside: bool | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What mechanisms change of a metric at a point.

    ``sets`` are the mechanisms it is of; of pairs that the runs do not tell apart, each. ``share``
    is its part of the published value less that of the unchanged kernel.
    """

    kind: Kind
    sets: tuple[tuple[Name, ...], ...]
    metric: str
    point: Point
    n: Count
    change: Number
    ci95: Interval
    reason: str | None
    share: Number
    share_ci95: Interval
    share_reason: str | None


@dataclass(frozen=True, kw_only=True)
class Turned:
    """A claim of the study, and its verdict in every run, in their order.

    ``verdicts`` are those of the runs' own reports. ``corrected`` are the verdicts in the runs with
    no mechanism, one and all, whose p-values take account of how many such runs there are; of other
    runs null.
    """

    claim: Name
    text: str
    verdicts: tuple[str, ...]
    corrected: tuple[str | None, ...]


@dataclass(frozen=True, kw_only=True)
class ExplainedAt:
    """What an explanation's mechanisms do at a point, in the measure of the explanation."""

    point: Point
    n: Count
    estimate: Number
    ci95: Interval
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A claim that mechanisms explain something, judged; p-values are corrected for all of them."""

    claim: Name
    text: str
    by: tuple[Name, ...]
    metric: str
    measure: Literal["change", "percent", "share"]
    low: Number
    high: Number
    strict: bool
    at: tuple[ExplainedAt, ...]
    verdict: Literal["holds", "refuted", "undecided"]
    p_holds: Number
    p_refuted: Number


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What mechanisms do to a study; ``metric`` is the one that is told of first.

    ``idle`` are mechanisms of the study that change nothing of its hosts, and why.
    """

    schema: int = 1
    study: Name
    title: str
    groups: tuple[Group, ...]
    compare: Compare | None
    flows: tuple[Name, ...]
    parameters: tuple[Parameter, ...]
    metric: str
    hypotheses: tuple[Hypothesis, ...]
    idle: dict[str, str]
    runs: tuple[MechanismRun, ...]
    levels: tuple[Level, ...]
    effects: tuple[Effect, ...]
    claims: tuple[Turned, ...]
    explained: tuple[Explained, ...]


EXPLANATION = TypeAdapter(Explanation)
