"""``summary.json`` and ``replication.json``, as they are written; their schema is made from this.

Invariants: what is unknown is null; floats are written with the digits that are stored. A field
takes the attribute of its name of what a report found, or the one that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import (
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializationInfo,
    TypeAdapter,
    ValidationInfo,
)

from model.run_files.cells import RunWarning
from model.run_files.json_file import Name
from model.run_files.point import Point, Scalar
from model.run_files.study import Compare, Group, Parameter

SIGNIFICANT_DIGITS = 10


def rounded(value: float | Decimal | None) -> float | None:
    """Return a float rounded to the digits that are stored; null stays null."""
    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def _settings(point: Point, info: SerializationInfo[Any]) -> dict[str, Scalar]:
    """Return a point's settings, the swept ones in the order of the study file."""
    settings = point.as_dict()
    order = [name for name in info.context["parameters"] if name in settings]
    return {name: settings[name] for name in dict.fromkeys((*order, *settings))}


def _of_headline(found: Mapping[str, Any], info: ValidationInfo[Any]) -> dict[str, Any]:
    return {name: found[name] for name in info.context["headline"]}


Rounded = Annotated[float, PlainSerializer(rounded, return_type=float)]
Number = Rounded | None
Interval = Annotated[tuple[Rounded, Rounded] | None, Field(description="Lower and upper end.")]
_Share = Annotated[float, Field(ge=0, le=1)]
_Rounded = Annotated[_Share, PlainSerializer(rounded, return_type=_Share)]
Probability = Annotated[_Rounded | None, Field(description="Null where the runs cannot say.")]
Text = str | None
Count = Annotated[int, Field(ge=0)]
_SETTINGS = "A value for each swept setting, in base units."
Sorted = Annotated[Point, Field(description=_SETTINGS)]
Settings = Annotated[Point, PlainSerializer(_settings), Field(description=_SETTINGS)]
AsPrinted = Annotated[Decimal, PlainSerializer(rounded, return_type=float)]
Words = Annotated[tuple[str, ...], Field(min_length=1)]
Reached = Literal["holds", "refuted", "undecided"]
TableRule = Literal[
    "rate-times-delay-constant", "jitter-over-delay-constant", "utilisation-of-what",
    "utilisation-against-windows", "wire-rates-apart", "claim-against-table",
    "claim-against-episode",
]  # fmt: skip
Stopped = Literal["precise", "limit", "unmeasured", "equal"]


def _from(path: str, description: str | None = None) -> Any:
    """Declare a field that is of an attribute by another name, or of an attribute's."""
    return Field(validation_alias=AliasPath(*path.split(".")), description=description)


def _if(path: str, description: str | None = None) -> Any:
    """Declare the same where what has the attribute may be None."""
    return Field(None, validation_alias=AliasPath(*path.split(".")), description=description)


def _of(description: str) -> Any:
    return Field(description=description)


class Record(BaseModel):
    """An object of the file."""

    model_config = ConfigDict(
        frozen=True, from_attributes=True, extra="forbid",
        json_schema_serialization_defaults_required=True,
    )  # fmt: skip


class TableContradiction(Record):
    """Printed numbers of several rows or tables that cannot all be measurements."""

    rule: TableRule
    where: str = _of("The tables.")
    points: Annotated[tuple[Settings, ...], Field(min_length=1)]
    metrics: Words
    title: str
    text: str = _of("The arithmetic.")


class LossAdjustment(Record):
    """A fit: increase over ln(loss_over / loss_of), one slope for all points."""

    runs: Count = _of("Runs in the fit.")
    degrees_of_freedom: Count
    slope: Number = _of("Points of the increase per unit of the logarithm.")
    slope_ci95: Interval
    plain_sd: Number = _of("Spread of runs about their point's mean.")
    residual_sd: Number = _of("The same with the slope taken off.")
    equal_slopes_p: Number = _of("p value of the F test of one slope for all points.")
    equal_spread_p: Number = _of("p value of Brown and Forsythe's test of one spread.")
    reason: Text = _of("Why there is no fit.")


