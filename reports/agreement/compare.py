"""From runs of one study in several labs to what they agree on: metric by metric, point by point.

Pure. Invariants: every lab is compared with the first, run by run of the same seed; only cells that
count are; a verdict is of the metric's margin alone, whatever else is told of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.run_files.comparing.crosscheck import (
    Comparison,
    Crosscheck,
    LabRun,
    Pairing,
    Side,
)
from model.run_files.comparing.margins import Margin, margins
from model.run_files.point import Point
from reports.agreement.comparable import Measured, check
from reports.inference.distributions import same_distribution_p
from reports.inference.equivalence import (
    Pairs,
    apart,
    corrected,
    correlation,
    verdict,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Pair:
    """A lab and the first one, and what runs of the same seed have."""

    first: Measured
    other: Measured

    def lacks(self, name: str, point: Point) -> str:
        """Return why some run at a point lacks a metric; empty if none does."""
        reasons = (
            cell.values[name].reason
            for one in (self.first, self.other)
            for cell in one.counted_at(point)
        )
        return next(filter(None, reasons), "")

    def values(self, name: str, point: Point) -> Floats:
        """Return a row for each seed that both have: the first lab's value, then the other's."""
        there = {cell.seed: cell.values[name].value for cell in self.first.counted_at(point)}
        both = [
            (there[cell.seed], cell.values[name].value)
            for cell in self.other.counted_at(point)
            if cell.seed in there
        ]
        return np.array(both, dtype=np.float64)

    def losses(self, points: Sequence[Point]) -> list[Floats]:
        """Return by how much the logarithms of the groups' realised losses differ.

        A row for each seed of a point, a column for each group; no column if any loss is 0 or not
        known.
        """
        names = [f"loss_{group.id}_frac" for group in self.first.run.study.groups]
        none = [np.zeros((len(self.values(names[0], point)), 0)) for point in points]
        if any(self.lacks(name, point) for name in names for point in points):
            return none
        logs = [[self.values(name, point) for name in names] for point in points]
        if any((one <= 0).any() for at in logs for one in at):
            return none
        return [np.column_stack([np.log(one[:, 1] / one[:, 0]) for one in at]) for at in logs]


def crosscheck(runs: Sequence[Measured]) -> Crosscheck:
    """Return how runs of one study agree with the first of them.

    Raises:
        StudyError: they are not of one study with the same settings, or have too few seeds.
    """
    check(runs)
    first, *others = runs
    study = first.run.study
    names = list(first.cells[0].values)
    of = margins((group.id for group in study.groups), study.flows)
    pairs = [_Pair(first, other) for other in others]
    tests = sum(of[name].bound is not None for name in names) * len(study.points) * len(pairs)
    found = [
        one for name in names for pair in pairs for one in _compared(name, of[name], pair, tests)
    ]
    lacking = {
        name: why
        for name in names
        for pair in pairs
        for point in study.points
        if (why := pair.lacks(name, point))
    }
    return Crosscheck(
        study=study.id, title=study.title, duration_s=study.duration_s, groups=study.groups,
        compare=study.compare, flows=study.flows, parameters=study.parameters,
        labs=tuple(_lab(one) for one in runs),
        comparisons=_judged(found),
        pairings=tuple(
            _pairing(name, pair) for name in names if name not in lacking for pair in pairs
        ),
        missing=lacking,
    )  # fmt: skip


def _lab(one: Measured) -> LabRun:
    return LabRun(
        label=one.label, run=one.name, manifest_sha256=one.manifest_sha256,
        seeds=len({cell.seed for cell in one.counted()}),
        excluded=sum(cell.excluded is not None for cell in one.cells), facts=one.facts,
    )  # fmt: skip


def _compared(name: str, margin: Margin, pair: _Pair, tests: int) -> list[Comparison]:
    """Return a metric's comparisons with p-values of their own, not judged yet."""
    points = [point for point in pair.first.run.study.points if not pair.lacks(name, point)]
    if not points:
        return []
    values = [pair.values(name, point) for point in points]
    units = [_unit(one, relative=margin.relative) for one in values]

    def of(covariates: Sequence[Floats]) -> list[Pairs]:
        return [
            Pairs(
                differences=(one[:, 1] - one[:, 0]) / unit,
                covariates=beside,
                size=float(np.abs(one).max()) / unit,
            )
            for one, unit, beside in zip(values, units, covariates, strict=True)
        ]

    plain = apart(of([one[:, :0] for one in values]), margin.bound, tests)
    told = plain if margin.bound is None else apart(of(pair.losses(points)), margin.bound, tests)
    return [
        Comparison(
            metric=name, point=point, lab=pair.other.label, first=_side(one[:, 0]),
            other=_side(one[:, 1]), relative=margin.relative, margin=margin.bound,
            plain_difference=means.difference, plain_ci95=means.ci95,
            plain_p_equivalent=means.p_equivalent, at_equal_loss=found.adjusted,
            difference=found.difference, ci90=found.ci90, ci95=found.ci95,
            p_equivalent=found.p_equivalent, p_different=found.p_different,
            p_distributions=same_distribution_p(one[:, 1], one[:, 0]), verdict="not judged",
            seeds_wanted=found.seeds_wanted, reason=found.reason,
        )
        for point, one, means, found in zip(points, values, plain, told, strict=True)
    ]  # fmt: skip


def _unit(values: Floats, *, relative: bool) -> float:
    """Return what a difference is told in: the mean of both labs, or the metric's own unit."""
    return (float(np.abs(values).mean()) or 1.0) if relative else 1.0


def _side(values: Floats) -> Side:
    return Side(n=len(values), mean=float(values.mean()), sd=float(values.std(ddof=1)))


def _judged(found: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons with their verdicts, p-values corrected for how many there are.

    That two labs are equivalent in all that is judged is said only if each comparison shows it:
    that needs no correction. That they differ somewhere is said if any does.
    """
    beyond = iter(corrected([one.p_different for one in found if one.p_different is not None]))
    unlike = corrected([one.p_distributions for one in found])
    made = []
    for one, p_distributions in zip(found, unlike, strict=True):
        p_different = None if one.p_different is None else next(beyond)
        found_verdict = verdict(one.p_equivalent, p_different)
        seeds_wanted = one.seeds_wanted if found_verdict == "not shown" else None
        made.append(
            dataclasses.replace(
                one, p_different=p_different, p_distributions=p_distributions,
                verdict=found_verdict, seeds_wanted=seeds_wanted,
            )
        )  # fmt: skip
    return tuple(made)


def _pairing(name: str, pair: _Pair) -> Pairing:
    rows = [pair.values(name, point) for point in pair.first.run.study.points]
    return Pairing(
        metric=name, lab=pair.other.label, pairs=sum(map(len, rows)), correlation=correlation(rows)
    )
