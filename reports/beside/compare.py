"""From a run and a user's own results to what they differ by: metric by metric, point by point.

Pure. Invariants: both sides are independent samples, whatever their seeds; only cells that count
are; a metric that a cell or a replicate lacks is not compared there, and the reason is told.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.cell import Cell
from model.errors import StudyError
from model.run_files.comparing.brought import Brought, FileRead, SummaryReading
from model.run_files.comparing.margins import Margin
from model.run_files.comparing.own_results import (
    Batch,
    Beside,
    GivenMargin,
    OwnResults,
    ResultFile,
)
from model.run_files.point import Point
from reports.beside import about, replicates
from reports.beside.replicates import Row
from reports.beside.run_side import RunSide, point_words
from reports.inference import independent
from reports.inference.equivalence import corrected, verdict
from reports.store.run import Run

LACKS = "at {point}: {why}"


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """What both sides have of a metric at a point, or why they are not compared there."""

    run: independent.Batch | None = None
    own: independent.Batch | None = None
    why: str = ""


def compare(
    side: RunSide, brought: Brought, margins: Mapping[str, Margin], given: Sequence[GivenMargin]
) -> OwnResults:
    """Return how a user's results differ from a run.

    Raises:
        ParseError: a replicate has other flows than the study.
        StudyError: nothing of the two can be compared.
    """
    study = side.run.study
    cells = cells_by_point(side.run)
    there = replicates.by_point(brought.readings, brought.summaries, study, cells)
    summaries = {(one.point, one.metric): one for one in brought.summaries}
    told_of = {name for rows in there.values() for _, found in rows for name in found}
    told_of |= {metric for _, metric in summaries}
    names = [name for name in side.metrics if name in told_of]
    found, missing = [], dict[str, str]()
    for name in names:
        for point in study.points:
            sides = _sides(name, point, side, there.get(point, []), summaries)
            if sides.run and sides.own:
                found.append(_beside(name, point, sides.run, sides.own, margins.get(name)))
            elif sides.why:
                missing.setdefault(name, LACKS.format(point=point_words(point), why=sides.why))
    if not found:
        raise StudyError(
            "nothing to compare", where=brought.source,
            wanted="a metric that the run and these results both have",
            got="; ".join(f"{name} {why}" for name, why in list(missing.items())[:3])
            or ", ".join(sorted(told_of)[:12]) or "none",
        )  # fmt: skip
    for name in sorted(told_of - set(names)):
        missing[name] = "the run has no such metric: the study does not ask for it"
    told_at = {*there, *(point for point, _ in summaries)}
    return OwnResults(
        study=study.id, title=study.title, duration_s=study.duration_s, groups=study.groups,
        compare=study.compare, flows=study.flows, parameters=study.parameters, run=side.name,
        manifest_sha256=side.manifest_sha256, kernels=side.kernels,
        excluded=sum(cell.excluded is not None for cell in side.cells), source=brought.source,
        files=tuple(map(_file, brought.files)), margins=tuple(given), comparisons=_judged(found),
        missing=missing, points_without=tuple(one for one in study.points if one not in told_at),
        notes=about.notes(side, brought, there, cells),
    )  # fmt: skip


def cells_by_point(run: Run) -> dict[Point, Cell]:
    """Return a finished cell for each of the study's points that has one."""
    return {
        cell.plan.point: cell.cell for cell in run.measured() if cell.plan.point in run.study.points
    }


def _sides(
    name: str,
    point: Point,
    side: RunSide,
    rows: Sequence[Row],
    summaries: Mapping[tuple[Point, str], SummaryReading],
) -> _Sides:
    summary = summaries.get((point, name))
    values = [found.get(name) for _, found in rows]
    if summary is None and not any(value is not None for value in values):
        return _Sides()
    lacking = [row.replicate for (row, _), value in zip(rows, values, strict=True) if value is None]
    if lacking and summary is None:
        return _Sides(why=f"replicate {lacking[0][:60]} has none")
    cells = side.counted_at(point)
    if not cells:
        return _Sides(why="no cell of the run counts")
    ours = [cell.values[name] for cell in cells]
    without = next((one.reason for one in ours if one.value is None), None)
    if without:
        return _Sides(why=f"the run has none: {without}")
    own = (
        independent.batch([value for value in values if value is not None])
        if summary is None
        else independent.Batch(n=summary.n, mean=summary.mean, sd=summary.sd)
    )
    return _Sides(
        run=independent.batch([one.value for one in ours if one.value is not None]), own=own
    )


def _beside(
    name: str, point: Point, run: independent.Batch, own: independent.Batch, margin: Margin | None
) -> Beside:
    bound = margin.bound if margin else None
    relative = bool(margin and margin.relative)
    unit = ((abs(run.mean) + abs(own.mean)) / 2 or 1.0) if relative else 1.0
    found = independent.between(run, own, margin=bound, unit=unit)
    p_distributions, why = independent.distributions_p(run, own)
    return Beside(
        metric=name, point=point, run=_batch(run), own=_batch(own), relative=relative,
        margin=bound, difference=found.difference, ci90=found.ci90, ci95=found.ci95,
        p_equivalent=found.p_equivalent, p_different=found.p_different,
        p_distributions=p_distributions, distributions_reason=why,
        standardised=found.standardised, verdict="not judged", reason=found.reason,
    )  # fmt: skip


def _batch(one: independent.Batch) -> Batch:
    return Batch(n=one.n, mean=one.mean, sd=one.sd, ci95=one.ci95)


def _judged(found: Sequence[Beside]) -> tuple[Beside, ...]:
    """Return the comparisons with their verdicts, p-values corrected for how many there are.

    That all is equivalent is said only if each comparison shows it: that needs no correction. That
    something differs is said if any does.
    """
    beyond = iter(corrected([one.p_different for one in found if one.p_different is not None]))
    unlike = iter(
        corrected([one.p_distributions for one in found if one.p_distributions is not None])
    )
    made = []
    for one in found:
        p_different = None if one.p_different is None else next(beyond)
        made.append(
            dataclasses.replace(
                one,
                p_different=p_different,
                p_distributions=None if one.p_distributions is None else next(unlike),
                verdict=verdict(one.p_equivalent, p_different),
            )
        )
    return tuple(made)


def _file(one: FileRead) -> ResultFile:
    return ResultFile(
        file=one.file, format=one.format, stored_bytes=one.stored_bytes, sha256=one.sha256
    )