class Metric(Record):
    """A metric at a point: over its runs, and as published."""

    mean: Number = _from(
        "estimate.mean",
        "Mean over the runs that count; null if none does, or if one lacks the metric.",
    )
    sd: Number = _from("estimate.sd", "Sample standard deviation; null for fewer than two runs.")
    ci95: Interval = _from("estimate.ci95", "95 % confidence interval of the mean.")
    pi95: Interval = _from("estimate.pi95", "95 % prediction interval of one further run.")
    n: Count = _from("estimate.n", "Runs with a value.")
    ratio_of_means: Number = _if(
        "ratio_of_means.mean", "Of a quotient: mean numerator over mean denominator."
    )
    ratio_ci95: Interval = _if("ratio_of_means.ci95", "Fieller's 95 % interval of it.")
    ratio_reason: Text = _if(
        "ratio_of_means.reason", "Why one of the two is null; null if the metric is no quotient."
    )
    adjusted: Number = _if("adjusted.mean", "Of pct_increase: at equal realised loss.")
    adjusted_ci95: Interval = _if("adjusted.ci95")
    adjusted_reason: Text = _if("adjusted.reason")
    published: Number
    published_where: Text = _of("The table it is printed in.")
    published_in_ci95: bool | None
    published_in_pi95: bool | None = _of("Whether the published value is an ordinary draw.")
    simulated: Number = _of("From a live simulator run; null without one.")
    reason: Text = _of("Why something is null, or which runs are missing.")


class Contradiction(Record):
    """Printed numbers that cannot all be right, and the arithmetic; which is wrong is not known."""

    rule: Literal["increase-against-shares", "shares-add-to-100", "fairness-against-increase"]
    metrics: Words
    printed: AsPrinted
    implied: Rounded = _of("What the rest of the row makes of it.")
    implied_range: tuple[Rounded, Rounded] = _of("For every value the rest may stand for.")
    text: str = _of("The arithmetic.")


class Distribution(Record):
    """Over all known values; null if there is none."""

    mean: Number
    median: Number
    p95: Number
    n: Count = _of("Known values.")


class Episodes(Record):
    """Loss episodes of a group's flows over the runs that count."""

    basis: Annotated[str, Field(json_schema_extra={"enum": ["captures", "telemetry", "mixed"]})]
    runs: Annotated[int, Field(ge=1)]
    episodes: Count
    per_run: Distribution
    per_1000_s: Rounded = _of("Per 1000 s in which a flow was to send.")
    detected_by: dict[str, Count]
    dupacks: dict[int, Count] = _of(
        "Episodes by the number of duplicates that had come, where known."
    )
    timeouts: Count
    measures: dict[str, Distribution] = _of("By column of episodes.parquet.")


class GroupStory(Record):
    """What happened to a group."""

    group: Name
    episodes: Episodes | None = _of("Null if no run recorded them.")
    limits: dict[str, Distribution] | None = _of(
        "By column of limits.parquet, over the group's flows and runs; null if none recorded them."
    )
    reason: Text = _of("What is missing, and why.")


class EpisodeClaim(Record):
    """A printed number of a loss episode, beside the same episode in the first run that counts."""

    flow: Name
    episode: Count
    where: str
    name: str = _of("A column of episodes.parquet, or one in segments for one in bytes.")
    published: AsPrinted
    kernel: Number
    reason: Text = _of("Why the kernel's is null.")


class PointSummary(Record):
    """What the runs at a point gave."""

    point: Settings
    cells_planned: Count
    cells_counted: Count
    metrics: dict[str, Metric]
    contradictions: tuple[Contradiction, ...]
    happened: tuple[GroupStory, ...] = _from("causes", "What happened, one item for each group.")
    published_episodes: tuple[EpisodeClaim, ...] = _from(
        "episode_claims",
        "Printed numbers of single loss episodes beside the same in the first run that counts.",
    )


