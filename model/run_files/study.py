"""``resolved.json``: the study as it was run, written when it begins and read by every report.

Invariants: frozen; SI units in the names; what refers to a point, group or parameter refers to one
that is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter

from model.errors import ParseError
from model.run_files import json_file
from model.run_files.cells import RunWarning
from model.run_files.figures import FigureWanted
from model.run_files.json_file import MisfitError, Name
from model.run_files.network_path import PointPath
from model.run_files.point import Point, Scalar
from model.run_files.publication import Claim, Published, PublishedEpisode, PublishedRow, Source

#: By how many per cent the compared groups' goodputs differ: a quotient of means, judged as one.
INCREASE = "pct_increase"
#: Of a printed number; what is computed with it is a float.
MOST_DIGITS = 30

_Printed = TypeVar("_Printed", PublishedRow, PublishedEpisode)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Flows that are compared as one: an id (``S``) and the name readers see (``SCTP``)."""

    id: Name
    label: str


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Which group's increase over which other group the study reports."""

    of: Name
    over: Name


@dataclass(frozen=True, kw_only=True)
class ValueLabel:
    """What readers call a setting at one of its values."""

    value: Scalar
    text: str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A swept setting: its name with unit, and its path in the study file.

    ``label`` is what readers call it: a text for each value, or one with ``{value}`` in it. It is
    none of the setting itself: with another label it is the same setting.
    """

    name: str
    path: str
    label: str | tuple[ValueLabel, ...] | None = dataclasses.field(default=None, compare=False)


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
class Assumption:
    """What had to be assumed because the paper is silent or contradicts itself, and why."""

    id: str
    text: str
    why: str


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

    ``calibrated[i]`` is the point whose calibration is of the same network. All are places in the
    run's list of points.
    """

    assumption: str
    settings: dict[str, Scalar]
    words: str
    of: tuple[int, ...]
    points: tuple[int, ...]
    calibrated: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse points without their counterparts."""
        counts = [len(self.of), len(self.points), len(self.calibrated)]
        if len(set(counts)) > 1:
            got = "{}, {} and {}".format(*counts)
            wanted = "as many of, points and calibrated"
            raise MisfitError("points do not belong together", wanted=wanted, got=got)


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A mechanism that can be as published: which parameter of the hosts it is, and by what."""

    id: Name
    text: str
    restores: str
    how: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What turning mechanisms must do to a metric for a claim of the publication to be true.

    ``measure`` is the change in the metric's unit, in ``percent`` of the metric without them, or as
    a ``share`` in % of the metric with all mechanisms; a bound of None is none.
    """

    claim: Name
    by: tuple[Name, ...]
    metric: str
    measure: Literal["change", "percent", "share"]
    points: tuple[Point, ...]
    low: float | None = None
    high: float | None = None
    strict: bool


@dataclass(frozen=True, kw_only=True)
class Precision:
    """When a run that adds runs as needed stops; one of the two half-widths is None."""

    metric: str | None = None
    half_width: float | None = None
    relative_half_width: float | None = None
    at_least: int
    at_most: int


@dataclass(frozen=True, kw_only=True)
class Study:
    """The study as it was run; ``flows`` are those that run at every point.

    ``scale`` is what all times of the experiment here were multiplied by, the durations among them.

    ``all_points`` are the study's own, ``base_points`` of them (None: all), then those of
    variations alone, which may have settings of their own, ``variation_parameters``. ``left_out``
    names variations that were not run; without ``precision`` seeds are given. ``at`` is what chose
    the points, if it was not all: ``points_left_out`` of the study are not here. Nor are they where
    only the points that the claim ``of_claim`` needs were run; ``rounds`` are the numbers of seeds
    at which such a run is over if the claim is decided. ``mechanisms`` are the hypotheses that were
    in force.
    """

    schema: int = 1
    id: Annotated[Name, Field(alias="study")]
    title: str
    source: Source | None = None
    duration_s: float
    scale: Annotated[float, Field(gt=0, le=1)] = 1.0
    seeds: tuple[int, ...]
    hosts: str
    generator: str
    groups: tuple[Group, ...]
    compare: Compare | None = None
    flows: tuple[Name, ...] = ()
    delivered: Span | None = None
    windows: Span | None = None
    bins: Bins | None = None
    parameters: tuple[Parameter, ...]
    all_points: Annotated[tuple[Point, ...], Field(alias="points")]
    base_points: int | None = None
    at: tuple[str, ...] = ()
    points_left_out: Annotated[int, Field(ge=0)] = 0
    of_claim: Name | None = None
    rounds: tuple[Annotated[int, Field(ge=1)], ...] = ()
    paths: tuple[PointPath, ...] = ()
    variations: tuple[Variation, ...] = ()
    variation_parameters: tuple[Parameter, ...] = ()
    left_out: tuple[str, ...] = ()
    precision: Annotated[Precision | None, Field(alias="replication")] = None
    metrics: tuple[str, ...]
    published: Published | None = None
    figures: tuple[FigureWanted, ...] = ()
    claims: tuple[Claim, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    mechanisms: tuple[Name, ...] = ()
    assumptions: tuple[Assumption, ...]
    warnings: tuple[RunWarning, ...]
    acknowledged: tuple[Acknowledged, ...]

    def __post_init__(self) -> None:
        """Refuse what refers to nothing; claims about the increase are of a quotient of means."""
        for key, group in dataclasses.asdict(self.compare).items() if self.compare else ():
            ids = [one.id for one in self.groups]
            if group not in ids:
                where = f"compare.{key}"
                raise MisfitError("unknown group", where=where, wanted=" or ".join(ids), got=group)
        for variation in self.variations:
            for index in (*variation.of, *variation.points, *variation.calibrated):
                if not 0 <= index < len(self.all_points):
                    wanted = f"from 0 to {len(self.all_points) - 1}"
                    raise MisfitError(
                        "no such point", where="variations", wanted=wanted, got=str(index)
                    )
        for claim in self.claims:
            for point in set(claim.points) - set(self.points):
                got = f"{claim.id}: {point.as_dict()}"
                raise MisfitError("a claim lies at no point of the study", where="claims", got=got)
        object.__setattr__(self, "claims", tuple(map(self._of_quotients, self.claims)))

    def _of_quotients(self, claim: Claim) -> Claim:
        if self.compare is None:
            return claim
        quotient = (f"goodput_{self.compare.of}_bps", f"goodput_{self.compare.over}_bps")
        made = (
            dataclasses.replace(one, quotient=quotient)
            if one.metric == INCREASE and one.versus is None
            else one
            for one in claim.comparisons
        )
        return dataclasses.replace(claim, comparisons=tuple(made))

    @property
    def points(self) -> tuple[Point, ...]:
        """The study's own points."""
        return self.all_points[: self.base_points]

    @property
    def variation_points(self) -> tuple[Point, ...]:
        """The points of variations alone."""
        return self.all_points[len(self.points) :]

    def path_at(self, point: Point) -> PointPath | None:
        """Return the path at a point; None if the run is of a version that said nothing of it."""
        return next((path for path in self.paths if path.point == point), None)

    def calibrates(self, calibrated: Point, point: Point) -> bool:
        """Return whether the calibration at one point is of another point's network."""
        if point in self.points:
            return calibrated.covers(point)
        return any(
            self.all_points[here] == point and self.all_points[there] == calibrated
            for variation in self.variations
            for here, there in zip(variation.points, variation.calibrated, strict=True)
        )

    @property
    def wanted_metrics(self) -> tuple[str, ...]:
        """The metrics it lists, and those that its claims are about."""
        return (*self.metrics, *self.claimed_metrics)

    @property
    def claimed_metrics(self) -> tuple[str, ...]:
        """The metrics that its claims are about, once each."""
        made = [one for claim in self.claims for one in claim.comparisons]
        found = [name for one in made for name in (one.metric, one.versus and one.versus.metric)]
        found += [one.metric for one in self.explanations]
        return tuple(dict.fromkeys(name for name in found if name))


