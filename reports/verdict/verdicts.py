"""Verdicts on a study's claims, with a bound on the chance that any of them is wrong. Pure.

A claim is that several comparisons all hold. It *holds* if each of them is shown to (an
intersection-union test: the largest p-value counts, no correction), and is *refuted* if one is
shown not to (the smallest, times their number). Each is done at ``LEVEL`` over the number of the
study's tested claims, and over the number of times at which runs might have been enough. A claim
is either true or not, so it can be judged wrongly in one way only, and the chance of any wrong
verdict in a study is at most ``LEVEL``, whatever the claims have to do with each other;
docs/claims.md gives the proof, and how far the tests themselves keep what they promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.run_files.point import Point
from model.run_files.publication import Claim, Comparison, Versus
from model.words import how_many
from reports.inference.decision import (
    Chance,
    Decision,
    Range,
    decide_mean,
    decide_quotient,
    decide_ratio,
    decide_shares,
    undecided,
)
from reports.store.sample import Share
from reports.verdict.limits import limits_of
from reports.verdict.points import CellSummary, PointSummary
from reports.verdict.words import Words

#: The chance that any verdict of a study is wrong is at most this.
LEVEL = 0.05
HOLDS, REFUTED, UNDECIDED = "holds", "refuted", "undecided"
UNTESTED, NOT_RUN = "untested", "not run"
COMPARISON_VERDICTS = (HOLDS, REFUTED, UNDECIDED)
VERDICTS = (*COMPARISON_VERDICTS, UNTESTED, NOT_RUN)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One comparison, where it was made, and what was found; its p-values are its own.

    ``what``, ``result`` and ``wanted`` are words; ``short`` is the number found alone.
    """

    comparison: Comparison
    found: Decision
    verdict: str
    what: str
    result: str
    wanted: str
    short: str = ""

    @property
    def words(self) -> str:
        """All of it in one clause."""
        return f"{self.what}: {self.result}; claimed: {self.wanted}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One claim's verdict. Both p-values are corrected for the number of claims, and of looks.

    They are to be compared with ``LEVEL``; None where the runs cannot say. ``decisive`` is the
    comparison on which the verdict turns, ``spread`` says how the others went, ``evidence`` both.
    """

    id: str
    text: str
    where: str
    verdict: str
    evidence: str
    p_holds: float | None
    p_refuted: float | None
    comparisons: tuple[Judged, ...]
    decisive: Judged | None = None
    spread: str = ""
    suspects: tuple[str, ...] = ()

    @property
    def suspected(self) -> str:
        """What of the hosts may have refuted it, in words; empty if nothing or not refuted."""
        if self.verdict != REFUTED or not self.suspects:
            return ""
        return f"Suspects in the hosts' ledger: {'; '.join(self.suspects)}."


def judge(
    claims: Sequence[Claim],
    points: Sequence[PointSummary],
    cells: Sequence[CellSummary],
    *,
    words: Words,
    moved: Mapping[Point, Point] | None = None,
    looks: int = 1,
) -> tuple[Verdict, ...]:
    """Return the verdict on each claim, in their order.

    Args:
        claims: the study's claims.
        points: the points they are at, summarised.
        cells: the cells of these points.
        words: what readers call metrics and settings.
        at: where to judge them instead, by the point they are at; a comparison whose points it
            lacks is left out.
        looks: after how many numbers of runs a point may have stopped, by whatever rule.
    """
    runs = _Runs(points, cells)
    tested = sum(bool(claim.comparisons) for claim in claims)
    court = _Court(runs, words, tested * looks, moved)
    return tuple(court.verdict(claim) for claim in claims)


class _Runs:
    """What each counted run gave, by point and seed."""

    def __init__(self, points: Sequence[PointSummary], cells: Sequence[CellSummary]) -> None:
        self._points = {point.point: point for point in points}
        self._cells: dict[Point, dict[int, CellSummary]] = {}
        for cell in cells:
            if cell.excluded is None:
                self._cells.setdefault(cell.point, {})[cell.seed] = cell

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, also those that no claim is about."""
        return tuple(self._points)

    def decide(self, one: Comparison) -> Decision:
        """Return what the runs say of a comparison: across two points, pairs by seed."""
        wanted = Range(low=one.low, high=one.high, strict=one.strict)
        first, second = one.metric, one.versus
        if one.quotient:
            first, second = one.quotient[0], Versus(metric=one.quotient[1], point=one.point)
        x = self._values(first, one.point)
        y = self._values(second.metric, second.point) if second else None
        if isinstance(x, str) or isinstance(y, str):
            return undecided(x if isinstance(x, str) else str(y))
        chance = self._chance((one.point, *((second.point,) if second else ())))
        if y is None:
            shares = self._shares(first, one.point)
            if shares:
                return decide_shares(shares, wanted, chance)
            return decide_mean(list(x.values()), wanted, chance, limits_of(one.metric))
        pairs = {seed: (x[seed], y[seed]) for seed in x if seed in y}
        if not pairs:
            return undecided("no two runs have the same seed")
        if one.per is not None:
            differences = {seed: a - b for seed, (a, b) in pairs.items()}
            return self._decide_per(one, one.per, differences, wanted, chance)
        of, over = zip(*pairs.values(), strict=True)
        if one.relative or one.quotient:
            return decide_ratio(of, over, wanted, chance)
        return decide_mean([a - b for a, b in pairs.values()], wanted, chance)

    def _decide_per(
        self,
        one: Comparison,
        per: str,
        differences: Mapping[int, float],
        wanted: Range,
        chance: Chance,
    ) -> Decision:
        """Return what the runs say of one metric's difference per that of another."""
        x = self._values(per, one.point)
        y = self._values(per, one.versus.point) if one.versus else {}
        if isinstance(x, str) or isinstance(y, str):
            return undecided(x if isinstance(x, str) else str(y))
        # All of a point's runs have all metrics, so these are the seeds of the differences, too.
        others = [x[seed] - y[seed] for seed in differences]
        return decide_quotient(list(differences.values()), others, wanted, chance)

    def _values(self, metric: str, point: Point) -> dict[int, float] | str:
        """Return each counted run's value by seed, or why they cannot be used."""
        cells = self._cells.get(point, {})
        if not cells:
            return "no run counts"
        found = {seed: cell.values[metric] for seed, cell in sorted(cells.items())}
        missing = [value.reason for value in found.values() if value.value is None]
        if missing:
            return f"missing in {len(missing)} of {how_many(len(found), 'run')}: {missing[0]}"
        return {seed: value.value for seed, value in found.items() if value.value is not None}

    def _shares(self, metric: str, point: Point) -> list[Share]:
        """Return each counted run's share of what it counted; empty for any other metric."""
        found = [cell.values[metric].share for cell in self._cells[point].values()]
        return [share for share in found if share is not None]

    def _chance(self, involved: tuple[Point, ...]) -> Chance:
        return Chance(
            none=not any(self._points[point].chance for point in involved),
            shows=any(self._differ(point) for point in involved),
        )

    def _differ(self, point: Point) -> bool:
        """Return whether any metric differs between the runs of a point."""
        cells = list(self._cells[point].values())
        return any(
            cell.values[name] != value for cell in cells for name, value in cells[0].values.items()
        )


