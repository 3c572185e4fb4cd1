"""``summary.json`` and ``replication.json``, as they are written; their schema is made from this.

Invariants: what is unknown is null; floats are written with the digits that are stored. A field
takes the attribute of its name of what a report found, or the one that it names.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    TypeAdapter,
)

from model.run_files.cells import RunWarning
from model.run_files.json_file import Name
from model.run_files.point import Scalar
from model.run_files.study import Compare, Group, Parameter
from model.run_files.summary_fields import (
    Count,
    Interval,
    Number,
    Probability,
    Reached,
    Record,
    Settings,
    Sorted,
    Stopped,
    Text,
    of_headline,
    says,
    taken,
    taken_if,
)
from model.run_files.summary_points import Cell, LossAdjustment, PointSummary, TableContradiction


class Versus(Record):
    """What a comparison is with, run by run of the same seed."""

    metric: str
    point: Settings


class Comparison(Record):
    """A metric at a point, or its difference from another, wanted between low and high."""

    metric: str = taken("comparison.metric")
    point: Settings = taken("comparison.point")
    versus: Versus | None = taken("comparison.versus", "Null: compared with the bounds alone.")
    relative: bool = taken("comparison.relative", "Whether the difference is in % of versus.")
    per: Text = taken(
        "comparison.per", "The metric of whose difference it is so many times; null: of none."
    )
    low: Number = taken("comparison.low", "In the metric's unit, or %; null: no bound.")
    high: Number = taken("comparison.high")
    strict: bool = taken("comparison.strict", "Whether the bounds themselves are not wanted.")
    verdict: Reached = says("Of this comparison, at its share of the level.")
    estimate: Number = taken(
        "found.estimate", "The mean, the mean difference, or the ratio of means in % above 100."
    )
    ci95: Interval = taken(
        "found.ci95", "95 % confidence interval of the estimate, of this comparison alone."
    )
    n: Count = taken("found.n", "Runs, or pairs of runs.")
    p_holds: Probability = taken("found.p_inside", "Of this comparison alone, not corrected.")
    p_refuted: Probability = taken("found.p_outside", "Of this comparison alone, not corrected.")
    reason: Text = taken(
        "found.reason", "Why something is null, or what it rests on instead of a spread."
    )


class Claim(Record):
    """A claim of the study and its verdict."""

    id: Name
    text: str = says("The claim in words.")
    where: str = says("Its place in the publication.")
    verdict: Reached | Literal["untested", "not run"] = says(
        "untested: no predicate can say it; not run: points it needs were not."
    )
    evidence: str = says("The decisive comparison in words and numbers, or why there is none.")
    suspects: tuple[str, ...] = says(
        "Parameters of the hosts' ledger that may decide it otherwise than published."
    )
    p_holds: Probability = says("Corrected for the number of claims tested: holds if at most 0.05.")
    p_refuted: Probability = says(
        "Corrected for the number of claims tested and of its comparisons: refuted if at most 0.05."
    )
    comparisons: tuple[Comparison, ...] = says("Every one must hold; none for an untested claim.")


class PointReplication(Record):
    """How far a point is."""

    point: Sorted
    runs: Count = says("Runs planned so far.")
    half_width: Number = says("Half of the metric's 95 % interval; null if there is none.")
    wanted: Number = says("What it is to be; null if there is none to compare.")
    stopped: Stopped | None = says("Why no more runs are added; null while some are.")
    more: Count = says("Runs the next round adds.")
    words: str


class Replication(Record):
    """How far a run that adds seeds as needed is: ``replication.json``."""

    version: Literal[1] = Field(default=1, serialization_alias="schema")
    metric: Text = says("What is to be known precisely; null if no metric differs between runs.")
    chosen: bool = says("Whether the report chose the metric because the study names none.")
    half_width: float | None = taken(
        "precision.half_width",
        "Half of the 95 % interval wanted, in the metric's unit; null if it is a part of the mean.",
    )
    relative_half_width: float | None = taken(
        "precision.relative_half_width", "The part of the mean; null if it is in the metric's unit."
    )
    at_least: Annotated[int, Field(ge=2)] = taken("precision.at_least")
    at_most: Annotated[int, Field(ge=2)] = taken("precision.at_most")
    points: tuple[PointReplication, ...]


class Change(Record):
    """A metric at a varied point."""

    mean: Number = taken("estimate.mean")
    sd: Number = taken("estimate.sd")
    n: Count = taken("estimate.n")
    difference: Number = taken_if(
        "difference.mean", "Mean change from the study's point, runs paired by seed."
    )
    difference_ci95: Interval = taken_if("difference.ci95")
    reason: Text


class VariedPoint(Record):
    """A point of the study as varied."""

    of: Sorted = says("The study's point.")
    point: Sorted = taken("summary.point", "The point it becomes.")
    cells_planned: Count = taken("summary.cells_planned")
    cells_counted: Count = taken("summary.cells_counted")
    metrics: Annotated[dict[str, Change], BeforeValidator(of_headline)] = taken(
        "changes", "The headline metrics."
    )


class TriedClaim(Record):
    """A claim at the study's points, and at those of a variation."""

    id: Name = taken("as_assumed.id")
    as_assumed: Reached = taken("as_assumed.verdict", "The verdict at the study's points.")
    verdict: Reached = taken("as_varied.verdict", "The verdict at the variation's points.")
    changes: bool = says("Whether one holds and the other is refuted.")
    evidence: str = taken("as_varied.evidence")