class Cell(Record):
    """A finished measuring cell."""

    id: Name
    point: Settings
    replicate: int
    seed: int
    counted: Annotated[bool, BeforeValidator(lambda why: why is None)] = _from("excluded")
    excluded: Text = _of("Why the cell does not count.")
    metrics: Annotated[
        dict[str, Number], BeforeValidator(lambda of: {name: one.value for name, one in of.items()})
    ] = _from("values")
    reasons: Annotated[
        dict[str, str],
        BeforeValidator(lambda of: {name: one.reason for name, one in of.items() if one.reason}),
    ] = _from("values", "Why a metric is null.")


class Versus(Record):
    """What a comparison is with, run by run of the same seed."""

    metric: str
    point: Settings


class Comparison(Record):
    """A metric at a point, or its difference from another, wanted between low and high."""

    metric: str = _from("comparison.metric")
    point: Settings = _from("comparison.point")
    versus: Versus | None = _from("comparison.versus", "Null: compared with the bounds alone.")
    relative: bool = _from("comparison.relative", "Whether the difference is in % of versus.")
    low: Number = _from("comparison.low", "In the metric's unit, or %; null: no bound.")
    high: Number = _from("comparison.high")
    strict: bool = _from("comparison.strict", "Whether the bounds themselves are not wanted.")
    verdict: Reached = _of("Of this comparison, at its share of the level.")
    estimate: Number = _from(
        "found.estimate", "The mean, the mean difference, or the ratio of means in % above 100."
    )
    ci95: Interval = _from(
        "found.ci95", "95 % confidence interval of the estimate, of this comparison alone."
    )
    n: Count = _from("found.n", "Runs, or pairs of runs.")
    p_holds: Probability = _from("found.p_inside", "Of this comparison alone, not corrected.")
    p_refuted: Probability = _from("found.p_outside", "Of this comparison alone, not corrected.")
    reason: Text = _from(
        "found.reason", "Why something is null, or what it rests on instead of a spread."
    )


class Claim(Record):
    """A claim of the study and its verdict."""

    id: Name
    text: str = _of("The claim in words.")
    where: str = _of("Its place in the publication.")
    verdict: Reached | Literal["untested", "not run"] = _of(
        "untested: no predicate can say it; not run: points it needs were not."
    )
    evidence: str = _of("The decisive comparison in words and numbers, or why there is none.")
    suspects: tuple[str, ...] = _of(
        "Parameters of the hosts' ledger that may decide it otherwise than published."
    )
    p_holds: Probability = _of("Corrected for the number of claims tested: holds if at most 0.05.")
    p_refuted: Probability = _of(
        "Corrected for the number of claims tested and of its comparisons: refuted if at most 0.05."
    )
    comparisons: tuple[Comparison, ...] = _of("Every one must hold; none for an untested claim.")


class PointReplication(Record):
    """How far a point is."""

    point: Sorted
    runs: Count = _of("Runs planned so far.")
    half_width: Number = _of("Half of the metric's 95 % interval; null if there is none.")
    wanted: Number = _of("What it is to be; null if there is none to compare.")
    stopped: Stopped | None = _of("Why no more runs are added; null while some are.")
    more: Count = _of("Runs the next round adds.")
    words: str


class Replication(Record):
    """How far a run that adds seeds as needed is: ``replication.json``."""

    version: Literal[1] = Field(default=1, serialization_alias="schema")
    metric: Text = _of("What is to be known precisely; null if no metric differs between runs.")
    chosen: bool = _of("Whether the report chose the metric because the study names none.")
    half_width: float | None = _from(
        "precision.half_width",
        "Half of the 95 % interval wanted, in the metric's unit; null if it is a part of the mean.",
    )
    relative_half_width: float | None = _from(
        "precision.relative_half_width", "The part of the mean; null if it is in the metric's unit."
    )
    at_least: Annotated[int, Field(ge=2)] = _from("precision.at_least")
    at_most: Annotated[int, Field(ge=2)] = _from("precision.at_most")
    points: tuple[PointReplication, ...]


