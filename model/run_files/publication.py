"""What a publication prints and claims, as ``resolved.json`` has it.

Invariant: a published number keeps the digits it was printed with, because what rounding allows
depends on them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal

from model.run_files.json_file import MisfitError, Name
from model.run_files.point import Point


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the study was published; ``doi`` is without a resolver's address."""

    authors: str
    publication: str
    year: int | None = None
    doi: str | None = None
    simulator: str


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row of a published table, digits kept; ``where`` is that table's name."""

    point: Point
    values: dict[str, Decimal]
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class PublishedEpisode:
    """What was printed of one loss episode of a flow, digits kept; ``where`` in the publication.

    ``cwnd_grown`` among the values is the window ``grown_s`` after the sender acted.
    """

    flow: str
    episode: int
    where: str
    points: tuple[Point, ...]
    grown_s: float | None = None
    values: dict[str, Decimal]


@dataclass(frozen=True, kw_only=True)
class Published:
    """The published tables, ``where`` being their name in the paper, and single episodes."""

    where: str
    rows: tuple[PublishedRow, ...]
    episodes: tuple[PublishedEpisode, ...] = ()

    def __post_init__(self) -> None:
        """Name the table of rows that name none."""
        named = (dataclasses.replace(row, where=row.where or self.where) for row in self.rows)
        object.__setattr__(self, "rows", tuple(named))

    @property
    def tables(self) -> str:
        """The names of all tables the rows are from, in their order."""
        return "; ".join(dict.fromkeys(row.where for row in self.rows)) or self.where

    def rows_at(self, point: Point) -> tuple[PublishedRow, ...]:
        """Return the rows of a point: none, or some that share no metric."""
        return tuple(row for row in self.rows if row.point == point)


@dataclass(frozen=True, kw_only=True)
class Versus:
    """What a comparison is with: a metric at a point."""

    metric: str
    point: Point


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One elementary statement: a metric's mean at a point, or how it differs, lies in a range.

    With ``versus`` it is the difference from that; ``relative``: in % of that; ``per``: as so many
    times the difference of that metric between the same two points. A bound of None is none;
    ``strict`` leaves the bounds out. ``quotient`` names the two metrics by how many per cent whose
    means differ, where the metric is just that.
    """

    metric: str
    point: Point
    versus: Versus | None = None
    relative: bool
    per: str | None = None
    low: float | None = None
    high: float | None = None
    strict: bool
    quotient: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse what says nothing."""
        if self.low is None and self.high is None:
            raise MisfitError("no bound", wanted="low, high, or both")
        if self.relative and self.versus is None:
            raise MisfitError("relative to nothing", wanted="versus")
        if self.per is not None and (self.versus is None or self.relative):
            raise MisfitError("per what?", wanted="versus, and a difference that is not relative")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the publication claims, and where; ``untested`` says why there is no comparison.

    ``left_out`` says which points it needs that this run was told to leave out.

    ``suspects`` are parameters of the hosts' ledger that may decide it otherwise than published.
    """

    id: Name
    text: str
    where: str
    untested: str | None = None
    left_out: str | None = None
    suspects: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        """Refuse a claim that is both tested and not, or neither."""
        reasons = bool(self.untested) + bool(self.left_out)
        if bool(self.comparisons) + reasons != 1:
            got = "both" if reasons else "neither"
            wanted = "comparisons, or why it is untested or left out"
            raise MisfitError("unexpected value", wanted=wanted, got=got)

    @property
    def points(self) -> tuple[Point, ...]:
        """The points its comparisons are of."""
        made = ((one.point, one.versus and one.versus.point) for one in self.comparisons)
        return tuple(point for pair in made for point in pair if point)