STUDY = TypeAdapter(Study)


def read_study(path: Path) -> Study:
    """Return the study in a file; raise ``ParseError`` naming what is wrong with it."""
    return parse_study(json_file.read_text(path), str(path))


def parse_study(text: str, where: str) -> Study:
    """Return the study in a file's text, printed numbers with their digits."""
    study = json_file.parse(STUDY, text, where)
    if study.published is None:
        return study
    printed = json_file.load(text, where)["published"]
    published = dataclasses.replace(
        study.published,
        rows=_with_digits(study.published.rows, printed["rows"], f"{where}: published.rows"),
        episodes=_with_digits(
            study.published.episodes, printed.get("episodes", []), f"{where}: published.episodes"
        ),
    )
    return dataclasses.replace(study, published=published)


def _with_digits(
    read: Sequence[_Printed], printed: Sequence[Mapping[str, Any]], where: str
) -> tuple[_Printed, ...]:
    """Return what was read with the numbers as they stand in the file."""
    for index, entry in enumerate(printed):
        for name, value in entry["values"].items():
            many = isinstance(value, int | Decimal) and abs(Decimal(value).adjusted()) > MOST_DIGITS
            if isinstance(value, str) or (value and many):
                place, got = f"{where}[{index}].values.{name}", f"{value!s:.30}"
                wanted = f"a number with up to {MOST_DIGITS} digits before or after the point"
                raise ParseError("unexpected value", where=place, wanted=wanted, got=got)
    return tuple(
        dataclasses.replace(
            one, values={name: Decimal(value) for name, value in entry["values"].items()}
        )
        for one, entry in zip(read, printed, strict=True)
    )