class Change(Record):
    """A metric at a varied point."""

    mean: Number = _from("estimate.mean")
    sd: Number = _from("estimate.sd")
    n: Count = _from("estimate.n")
    difference: Number = _if(
        "difference.mean", "Mean change from the study's point, runs paired by seed."
    )
    difference_ci95: Interval = _if("difference.ci95")
    reason: Text


class VariedPoint(Record):
    """A point of the study as varied."""

    of: Sorted = _of("The study's point.")
    point: Sorted = _from("summary.point", "The point it becomes.")
    cells_planned: Count = _from("summary.cells_planned")
    cells_counted: Count = _from("summary.cells_counted")
    metrics: Annotated[dict[str, Change], BeforeValidator(_of_headline)] = _from(
        "changes", "The headline metrics."
    )


class TriedClaim(Record):
    """A claim at the study's points, and at those of a variation."""

    id: Name = _from("as_assumed.id")
    as_assumed: Reached = _from("as_assumed.verdict", "The verdict at the study's points.")
    verdict: Reached = _from("as_varied.verdict", "The verdict at the variation's points.")
    changes: bool = _of("Whether one holds and the other is refuted.")
    evidence: str = _from("as_varied.evidence")


class Variation(Record):
    """An alternative of an assumption."""

    assumption: Name = _from("variation.assumption", "The assumption's id.")
    words: str = _from("variation.words", "The alternative as written in the study file.")
    settings: dict[str, Scalar] = _from("variation.settings", "The settings it replaces.")
    points: tuple[VariedPoint, ...]
    claims: tuple[TriedClaim, ...] = _of("The claims that could be judged at these points.")


class Summary(Record):
    """What the kernel says at each point of a study beside what was published.

    Unknown is null, never 0. Floats carry 10 significant digits. docs/data-format.md explains each
    field, docs/metrics.md each metric.
    """

    version: Literal[1] = Field(default=1, serialization_alias="schema")
    study: Name = _of("The study's id.")
    title: str
    scale: Annotated[float, Field(gt=0, le=1)] = _of(
        "What the times of the experiment were multiplied by; 1 is the study as written."
    )
    parameters: tuple[Parameter, ...] = _of("The swept settings, in the order of the study file.")
    groups: tuple[Group, ...]
    compare: Compare | None = _of(
        "pct_increase is that of the group 'of' over the group 'over'; null if there is none."
    )
    headline_metrics: tuple[str, ...] = _from(
        "headline",
        "The metrics the study asks for, in its order; every point holds these and all others.",
    )
    published_where: Text = _of("The published table's name in the paper; null if it has none.")
    contradictions: tuple[TableContradiction, ...] = _of(
        "Of several rows or tables; those within a row are in points[].contradictions."
    )
    loss_adjustment: LossAdjustment | None = _of(
        "The fit behind every 'adjusted'. Null if the study compares no groups."
    )
    points: tuple[PointSummary, ...]
    cells: tuple[Cell, ...] = _of("Every finished measuring cell, also those that do not count.")
    claims: tuple[Claim, ...] = _from(
        "verdicts", "Verdicts on the study's claims; docs/claims.md says how they are reached."
    )
    replication: Replication | None = _of(
        "As in replication.json; null for a run with a fixed number of seeds."
    )
    sensitivity: tuple[Variation, ...] = _from(
        "sensitivity.variations",
        "What alternatives of assumptions gave: one object per variation that was run.",
    )
    warnings: tuple[RunWarning, ...] = _of("Read these before trusting the run.")


class MissingRun(Record):
    """A run of a set whose summary is not there."""

    run: str = _from("name", "The name of its folder in the set.")
    reason: str = _from("why", "Why nothing is shown of it.")


class SetSummary(Record):
    """The summaries of a set's runs. docs/data-format.md explains each field."""

    version: Literal[1] = Field(default=1, serialization_alias="schema")
    studies: tuple[dict[str, Any], ...] = _of(
        "summary.json of each run whose report could be read, in the order of the set."
    )
    missing: tuple[MissingRun, ...] = _of("The other runs of the set, in its order.")


SUMMARY, SET_SUMMARY = TypeAdapter(Summary), TypeAdapter(SetSummary)