class _Court:
    """Judges claims by what the runs of one study say, with so many tests in all."""

    def __init__(
        self, runs: _Runs, words: Words, tests: int, moved: Mapping[Point, Point] | None
    ) -> None:
        self._runs, self._words, self._tests, self._at = runs, words, tests, moved
        self._naming = words.naming(runs.points)

    def verdict(self, claim: Claim) -> Verdict:
        if claim.untested is not None:
            return _without(claim, UNTESTED, claim.untested)
        if claim.left_out is not None:
            return _without(claim, NOT_RUN, claim.left_out)
        here = [found for one in claim.comparisons if (found := self._moved(one))]
        if not here:
            return _without(claim, NOT_RUN, "none of its points was run like this")
        judged = self._judged(here)
        p_holds, p_refuted = _joined(judged)
        p_holds, p_refuted = self._corrected(p_holds), self._corrected(p_refuted)
        verdict = _verdict(p_holds, p_refuted)
        decisive = _decisive(judged, verdict)
        spread = _spread(judged, verdict)
        if len(here) < len(claim.comparisons):
            left = f"only {len(here)} of {how_many(len(claim.comparisons), 'comparison')} was run"
            spread = f"{spread}; {left}" if spread else left
        evidence = f"{decisive.words} ({spread})." if spread else f"{decisive.words}."
        return Verdict(
            id=claim.id, text=claim.text, where=claim.where, verdict=verdict, evidence=evidence,
            p_holds=p_holds, p_refuted=p_refuted, comparisons=judged, decisive=decisive,
            spread=spread, suspects=claim.suspects,
        )  # fmt: skip

    def _moved(self, one: Comparison) -> Comparison | None:
        """Return a comparison where it is to be judged, or None if nothing was run there."""
        if self._at is None:
            return one
        point = self._at.get(one.point)
        if point is None:
            return None
        versus = one.versus
        if versus:
            other = self._at.get(versus.point)
            if other is None:
                return None
            versus = Versus(metric=versus.metric, point=other)
        return Comparison(**{**vars(one), "point": point, "versus": versus})

    def _judged(self, comparisons: Sequence[Comparison]) -> tuple[Judged, ...]:
        judged = []
        for one in comparisons:
            found = self._runs.decide(one)
            outside = None if found.p_outside is None else len(comparisons) * found.p_outside
            judged.append(
                Judged(
                    comparison=one,
                    found=found,
                    verdict=_verdict(self._corrected(found.p_inside), self._corrected(outside)),
                    what=self._words.what(one, self._naming),
                    result=self._words.result(one, found),
                    short=self._words.short(one, found),
                    wanted=self._words.range(one),
                )
            )
        return tuple(judged)

    def _corrected(self, p: float | None) -> float | None:
        """Return a p-value that may be compared with ``LEVEL``: Bonferroni, over all tests."""
        return None if p is None else min(1.0, self._tests * p)


