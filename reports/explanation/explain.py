"""From runs of one study with sets of mechanisms to what each of them does. Pure.

Invariants: only seeds that count in every run are looked at, so every effect is paired; a share is
of the published value less that of the unchanged kernel, and null where those are not shown to
differ enough for a bounded interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.errors import StudyError
from model.run_files.comparing.explanation import (
    Effect,
    Explanation,
    Kind,
    Level,
    MechanismRun,
    Turned,
)
from model.run_files.point import Point
from model.run_files.study import INCREASE, Study
from reports.explanation.contrasts import Contrast, Floats, Mechanisms, balanced, contrasts
from reports.explanation.judged import Turns, in_several, judged
from reports.inference.estimates import ratio_of_means
from reports.inference.statistics import estimate, inside
from reports.store.sample import Quotient
from reports.verdict.points import CellSummary
from reports.verdict.summary import Summary

LEAST_SEEDS = 2
NONE: Mechanisms = frozenset()


@dataclass(frozen=True, kw_only=True)
class MechanismResult:
    """A run with mechanisms in force: its record, its study, and what its report says."""

    record: MechanismRun
    study: Study
    summary: Summary

    @property
    def those(self) -> Mechanisms:
        """The mechanisms in force."""
        return frozenset(self.record.mechanisms)


def explain(
    results: Sequence[MechanismResult], idle: Mapping[str, str], metric: str = ""
) -> Explanation:
    """Return what mechanisms do to a study.

    Args:
        results: runs of one study with the same seeds, each with another set of mechanisms.
        idle: mechanisms that change nothing of its hosts, and why.
        metric: what is told of first; if none, the increase, or else the study's first metric.

    Raises:
        StudyError: the runs do not tell the mechanisms apart, or have too few seeds in common, or
            the study has no such metric.
    """
    by_set = {one.those: one for one in results}
    found = _Effects(by_set)
    study = found.study
    told = metric or (INCREASE if study.compare else study.metrics[0])
    if told not in found.metrics:
        raise StudyError(
            "no such metric", where="--metric", wanted=", ".join(found.metrics), got=told
        )
    return Explanation(
        study=study.id, title=study.title, groups=study.groups, compare=study.compare,
        flows=study.flows, parameters=study.parameters, metric=told,
        hypotheses=tuple(one for one in study.hypotheses if one.id in found.mechanisms),
        idle={
            one.id: idle.get(one.id, "not turned in these runs")
            for one in study.hypotheses
            if one.id not in found.mechanisms
        },
        runs=tuple(one.record for one in results),
        levels=tuple(level for name in found.metrics for level in found.levels(name)),
        effects=tuple(one for name in found.metrics for one in found.effects(name)),
        claims=_turned(results),
        explained=judged(study, found.turns()),
    )  # fmt: skip


def _turned(results: Sequence[MechanismResult]) -> tuple[Turned, ...]:
    """Return each claim that was judged in some run, with its verdict in all.

    The p-values of a run's own report are corrected for its claims. Where verdicts of several runs
    are looked at, each is multiplied with their number as well (Bonferroni), so that the chance
    that any of these verdicts is wrong is at most 5 %.
    """
    everything = max(len(one.those) for one in results)
    looked_at = [len(one.those) in (0, 1, everything) for one in results]
    by_claim = []
    for i, first in enumerate(results[0].summary.verdicts):
        if not first.comparisons:
            continue
        verdicts = [one.summary.verdicts[i] for one in results]
        corrected = tuple(
            in_several(verdict, sum(looked_at)) if seen else None
            for verdict, seen in zip(verdicts, looked_at, strict=True)
        )
        by_claim.append(
            Turned(
                claim=first.id, text=first.text, corrected=corrected,
                verdicts=tuple(verdict.verdict for verdict in verdicts),
            )
        )  # fmt: skip
    return tuple(by_claim)


class _Effects:
    """What the runs gave, by set of mechanisms, metric, point and seed."""

    def __init__(self, by_set: Mapping[Mechanisms, MechanismResult]) -> None:
        self._by_set = by_set
        if NONE not in by_set:
            raise _incomplete("a run with none of the mechanisms")
        self.study = by_set[NONE].study
        there = frozenset().union(*by_set)
        self.mechanisms = [one.id for one in self.study.hypotheses if one.id in there]
        lone = [frozenset({name}) for name in self.mechanisms]
        self.everything = frozenset(self.mechanisms)
        if missing := [one for one in (*lone, self.everything) if one not in by_set]:
            raise _incomplete(" and ".join(sorted(missing[0])))
        whole = len(by_set) == 2 ** len(self.mechanisms)
        self.design = [one for one in by_set if whole or one not in lone]
        if not balanced(self.design, self.mechanisms):
            raise _incomplete("sets of mechanisms that tell each from the others")
        goodputs = (f"goodput_{group.id}_bps" for group in self.study.groups)
        self.metrics = tuple(dict.fromkeys((*self.study.wanted_metrics, *goodputs)))
        self.seeds = {point: self._seeds(point) for point in self.study.points}

    def _cells(self, those: Mechanisms, point: Point) -> dict[int, CellSummary]:
        cells = self._by_set[those].summary.cells
        return {one.seed: one for one in cells if one.point == point and one.excluded is None}

    def _seeds(self, point: Point) -> list[int]:
        every = [set(self._cells(those, point)) for those in self._by_set]
        seeds = sorted(set.intersection(*every))
        if len(seeds) < LEAST_SEEDS:
            raise StudyError(
                "too few runs to compare", where=f"{point.as_dict()}",
                wanted=f"at least {LEAST_SEEDS} seeds that count in every run", got=str(len(seeds)),
            )  # fmt: skip
        return seeds

    def lacks(self, metric: str, point: Point) -> str:
        """Return why some run lacks a metric at a point; empty if none does."""
        cells = (
            self._cells(those, point)[seed] for those in self._by_set for seed in self.seeds[point]
        )
        return next(filter(None, (cell.values[metric].reason for cell in cells)), "")

    def values(self, those: Mechanisms, metric: str, point: Point) -> Floats:
        """Return a metric by seed, none of which lacks it."""
        cells = self._cells(those, point)
        return np.array([cells[seed].values[metric].value for seed in self.seeds[point]])

    def levels(self, metric: str) -> Iterator[Level]:
        """Yield a metric at each point in each run."""
        for point in self.study.points:
            why = self.lacks(metric, point)
            published = self._published(metric, point)
            for those, result in self._by_set.items():
                values = [] if why else list(map(float, self.values(those, metric, point)))
                found = estimate(values)
                yield Level(
                    run=result.record.run, metric=metric, point=point, n=len(self.seeds[point]),
                    mean=found.mean, ci95=found.ci95, published=published,
                    published_inside=inside(published, found.pi95), reason=why or found.reason,
                )  # fmt: skip

    def effects(self, metric: str) -> Iterator[Effect]:
        """Yield what mechanisms change of a metric at each point that has it in every run."""
        for point in self.study.points:
            if self.lacks(metric, point):
                continue
            base = self.values(NONE, metric, point)
            whole = self.values(self.everything, metric, point) - base
            yield self._effect("all", [self.everything], whole, metric, point)
            for name in self.mechanisms:
                lone = frozenset({name})
                change = self.values(lone, metric, point) - base
                yield self._effect("alone", [lone], change, metric, point)
            single, pairs = self.contrasts(metric, point)
            for one in single:
                yield self._effect("average", one.sets, one.by_seed, metric, point)
            for one in pairs:
                yield self._effect("pair", one.sets, one.by_seed, metric, point)
            rest = whole - np.sum([one.by_seed for one in single], axis=0)
            yield self._effect("beyond pairs", [self.everything], rest, metric, point)

    def contrasts(self, metric: str, point: Point) -> tuple[list[Contrast], list[Contrast]]:
        """Return the contrasts of single mechanisms and of pairs."""
        values = {those: self.values(those, metric, point) for those in self.design}
        return contrasts(values, self.mechanisms)

    def _published(self, metric: str, point: Point) -> float | None:
        rows = self.study.published.rows_at(point) if self.study.published else ()
        found = next((row.values[metric] for row in rows if metric in row.values), None)
        return None if found is None else float(found)

    def _effect(
        self, kind: Kind, sets: Sequence[Mechanisms], change: Floats, metric: str, point: Point
    ) -> Effect:
        found = estimate([float(one) for one in change])
        share, bounds, why = self._share(change, metric, point)
        return Effect(
            kind=kind, sets=tuple(self._ordered(one) for one in sets), metric=metric, point=point,
            n=found.n, change=found.mean, ci95=found.ci95, reason=found.reason, share=share,
            share_ci95=bounds, share_reason=why,
        )  # fmt: skip

    def _share(
        self, change: Floats, metric: str, point: Point
    ) -> tuple[float | None, tuple[float, float] | None, str | None]:
        """Return which part of the published value less the unchanged kernel's a change is."""
        published = self._published(metric, point)
        if published is None:
            return None, None, "nothing is published there"
        apart = published - self.values(NONE, metric, point)
        sign = 1.0 if apart.mean() >= 0 else -1.0
        if not (sign * apart).mean() > 0:
            return None, None, "the unchanged kernel gives the published value"
        runs = [
            Quotient(float(sign * one), float(sign * other))
            for one, other in zip(change, apart, strict=True)
        ]
        found = ratio_of_means(runs)
        if found.ci95 is None:
            why = "the unchanged kernel is not shown to differ from the published value"
            return None, None, why
        return found.mean, found.ci95, None

    def _ordered(self, those: Mechanisms) -> tuple[str, ...]:
        return tuple(name for name in self.mechanisms if name in those)

    def turns(self) -> Turns:
        """Return what is needed to judge explanations."""

        def average(by: Sequence[str], metric: str, point: Point) -> Floats:
            single, _ = self.contrasts(metric, point)
            those = [one.by_seed for one in single if set(*one.sets) <= set(by)]
            return np.asarray(np.sum(those, axis=0))

        return Turns(
            lacks=self.lacks,
            average=average,
            unchanged=lambda metric, point: self.values(NONE, metric, point),
            everything=lambda metric, point: self.values(self.everything, metric, point),
            mechanisms=frozenset(self.mechanisms),
        )


def _incomplete(missing: str) -> StudyError:
    return StudyError(
        "these runs do not tell mechanisms apart", where="explain", wanted=missing,
        got="no such run", hint="groundtruth explain STUDY runs all that it takes",
    )  # fmt: skip
