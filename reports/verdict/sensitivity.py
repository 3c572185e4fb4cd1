"""What an alternative of an assumption does to a study's numbers and to the verdicts on its claims.

Pure. Each variation is set beside the same points as assumed: numbers by the difference of runs
with the same seed, claims by judging them at those points once as assumed and once as varied.
Invariant: only runs that count are looked at, and a point that was not run never counts as one that
agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from model.run_files.cells import RunWarning
from model.run_files.point import Point
from model.run_files.study import Study, Variation
from reports.inference.statistics import Estimate, estimate, unknown
from reports.measures.metrics import Value
from reports.verdict.points import CellSummary, PointSummary
from reports.verdict.verdicts import Verdict

HOLDS, REFUTED = "holds", "refuted"
_WORDS = {HOLDS: "holds", REFUTED: "is refuted"}
#: The rule that says a verdict turns on an assumption.
DEPENDS = "depends-on-assumption"


class Judge(Protocol):
    """Judges a study's claims elsewhere than where they are: at other points, by their own."""

    def __call__(self, moved: Mapping[Point, Point]) -> Sequence[Verdict]:
        """Return a verdict on every claim."""


#: Why there is a mean and no difference.
NO_PAIR = "no difference: no two runs have the same seed"


@dataclass(frozen=True, kw_only=True)
class Change:
    """A metric at a point as varied; ``reason`` says why there is no mean, or no difference."""

    estimate: Estimate
    difference: Estimate | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class VariedPoint:
    """A point as varied; ``differences`` from ``of``, the point as assumed, by metric."""

    of: Point
    summary: PointSummary
    differences: Mapping[str, Estimate]

    @property
    def changes(self) -> Mapping[str, Change]:
        """Every metric: as varied, and its difference."""
        found = {}
        for name, metric in self.summary.metrics.items():
            difference = self.differences.get(name)
            why = metric.reason or (difference.reason if difference else NO_PAIR)
            found[name] = Change(estimate=metric.estimate, difference=difference, reason=why)
        return found


@dataclass(frozen=True, kw_only=True)
class TriedClaim:
    """A claim at a variation's points: as assumed, and with the alternative."""

    as_assumed: Verdict
    as_varied: Verdict

    @property
    def changes(self) -> bool:
        """Whether the one is shown to hold and the other is refuted."""
        return {self.as_assumed.verdict, self.as_varied.verdict} == {HOLDS, REFUTED}


@dataclass(frozen=True, kw_only=True)
class TriedVariation:
    """One alternative of an assumption, its points, and the claims that could be judged there."""

    variation: Variation
    points: tuple[VariedPoint, ...]
    claims: tuple[TriedClaim, ...]

    @property
    def of(self) -> tuple[Point, ...]:
        """The points as assumed, in order."""
        return tuple(point.of for point in self.points)


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """All variations of a run; ``cells`` are those run for them alone, ``left_out`` not run."""

    variations: tuple[TriedVariation, ...] = ()
    cells: tuple[CellSummary, ...] = ()
    left_out: tuple[str, ...] = ()


NO_SENSITIVITY = Sensitivity()


def sensitivity(
    study: Study,
    points: Mapping[Point, PointSummary],
    cells: Sequence[CellSummary],
    judge: Judge,
) -> Sensitivity:
    """Return what the variations of a run gave.

    Args:
        study: whose variations.
        points: the study's points and those of variations, summarised.
        cells: the finished measuring cells of all of them.
        judge: judges the study's claims.
    """
    own = set(study.variation_points)
    return Sensitivity(
        variations=tuple(_tried(study, one, points, cells, judge) for one in study.variations),
        cells=tuple(cell for cell in cells if cell.point in own),
        left_out=study.left_out,
    )


def _tried(
    study: Study,
    variation: Variation,
    points: Mapping[Point, PointSummary],
    cells: Sequence[CellSummary],
    judge: Judge,
) -> TriedVariation:
    pairs = [
        (study.all_points[of], study.all_points[becomes])
        for of, becomes in zip(variation.of, variation.points, strict=True)
    ]
    as_assumed = judge({base: base for base, _ in pairs})
    as_varied = judge(dict(pairs))
    return TriedVariation(
        variation=variation,
        points=tuple(
            VariedPoint(
                of=base, summary=points[point], differences=_differences(base, point, cells)
            )
            for base, point in pairs
        ),
        claims=tuple(
            TriedClaim(as_assumed=assumed, as_varied=alternative)
            for assumed, alternative in zip(as_assumed, as_varied, strict=True)
            if alternative.comparisons
        ),
    )


def _differences(base: Point, point: Point, cells: Sequence[CellSummary]) -> dict[str, Estimate]:
    """Return each metric's change from one point to another, over the seeds both have.

    Runs with the same seed may share their losses; paired, the interval is right if they do and if
    they do not.
    """
    assumed, alternative = (
        {cell.seed: cell for cell in cells if cell.point == one and cell.excluded is None}
        for one in (base, point)
    )
    seeds = sorted(set(assumed) & set(alternative))
    found = {}
    for name in alternative[seeds[0]].values if seeds else ():
        pairs = [(assumed[seed].values[name], alternative[seed].values[name]) for seed in seeds]
        found[name] = _difference(pairs)
    return found


def _difference(pairs: Sequence[tuple[Value, Value]]) -> Estimate:
    """Return the mean change over the runs; none, and why, if the metric is missing in one."""
    changes, missing = [], []
    for before, after in pairs:
        if before.value is None or after.value is None:
            missing.append(before.reason or after.reason)
        else:
            changes.append(after.value - before.value)
    if missing:
        why = f"no difference: null in {len(missing)} of {len(pairs)} pairs of runs: {missing[0]}"
        return unknown(len(changes), why)
    return estimate(changes)


def turning(found: Sensitivity) -> tuple[RunWarning, ...]:
    """Return a warning for every claim whose verdict turns on an assumption."""
    turned: dict[tuple[str, str, str], list[str]] = {}
    for tried in found.variations:
        for claim in tried.claims:
            if claim.changes:
                key = (tried.variation.assumption, claim.as_assumed.text, claim.as_varied.verdict)
                turned.setdefault(key, []).append(tried.variation.words)
    return tuple(
        RunWarning(
            rule=DEPENDS,
            where=f"assumption {assumption}",
            text=f"\N{LEFT DOUBLE QUOTATION MARK}{text.rstrip('.')}\N{RIGHT DOUBLE QUOTATION MARK} "
            f"{_WORDS[REFUTED if verdict == HOLDS else HOLDS]} as assumed and {_WORDS[verdict]} "
            f"with {' and with '.join(words)}.",
        )
        for (assumption, text, verdict), words in turned.items()
    )
