"""From runs of one study on several kernels to what changed from each to the next. Pure.

Invariants: a level and a verdict are those of the run's own report, so no figure mixes kernels; a
change is of runs of the same seed; all changes are tested together (Holm), so that the chance that
any is told where there is none is at most ``LEVEL``, of differences that are roughly normal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from model.run_files.comparing.kernels import (
    Change,
    JudgedClaim,
    KernelRun,
    Kernels,
    Level,
    OnKernel,
)
from model.run_files.point import Point
from reports.agreement.comparable import Measured, check
from reports.inference.equivalence import LEVEL, NO_SPREAD, Apart, Floats, Pairs, apart, corrected
from reports.verdict.points import PointSummary
from reports.verdict.summary import Summary

#: Why a difference is not a matter of probability.
EXACT = "nothing is left to chance"


@dataclass(frozen=True, kw_only=True)
class KernelResult:
    """A run on a kernel, whose label it is: what it holds, and what its own report says."""

    measured: Measured
    summary: Summary

    def at(self, point: Point) -> PointSummary:
        """Return the summary of one of the study's points."""
        return next(one for one in self.summary.points if one.point == point)

    def lacks(self, metric: str, point: Point) -> str:
        """Return why a run that counts lacks a metric at a point; empty if none does."""
        cells = self.measured.counted_at(point)
        return next(filter(None, (cell.values[metric].reason for cell in cells)), "")


def kernels(results: Sequence[KernelResult]) -> Kernels:
    """Return what changed between kernels, each of which is compared with the one before.

    Raises:
        StudyError: the runs are not of one study with the same settings, or have too few seeds.
    """
    check([one.measured for one in results])
    study = results[0].measured.run.study
    goodputs = (f"goodput_{group.id}_bps" for group in study.groups)
    metrics = tuple(dict.fromkeys((*study.metrics, *goodputs)))
    return Kernels(
        study=study.id,
        # The shortest names no patch of a kernel, as the others do.
        title=min((one.summary.title for one in results), key=len),
        groups=study.groups, compare=study.compare, flows=study.flows,
        parameters=study.parameters, metrics=metrics,
        runs=tuple(_record(one) for one in results),
        levels=tuple(
            _level(one, name, point)
            for name in metrics for point in study.points for one in results
        ),
        changes=_told([
            _change(before, after, name, point)
            for name in metrics for point in study.points for before, after in pairwise(results)
        ]),
        claims=tuple(_claims(results)),
    )  # fmt: skip


def _record(one: KernelResult) -> KernelRun:
    measured = one.measured
    return KernelRun(
        kernel=measured.label, run=measured.name, manifest_sha256=measured.manifest_sha256,
        seeds=len({cell.seed for cell in measured.counted()}),
        excluded=sum(cell.excluded is not None for cell in measured.cells), facts=measured.facts,
    )  # fmt: skip


def _level(one: KernelResult, metric: str, point: Point) -> Level:
    found = one.at(point).metrics[metric]
    return Level(
        kernel=one.measured.label, metric=metric, point=point, n=found.estimate.n,
        mean=found.estimate.mean, ci95=found.estimate.ci95,
        published=None if found.published is None else float(found.published),
        published_inside=found.published_in_pi95, reason=found.reason,
    )  # fmt: skip


def _change(before: KernelResult, after: KernelResult, metric: str, point: Point) -> Change:
    """Return a change with a p-value of its own, not corrected yet."""
    why = before.lacks(metric, point) or after.lacks(metric, point)
    values = _pairs(before, after, metric, point) if not why else np.empty((0, 2))
    unknown = Change(
        metric=metric, point=point, before=before.measured.label, after=after.measured.label,
        n=len(values), difference=None, ci95=None, p=None, p_corrected=None, told_apart=False,
        reason=why or None,
    )  # fmt: skip
    if why:
        return unknown
    chance = before.at(point).chance or after.at(point).chance
    found = _apart(values)
    p, reason = _p(found) if chance else (0.0 if found.difference else 1.0, EXACT)
    return dataclasses.replace(
        unknown, difference=found.difference, ci95=found.ci95, p=p, reason=reason
    )


def _pairs(before: KernelResult, after: KernelResult, metric: str, point: Point) -> Floats:
    """Return a row for each seed that counts on both: the value before, and after."""
    there = {
        cell.seed: cell.values[metric].value for cell in before.measured.counted_at(point)
    }  # fmt: skip
    both = [
        (there[cell.seed], cell.values[metric].value)
        for cell in after.measured.counted_at(point)
        if cell.seed in there
    ]
    return np.array(both, dtype=np.float64)


def _apart(values: Floats) -> Apart:
    differences = values[:, 1] - values[:, 0]
    plain = np.empty((len(values), 0))
    pairs = Pairs(differences=differences, covariates=plain, size=float(np.abs(values).max()))
    (found,) = apart([pairs], margin=0.0)
    return found


def _p(found: Apart) -> tuple[float, str | None]:
    """Return how likely such a difference is where there is none; the reason is of equal ones."""
    p = found.p_different
    if p is None:
        raise AssertionError("a margin was given")
    if found.reason == NO_SPREAD and found.difference:
        p = min(1.0, 2 * p)  # all above 0 or all below it: two tests
    return p, found.reason


def _told(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return changes with p-values corrected for their number, and whether each is told apart."""
    after = iter(corrected([one.p for one in changes if one.p is not None]))
    made = []
    for one in changes:
        p = None if one.p is None else next(after)
        made.append(
            dataclasses.replace(one, p_corrected=p, told_apart=p is not None and p <= LEVEL)
        )
    return tuple(made)


def _claims(results: Sequence[KernelResult]) -> Iterator[JudgedClaim]:
    for same in zip(*(one.summary.verdicts for one in results), strict=True):
        yield JudgedClaim(
            claim=same[0].id,
            text=same[0].text,
            on=tuple(
                OnKernel(
                    kernel=one.measured.label, verdict=verdict.verdict,
                    decisive=verdict.decisive.short if verdict.decisive else "",
                    evidence=verdict.evidence, p_holds=verdict.p_holds,
                    p_refuted=verdict.p_refuted,
                )
                for one, verdict in zip(results, same, strict=True)
            ),
        )  # fmt: skip