def _without(claim: Claim, verdict: str, why: str) -> Verdict:
    return Verdict(
        id=claim.id, text=claim.text, where=claim.where, verdict=verdict, evidence=why,
        p_holds=None, p_refuted=None, comparisons=(),
    )  # fmt: skip


def _joined(judged: Sequence[Judged]) -> tuple[float | None, float | None]:
    """Return how sure it is that all comparisons hold, and that one of them does not."""
    inside = [one.found.p_inside for one in judged]
    outside = [p for one in judged if (p := one.found.p_outside) is not None]
    p_holds = None if None in inside else max(p for p in inside if p is not None)
    return p_holds, min(1.0, len(judged) * min(outside)) if outside else None


def _verdict(p_holds: float | None, p_refuted: float | None) -> str:
    if p_holds is not None and p_holds <= LEVEL:
        return HOLDS
    return REFUTED if p_refuted is not None and p_refuted <= LEVEL else UNDECIDED


def _decisive(judged: Sequence[Judged], verdict: str) -> Judged:
    """Return the comparison the verdict turns on: the weakest, the clearest against, the worst."""
    if verdict == REFUTED:
        return min(judged, key=lambda one: _or_larger(one.found.p_outside))
    return max(judged, key=lambda one: _or_larger(one.found.p_inside))


def _or_larger(p: float | None) -> float:
    """Return a p-value, one that is not known as larger than all."""
    return 2.0 if p is None else p


def _spread(judged: Sequence[Judged], verdict: str) -> str:
    """Return how the comparisons of a claim went, and which of them is shown; empty for one."""
    if len(judged) == 1:
        return ""
    number = len(judged)
    by = {name: sum(one.verdict == name for one in judged) for name in COMPARISON_VERDICTS}
    if verdict == HOLDS:
        return f"all {number} comparisons hold, this the least clearly"
    if verdict == REFUTED:
        held = f", {by[HOLDS]} hold{'s' * (by[HOLDS] == 1)}" if by[HOLDS] else ""
        are = "is" if by[REFUTED] == 1 else "are"
        return f"{by[REFUTED]} of {number} comparisons {are} refuted, this the most clearly{held}"
    return f"{by[HOLDS]} of {number} comparisons hold; this one is in doubt"