class Variation(Record):
    """An alternative of an assumption."""

    assumption: Name = taken("variation.assumption", "The assumption's id.")
    words: str = taken("variation.words", "The alternative as written in the study file.")
    settings: dict[str, Scalar] = taken("variation.settings", "The settings it replaces.")
    points: tuple[VariedPoint, ...]
    claims: tuple[TriedClaim, ...] = says("The claims that could be judged at these points.")


class SimulatedClaim(Record):
    """A claim of the study and the verdict of the simulator's runs on it."""

    id: Name
    verdict: Reached | Literal["untested", "not run"]
    evidence: str = says("The decisive comparison in words and numbers, or why there is none.")


class Simulated(Record):
    """A live simulator's run of the same study: does it still give what was published?"""

    simulator: str = says("What readers call it.")
    run: Name = says("The name of its run folder.")
    manifest_sha256: str = says("The digest of that run's manifest.")
    claims: tuple[SimulatedClaim, ...] = says("Verdicts by its runs, corrected as the kernel's.")


class Summary(Record):
    """What the kernel says at each point of a study beside what was published.

    Unknown is null, never 0. Floats carry 10 significant digits. docs/data-format.md explains each
    field, docs/metrics.md each metric.
    """

    version: Literal[1] = Field(default=1, serialization_alias="schema")
    study: Name = says("The study's id.")
    title: str
    scale: Annotated[float, Field(gt=0, le=1)] = says(
        "What the times of the experiment were multiplied by; 1 is the study as written."
    )
    parameters: tuple[Parameter, ...] = says("The swept settings, in the order of the study file.")
    groups: tuple[Group, ...]
    compare: Compare | None = says(
        "pct_increase is that of the group 'of' over the group 'over'; null if there is none."
    )
    headline_metrics: tuple[str, ...] = taken(
        "headline",
        "The metrics the study asks for, in its order; every point holds these and all others.",
    )
    published_where: Text = says("The published table's name in the paper; null if it has none.")
    contradictions: tuple[TableContradiction, ...] = says(
        "Of several rows or tables; those within a row are in points[].contradictions."
    )
    loss_adjustment: LossAdjustment | None = says(
        "The fit behind every 'adjusted'. Null if the study compares no groups."
    )
    points: tuple[PointSummary, ...]
    cells: tuple[Cell, ...] = says("Every finished measuring cell, also those that do not count.")
    claims: tuple[Claim, ...] = taken(
        "verdicts", "Verdicts on the study's claims; docs/claims.md says how they are reached."
    )
    simulated: Simulated | None = says(
        "What a live simulator's run says of the claims; its means are in points. Null without one."
    )
    replication: Replication | None = says(
        "As in replication.json; null for a run with a fixed number of seeds."
    )
    sensitivity: tuple[Variation, ...] = taken(
        "sensitivity.variations",
        "What alternatives of assumptions gave: one object per variation that was run.",
    )
    warnings: tuple[RunWarning, ...] = says("Read these before trusting the run.")


class MissingRun(Record):
    """A run of a set whose summary is not there."""

    run: str = taken("name", "The name of its folder in the set.")
    reason: str = taken("why", "Why nothing is shown of it.")


class SetSummary(Record):
    """The summaries of a set's runs. docs/data-format.md explains each field."""

    version: Literal[1] = Field(default=1, serialization_alias="schema")
    studies: tuple[dict[str, Any], ...] = says(
        "summary.json of each run whose report could be read, in the order of the set."
    )
    missing: tuple[MissingRun, ...] = says("The other runs of the set, in its order.")


SUMMARY, SET_SUMMARY = TypeAdapter(Summary), TypeAdapter(SetSummary)
