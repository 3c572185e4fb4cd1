"""``comparison.json``, as it is written and read: a user's own results beside a run of the study.

Invariants: what is unknown is null with a reason; a metric's numbers are in its own unit, whatever
it is shown in; every difference is the user's results less the run's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from model.run_files.comparing.judged import Compared, OfMetric, OfStudy, Verdict
from model.run_files.point import Point
from model.run_files.summary_fields import Interval, Number

Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """A file that was read whole: as it was named, its format, bytes as stored, digest."""

    file: str
    format: str
    stored_bytes: Count
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Independent replicates of one side at a point."""

    n: Count
    mean: Number
    sd: Number
    ci95: Interval


@dataclass(frozen=True, kw_only=True)
class Beside(OfMetric):
    """A metric at a point: the run's cells, and the user's results.

    ``difference`` is the user's less the run's, in the metric's unit or, if ``relative``, as a part
    of the mean of both; so are its intervals (Welch) and ``margin``, null for what is not judged.
    ``p_equivalent`` is of the two one-sided tests, ``p_different`` of the difference lying beyond
    the margin, ``p_distributions`` of one distribution (Kolmogorov and Smirnov); the last two are
    corrected for their number. ``standardised`` is the difference in pooled standard deviations.
    """

    metric: str
    point: Point
    run: Batch
    own: Batch
    relative: bool
    margin: Number
    difference: Number
    ci90: Interval
    ci95: Interval
    p_equivalent: Number
    p_different: Number
    p_distributions: Number
    distributions_reason: str | None
    standardised: Number
    verdict: Verdict
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class GivenMargin:
    """A margin that the user gave in place of the metric's own, as it was written."""

    metric: str
    text: str


@dataclass(frozen=True, kw_only=True)
class OwnResults(Compared[Beside], OfStudy):
    """A user's results, called ``source``, beside a run; the run is told by folder and digest.

    ``missing`` says of metrics that one side has and the other lacks, why; ``points_without`` are
    the run's points of which the user's results say nothing.
    """

    run: str
    manifest_sha256: str
    kernels: tuple[str, ...]
    excluded: Count
    source: str
    files: tuple[ResultFile, ...]
    margins: tuple[GivenMargin, ...]
    comparisons: tuple[Beside, ...]
    missing: dict[str, str]
    points_without: tuple[Point, ...]
    notes: tuple[str, ...]


OWN_RESULTS = TypeAdapter(OwnResults)
