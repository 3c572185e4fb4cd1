"""What a run repeats, as JSON: how far its points are, and what its variations gave.

Pure; docs/data-format.md describes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reports.inference.replication import Replication
from reports.inference.rounding import rounded
from reports.verdict.sensitivity import Sensitivity, TriedClaim, TriedVariation, VariedPoint

SCHEMA = 1


def replication_record(found: Replication) -> dict[str, Any]:
    """Return ``replication.json``: what is to be known how precisely, and how far each point is."""
    wanted = found.precision
    return {
        "schema": SCHEMA,
        "metric": found.metric,
        "chosen": found.chosen,
        "half_width": wanted.half_width,
        "relative_half_width": wanted.relative_half_width,
        "at_least": wanted.at_least,
        "at_most": wanted.at_most,
        "points": [
            {
                "point": state.point.as_dict(),
                "runs": state.runs,
                "half_width": rounded(state.half_width),
                "wanted": rounded(state.wanted),
                "stopped": state.stopped,
                "more": state.more,
                "words": state.words,
            }
            for state in found.points
        ],
    }


def sensitivity_record(found: Sensitivity, headline: Sequence[str]) -> list[dict[str, Any]]:
    """Return ``summary.json``'s ``sensitivity``: one object per variation that was run."""
    return [_variation(tried, headline) for tried in found.variations]


def _variation(tried: TriedVariation, headline: Sequence[str]) -> dict[str, Any]:
    return {
        "assumption": tried.variation.assumption,
        "words": tried.variation.words,
        "settings": tried.variation.settings,
        "points": [_point(point, headline) for point in tried.points],
        "claims": [_claim(claim) for claim in tried.claims],
    }


def _claim(claim: TriedClaim) -> dict[str, Any]:
    return {
        "id": claim.as_assumed.id,
        "as_assumed": claim.as_assumed.verdict,
        "verdict": claim.as_varied.verdict,
        "changes": claim.changes,
        "evidence": claim.as_varied.evidence,
    }


def _point(point: VariedPoint, headline: Sequence[str]) -> dict[str, Any]:
    found = point.summary
    return {
        "of": point.of.as_dict(),
        "point": found.point.as_dict(),
        "cells_planned": found.cells_planned,
        "cells_counted": found.cells_counted,
        "metrics": {name: _metric(point, name) for name in headline},
    }


#: Why there is a mean and no difference.
NO_PAIR = "no difference: no two runs have the same seed"


def _metric(point: VariedPoint, name: str) -> dict[str, Any]:
    metric = point.summary.metrics[name]
    change = point.differences.get(name)
    return {
        "mean": rounded(metric.estimate.mean),
        "sd": rounded(metric.estimate.sd),
        "n": metric.estimate.n,
        "difference": rounded(change.mean) if change else None,
        "difference_ci95": [rounded(b) for b in change.ci95] if change and change.ci95 else None,
        "reason": metric.reason or (change.reason if change else NO_PAIR),
    }
