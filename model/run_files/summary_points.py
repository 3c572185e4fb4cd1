"""What ``summary.json`` has of points: their values, contradictions, loss episodes, and cells."""

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
)

from model.run_files.json_file import Name
from model.run_files.summary_fields import (
    AsPrinted,
    Count,
    Interval,
    Number,
    Record,
    Rounded,
    Settings,
    TableRule,
    Text,
    Words,
    says,
    taken,
    taken_if,
)


class TableContradiction(Record):
    """Printed numbers of several rows or tables that cannot all be measurements."""

    rule: TableRule
    where: str = says("The tables.")
    points: Annotated[tuple[Settings, ...], Field(min_length=1)]
    metrics: Words
    title: str
    text: str = says("The arithmetic.")


class LossAdjustment(Record):
    """A fit: increase over ln(loss_over / loss_of), one slope for all points."""

    runs: Count = says("Runs in the fit.")
    degrees_of_freedom: Count
    slope: Number = says("Points of the increase per unit of the logarithm.")
    slope_ci95: Interval
    plain_sd: Number = says("Spread of runs about their point's mean.")
    residual_sd: Number = says("The same with the slope taken off.")
    equal_slopes_p: Number = says("p value of the F test of one slope for all points.")
    equal_spread_p: Number = says("p value of Brown and Forsythe's test of one spread.")
    reason: Text = says("Why there is no fit.")


class Metric(Record):
    """A metric at a point: over its runs, and as published."""

    mean: Number = taken(
        "estimate.mean",
        "Mean over the runs that count; null if none does, or if one lacks the metric.",
    )
    sd: Number = taken("estimate.sd", "Sample standard deviation; null for fewer than two runs.")
    ci95: Interval = taken("estimate.ci95", "95 % confidence interval of the mean.")
    pi95: Interval = taken("estimate.pi95", "95 % prediction interval of one further run.")
    n: Count = taken("estimate.n", "Runs with a value.")
    ratio_of_means: Number = taken_if(
        "ratio_of_means.mean", "Of a quotient: mean numerator over mean denominator."
    )
    ratio_ci95: Interval = taken_if("ratio_of_means.ci95", "Fieller's 95 % interval of it.")
    ratio_reason: Text = taken_if(
        "ratio_of_means.reason", "Why one of the two is null; null if the metric is no quotient."
    )
    adjusted: Number = taken_if("adjusted.mean", "Of pct_increase: at equal realised loss.")
    adjusted_ci95: Interval = taken_if("adjusted.ci95")
    adjusted_reason: Text = taken_if("adjusted.reason")
    published: Number
    published_where: Text = says("The table it is printed in.")
    published_in_ci95: bool | None
    published_in_pi95: bool | None = says("Whether the published value is an ordinary draw.")
    simulated: Number = says("From a live simulator run; null without one.")
    reason: Text = says("Why something is null, or which runs are missing.")


class Contradiction(Record):
    """Printed numbers that cannot all be right, and the arithmetic; which is wrong is not known."""

    rule: Literal["increase-against-shares", "shares-add-to-100", "fairness-against-increase"]
    metrics: Words
    printed: AsPrinted
    implied: Rounded = says("What the rest of the row makes of it.")
    implied_range: tuple[Rounded, Rounded] = says("For every value the rest may stand for.")
    text: str = says("The arithmetic.")


class Distribution(Record):
    """Over all known values; null if there is none."""

    mean: Number
    median: Number
    p95: Number
    n: Count = says("Known values.")


class Episodes(Record):
    """Loss episodes of a group's flows over the runs that count."""

    basis: Annotated[str, Field(json_schema_extra={"enum": ["captures", "telemetry", "mixed"]})]
    runs: Annotated[int, Field(ge=1)]
    episodes: Count
    per_run: Distribution
    per_1000_s: Rounded = says("Per 1000 s in which a flow was to send.")
    detected_by: dict[str, Count]
    dupacks: dict[int, Count] = says(
        "Episodes by the number of duplicates that had come, where known."
    )
    timeouts: Count
    measures: dict[str, Distribution] = says("By column of episodes.parquet.")


class GroupStory(Record):
    """What happened to a group."""

    group: Name
    episodes: Episodes | None = says("Null if no run recorded them.")
    limits: dict[str, Distribution] | None = says(
        "By column of limits.parquet, over the group's flows and runs; null if none recorded them."
    )
    reason: Text = says("What is missing, and why.")


class EpisodeClaim(Record):
    """A printed number of a loss episode, beside the same episode in the first run that counts."""

    flow: Name
    episode: Count
    where: str
    name: str = says("A column of episodes.parquet, or one in segments for one in bytes.")
    published: AsPrinted
    kernel: Number
    reason: Text = says("Why the kernel's is null.")


class PointSummary(Record):
    """What the runs at a point gave."""

    point: Settings
    cells_planned: Count
    cells_counted: Count
    metrics: dict[str, Metric]
    contradictions: tuple[Contradiction, ...]
    happened: tuple[GroupStory, ...] = taken("causes", "What happened, one item for each group.")
    published_episodes: tuple[EpisodeClaim, ...] = taken(
        "episode_claims",
        "Printed numbers of single loss episodes beside the same in the first run that counts.",
    )


class Cell(Record):
    """A finished measuring cell."""

    id: Name
    point: Settings
    replicate: int
    seed: int
    counted: Annotated[bool, BeforeValidator(lambda why: why is None)] = taken("excluded")
    excluded: Text = says("Why the cell does not count.")
    metrics: Annotated[
        dict[str, Number], BeforeValidator(lambda of: {name: one.value for name, one in of.items()})
    ] = taken("values")
    reasons: Annotated[
        dict[str, str],
        BeforeValidator(lambda of: {name: one.reason for name, one in of.items() if one.reason}),
    ] = taken("values", "Why a metric is null.")
