"""What a run folder holds, typed: the study, the plan, and the evidence of each cell. No I/O.

Invariants: frozen; SI units in the names; a published number keeps the digits it was printed with
(``Decimal``), because what rounding allows depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from reports.store.point_paths import PointPath

Scalar = float | int | str
Purpose = Literal["measure", "calibrate"]


@dataclass(frozen=True)
class Point:
    """One point of the sweep; equal points are equal whatever the order of their settings."""

    settings: tuple[tuple[str, Scalar], ...]

    @classmethod
    def of(cls, settings: Mapping[str, Scalar]) -> Point:
        """Return the point with these settings."""
        return cls(tuple(sorted(settings.items())))

    def as_dict(self) -> dict[str, Scalar]:
        """Return the settings by name."""
        return dict(self.settings)

    def covers(self, other: Point) -> bool:
        """Return whether every setting of this point is also one of ``other``."""
        return set(self.settings) <= set(other.settings)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the study was published."""

    authors: str
    publication: str
    year: int | None
    simulator: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """Flows that are compared as one: an id (``S``) and the name readers see (``SCTP``)."""

    id: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Which group's increase over which other group the study reports."""

    of: str
    over: str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A swept setting: its name with unit, and its path in the study file."""

    name: str
    path: str


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row of a published table, digits kept; ``where`` is that table's name."""

    point: Point
    where: str
    values: dict[str, Decimal]


@dataclass(frozen=True, kw_only=True)
class PublishedEpisode:
    """What was printed of one loss episode of a flow, digits kept; ``where`` in the publication.

    ``cwnd_grown`` among the values is the window ``grown_s`` after the sender acted.
    """

    flow: str
    episode: int
    where: str
    points: tuple[Point, ...]
    grown_s: float | None
    values: dict[str, Decimal]


@dataclass(frozen=True, kw_only=True)
class Published:
    """The published tables, ``where`` being their name in the paper, and single episodes."""

    where: str
    rows: tuple[PublishedRow, ...]
    episodes: tuple[PublishedEpisode, ...] = ()

    @property
    def tables(self) -> str:
        """The names of all tables the rows are from, in their order."""
        return "; ".join(dict.fromkeys(row.where for row in self.rows)) or self.where

    def rows_at(self, point: Point) -> tuple[PublishedRow, ...]:
        """Return the rows of a point: none, or some that share no metric."""
        return tuple(row for row in self.rows if row.point == point)


@dataclass(frozen=True, kw_only=True)
class Span:
    """Between which times of a run something is counted or looked at."""

    from_s: float
    to_s: float


@dataclass(frozen=True, kw_only=True)
class Bins(Span):
    """The same, bin by bin."""

    bin_s: float


@dataclass(frozen=True, kw_only=True)
class PublishedMark:
    """An event of a published figure; one of the heights is known, the others are None."""

    label: str | None
    at_s: float
    segment: float | None
    acked_segment: float | None
    cwnd_segments: float | None
    cwnd_bytes: float | None


@dataclass(frozen=True, kw_only=True)
class PublishedLoss:
    """The loss a published figure shows, by its own clock and numbers; None: not by number."""

    detected_s: float
    lost_segment: int | None
    marks: tuple[PublishedMark, ...]


#: When a bin of goodput may count data, and what of a flow may be drawn over time.
Counted = Literal["handed_on", "arrivals", "sent"]
OverTime = Literal["goodput", "delay", "jitter"]


@dataclass(frozen=True, kw_only=True)
class FigureAsked:
    """A figure the study asks for, and where; a key its kind does not have is None.

    ``to_s`` of None is the end of the run for kinds that have ``from_s``. ``where`` names the
    published figure it is the counterpart of, or by flow, of which alone it is then drawn.
    ``overlay`` is the parameter whose values are drawn over each other.
    """

    kind: str
    points: tuple[Point, ...]
    where: str | Mapping[str, str] | None = None
    from_s: float | None = None
    to_s: float | None = None
    bin_s: float | None = None
    before_s: float | None = None
    after_s: float | None = None
    modulo_segments: int | None = None
    together: bool = False
    count: Counted = "handed_on"
    of: OverTime = "goodput"
    overlay: str | None = None
    episode: int | None = None
    published: Mapping[str, PublishedLoss] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Versus:
    """What a comparison is with: a metric at a point."""

    metric: str
    point: Point


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One elementary statement: a metric's mean at a point, or how it differs, lies in a range.

    With ``versus`` it is the difference from that; ``relative``: in % of that. A bound of None is
    none; ``strict`` leaves the bounds out. ``quotient`` names the two metrics by how many per cent
    whose means differ, where the metric is just that.
    """

    metric: str
    point: Point
    versus: Versus | None
    relative: bool
    low: float | None
    high: float | None
    strict: bool
    quotient: tuple[str, str] | None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the publication claims, and where; ``untested`` says why there is no comparison.

    ``suspects`` are parameters of the hosts' ledger that may decide it otherwise than published.
    """

    id: str
    text: str
    where: str
    untested: str | None
    comparisons: tuple[Comparison, ...]
    suspects: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """What had to be assumed because the paper is silent or contradicts itself, and why."""

    id: str
    text: str
    why: str


