"""Claims that mechanisms explain something, judged by what turning these mechanisms does. Pure.

Invariant: the chance that any verdict of a study's explanations is wrong is at most 5 %; p-values
are corrected for how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from model.run_files.comparing.explanation import Explained, ExplainedAt
from model.run_files.point import Point
from model.run_files.study import Explanation, Study
from reports.explanation.contrasts import Floats
from reports.inference.decision import (
    Chance,
    Decision,
    Range,
    decide_mean,
    decide_ratio,
    undecided,
)
from reports.verdict.verdicts import HOLDS, LEVEL, REFUTED, UNDECIDED, Verdict

OfPoint = Callable[[str, Point], Floats]


@dataclass(frozen=True, kw_only=True)
class Turns:
    """What turning mechanisms gave, by seed: their effect, and the metric without and with all."""

    lacks: Callable[[str, Point], str]
    average: Callable[[Sequence[str], str, Point], Floats]
    unchanged: OfPoint
    everything: OfPoint
    mechanisms: frozenset[str]


def judged(study: Study, turns: Turns) -> tuple[Explained, ...]:
    """Return the verdict on each explanation whose mechanisms were all turned."""
    tested = [one for one in study.explanations if set(one.by) <= turns.mechanisms]
    texts = {claim.id: claim.text for claim in study.claims}
    return tuple(_judged(one, turns, len(tested), texts[one.claim]) for one in tested)


def _judged(one: Explanation, turns: Turns, tests: int, text: str) -> Explained:
    found = [_decide(one, turns, point) for point in one.points]
    inside = [each.p_inside for each in found]
    outside = [each.p_outside for each in found if each.p_outside is not None]
    p_holds = None if None in inside else min(1.0, tests * max(p for p in inside if p is not None))
    p_refuted = min(1.0, tests * len(found) * min(outside)) if outside else None
    return Explained(
        claim=one.claim, text=text, by=one.by, metric=one.metric, measure=one.measure,
        low=one.low, high=one.high, strict=one.strict,
        at=tuple(
            ExplainedAt(
                point=point, n=each.n, estimate=each.estimate, ci95=each.ci95, reason=each.reason
            )
            for point, each in zip(one.points, found, strict=True)
        ),
        verdict=_verdict(p_holds, p_refuted), p_holds=p_holds, p_refuted=p_refuted,
    )  # fmt: skip


def _verdict(
    p_holds: float | None, p_refuted: float | None
) -> Literal["holds", "refuted", "undecided"]:
    if p_holds is not None and p_holds <= LEVEL:
        return "holds"
    return "refuted" if p_refuted is not None and p_refuted <= LEVEL else "undecided"


def in_several(verdict: Verdict, runs: int) -> str:
    """Return a claim's verdict in one run where those of so many runs are looked at."""
    p = {HOLDS: verdict.p_holds, REFUTED: verdict.p_refuted}.get(verdict.verdict)
    return verdict.verdict if p is None or p * runs <= LEVEL else UNDECIDED


def _decide(one: Explanation, turns: Turns, point: Point) -> Decision:
    """Return what the runs say of an effect, in the explanation's measure.

    In % of y, the effect e is by how many per cent the mean of y + e exceeds that of y.
    """
    why = turns.lacks(one.metric, point)
    if why:
        return undecided(why)
    effect = turns.average(one.by, one.metric, point)
    wanted = Range(low=one.low, high=one.high, strict=one.strict)
    chance = Chance(none=False, shows=bool(np.ptp(turns.unchanged(one.metric, point)) > 0))
    if one.measure == "change":
        return decide_mean([float(value) for value in effect], wanted, chance)
    of = turns.unchanged if one.measure == "percent" else turns.everything
    over = of(one.metric, point)
    return decide_ratio(list(map(float, over + effect)), list(map(float, over)), wanted, chance)