@dataclass(frozen=True, kw_only=True, order=True)
class RunWarning:
    """Read this before trusting the run: the rule that fired, where, and in words."""

    rule: str
    where: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """A warning the study's author has answered."""

    rule: str
    where: str
    text: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Variation:
    """An alternative of an assumption: ``points[i]`` is what the study's point ``of[i]`` becomes.

    ``calibrated[i]`` is the point whose calibration is of the same network.
    """

    assumption: str
    words: str
    settings: dict[str, Scalar]
    of: tuple[Point, ...]
    points: tuple[Point, ...]
    calibrated: tuple[Point, ...]


@dataclass(frozen=True, kw_only=True)
class Precision:
    """When a run that adds runs as needed stops; one of the two half-widths is None."""

    metric: str | None
    half_width: float | None
    relative_half_width: float | None
    at_least: int
    at_most: int


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """What a run repeats: alternatives of assumptions, and as many runs as are needed.

    ``points`` are those of variations alone, which may have settings of their own, ``parameters``.
    ``left_out`` names variations that were not run; without ``precision`` seeds are given.
    """

    variations: tuple[Variation, ...] = ()
    points: tuple[Point, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    left_out: tuple[str, ...] = ()
    precision: Precision | None = None


NO_REPEATS = Repeats()


@dataclass(frozen=True, kw_only=True)
class Study:
    """``resolved.json``: the study as it was run; ``flows`` are those that run at every point.

    ``points`` are the study's own, without those of variations.
    """

    id: str
    title: str
    source: Source | None
    duration_s: float
    seeds: tuple[int, ...]
    hosts: str
    generator: str
    groups: tuple[Group, ...]
    compare: Compare | None
    parameters: tuple[Parameter, ...]
    points: tuple[Point, ...]
    paths: Mapping[Point, PointPath]
    metrics: tuple[str, ...]
    flows: tuple[str, ...]
    delivered: Span | None
    windows: Span | None
    bins: Bins | None
    published: Published | None
    figures: tuple[FigureAsked, ...]
    assumptions: tuple[Assumption, ...]
    warnings: tuple[RunWarning, ...]
    acknowledged: tuple[Acknowledged, ...]
    claims: tuple[Claim, ...] = ()
    repeats: Repeats = NO_REPEATS

    @property
    def all_points(self) -> tuple[Point, ...]:
        """The study's points, then those of variations."""
        return (*self.points, *self.repeats.points)

    def calibrates(self, calibrated: Point, point: Point) -> bool:
        """Return whether the calibration at one point is of another point's network."""
        if point in self.points:
            return calibrated.covers(point)
        return any(
            varied == point and at == calibrated
            for variation in self.repeats.variations
            for varied, at in zip(variation.points, variation.calibrated, strict=True)
        )

    @property
    def asked_metrics(self) -> tuple[str, ...]:
        """The metrics it lists, and those that its claims are about."""
        return (*self.metrics, *self.claimed_metrics)

    @property
    def claimed_metrics(self) -> tuple[str, ...]:
        """The metrics that its claims are about, once each."""
        made = [one for claim in self.claims for one in claim.comparisons]
        found = [name for one in made for name in (one.metric, one.versus and one.versus.metric)]
        return tuple(dict.fromkeys(name for name in found if name))


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """One line of ``plan.json``."""

    id: str
    purpose: Purpose
    point: Point
    replicate: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class KnobReading:
    """One setting and what was read back, by place."""

    kind: str
    name: str
    value: str
    side: str
    read_back: tuple[tuple[str, str], ...]
    agrees: bool | None


@dataclass(frozen=True, kw_only=True)
class LedgerReading:
    """One published parameter, how well it can be set, and the settings that stand for it."""

    parameter: str
    published: str
    fidelity: str
    note: str
    knobs: tuple[KnobReading, ...]


@dataclass(frozen=True, kw_only=True)
class FlowRow:
    """What metrics need of one row of ``tables/flows.parquet``."""

    flow: str
    group: str
    goodput_bps: float | None
    loss_offered_pkts: int | None
    loss_dropped_pkts: int | None
    cwnd_mean_segments: float | None = None


@dataclass(frozen=True, kw_only=True)
class PathReading:
    """What is shown of one row of ``tables/path.parquet``."""

    flow: str
    connect_to_data_s: float | None
    bottleneck_wire_rate_bps: float | None
    ack_wire_rate_bps: float | None
    owd_mean_s: float | None
    owd_p95_s: float | None
    jitter_mean_s: float | None
    jitter_min_s: float | None
    jitter_p50_s: float | None
    jitter_max_s: float | None
    queue_mean_s: float | None


@dataclass(frozen=True, kw_only=True)
class AuditReading:
    """One row of ``tables/audit.parquet``."""

    flow: str
    direction: str
    basis: str
    sent_pkts: int | None
    access_dropped_pkts: int | None
    queue_dropped_pkts: int | None
    loss_dropped_pkts: int | None
    exit_dropped_pkts: int | None
    delivered_pkts: int | None
    in_flight_pkts: int | None
    unexplained_pkts: int | None
    closes: bool | None
