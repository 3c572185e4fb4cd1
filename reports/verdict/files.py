"""``summary.json`` and ``summary.csv`` as text. Pure; docs/data-format.md describes both.

Invariants: versioned; unknown is null; floats are rounded (``reports.inference.rounding``); nothing
depends on when or where the report was written, so equal runs give equal bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from model.run.point import Point
from model.run.study import Parameter
from reports.inference.equal_loss import LossAdjustment
from reports.inference.rounding import rounded
from reports.inference.statistics import Estimate, Interval
from reports.published.episodes import EpisodeClaim
from reports.published.rounding import Contradiction
from reports.published.tables import TableContradiction
from reports.verdict.causes import Distribution, Episodes, GroupStory
from reports.verdict.points import CellSummary, MetricSummary
from reports.verdict.repeats import replication_record, sensitivity_record
from reports.verdict.summary import Summary
from reports.verdict.verdicts import Judged, Verdict

SCHEMA = 1


def _bounds(interval: Interval | None) -> list[float | None] | None:
    return None if interval is None else [rounded(bound) for bound in interval]


def _beside_json(name: str, found: Estimate | None) -> dict[str, Any]:
    """Return another estimate of the metric: value, interval, and why one of them is null."""
    return {
        name: rounded(found.mean if found else None),
        f"{name.removesuffix('_of_means')}_ci95": _bounds(found.ci95 if found else None),
        f"{name.removesuffix('_of_means')}_reason": found.reason if found else None,
    }


def _metric_json(metric: MetricSummary) -> dict[str, Any]:
    found = metric.estimate
    return {
        "mean": rounded(found.mean),
        "sd": rounded(found.sd),
        "ci95": _bounds(found.ci95),
        "pi95": _bounds(found.pi95),
        "n": found.n,
        **_beside_json("ratio_of_means", metric.ratio_of_means),
        **_beside_json("adjusted", metric.adjusted),
        "published": rounded(metric.published),
        "published_where": metric.published_where,
        "published_in_ci95": metric.published_in_ci95,
        "published_in_pi95": metric.published_in_pi95,
        "simulated": rounded(metric.simulated),
        "reason": metric.reason,
    }


def _adjustment_json(fit: LossAdjustment | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    return {
        "runs": fit.runs,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "slope": rounded(fit.slope),
        "slope_ci95": _bounds(fit.slope_ci95),
        "plain_sd": rounded(fit.plain_sd),
        "residual_sd": rounded(fit.residual_sd),
        "equal_slopes_p": rounded(fit.equal_slopes_p),
        "equal_spread_p": rounded(fit.equal_spread_p),
        "reason": fit.reason,
    }


def _contradiction_json(found: Contradiction) -> dict[str, Any]:
    return {
        "rule": found.rule,
        "metrics": list(found.metrics),
        "printed": rounded(found.printed),
        "implied": rounded(found.implied),
        "implied_range": _bounds(found.implied_range),
        "text": found.text,
    }


def _table_json(found: TableContradiction, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {
        "rule": found.rule,
        "where": found.where,
        "points": [_point_json(point, parameters) for point in found.points],
        "metrics": list(found.metrics),
        "title": found.title,
        "text": found.text,
    }


def _distribution_json(found: Distribution) -> dict[str, Any]:
    return {
        "mean": rounded(found.mean),
        "median": rounded(found.median),
        "p95": rounded(found.p95),
        "n": found.n,
    }


def _distributions_json(found: Mapping[str, Distribution]) -> dict[str, Any]:
    return {name: _distribution_json(values) for name, values in found.items()}


def _episodes_json(found: Episodes) -> dict[str, Any]:
    return {
        "basis": found.basis,
        "runs": found.runs,
        "episodes": found.episodes,
        "per_run": _distribution_json(found.per_run),
        "per_1000_s": rounded(found.per_1000_s),
        "detected_by": dict(found.detected_by),
        "dupacks": {str(count): n for count, n in found.dupacks.items()},
        "timeouts": found.timeouts,
        "measures": _distributions_json(found.measures),
    }


def _story_json(story: GroupStory) -> dict[str, Any]:
    return {
        "group": story.group,
        "episodes": None if story.episodes is None else _episodes_json(story.episodes),
        "limits": None if story.limits is None else _distributions_json(story.limits),
        "reason": story.reason,
    }


def _claim_json(claim: EpisodeClaim) -> dict[str, Any]:
    return {
        "flow": claim.flow,
        "episode": claim.episode,
        "where": claim.where,
        "name": claim.name,
        "published": rounded(claim.published),
        "kernel": rounded(claim.kernel),
        "reason": claim.reason,
    }


def _comparison_json(judged: Judged, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    one, found = judged.comparison, judged.found
    versus = one.versus and {
        "metric": one.versus.metric,
        "point": _point_json(one.versus.point, parameters),
    }
    return {
        "metric": one.metric,
        "point": _point_json(one.point, parameters),
        "versus": versus,
        "relative": one.relative,
        "low": rounded(one.low),
        "high": rounded(one.high),
        "strict": one.strict,
        "verdict": judged.verdict,
        "estimate": rounded(found.estimate),
        "ci95": _bounds(found.ci95),
        "n": found.n,
        "p_holds": rounded(found.p_inside),
        "p_refuted": rounded(found.p_outside),
        "reason": found.reason,
    }


def _verdict_json(verdict: Verdict, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {
        "id": verdict.id,
        "text": verdict.text,
        "where": verdict.where,
        "verdict": verdict.verdict,
        "evidence": verdict.evidence,
        "suspects": list(verdict.suspects),
        "p_holds": rounded(verdict.p_holds),
        "p_refuted": rounded(verdict.p_refuted),
        "comparisons": [_comparison_json(one, parameters) for one in verdict.comparisons],
    }


def _point_json(point: Point, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    settings = point.as_dict()
    order = [parameter.name for parameter in parameters if parameter.name in settings]
    return {name: settings[name] for name in dict.fromkeys((*order, *settings))}


def _cell_json(cell: CellSummary, parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    return {
        "id": cell.id,
        "point": _point_json(cell.point, parameters),
        "replicate": cell.replicate,
        "seed": cell.seed,
        "counted": cell.excluded is None,
        "excluded": cell.excluded,
        "metrics": {name: rounded(value.value) for name, value in cell.values.items()},
        "reasons": {n: v.reason for n, v in cell.values.items() if v.reason is not None},
    }


def summary_json(summary: Summary) -> str:
    """Return ``summary.json``; docs/summary.schema.json is its schema."""
    names = summary.parameters
    content = {
        "schema": SCHEMA,
        "study": summary.study,
        "title": summary.title,
        "parameters": [{"name": p.name, "path": p.path} for p in names],
        "groups": [{"id": group.id, "label": group.label} for group in summary.groups],
        "compare": summary.compare and {"of": summary.compare.of, "over": summary.compare.over},
        "headline_metrics": list(summary.headline),
        "published_where": summary.published_where,
        "contradictions": [_table_json(found, names) for found in summary.contradictions],
        "loss_adjustment": _adjustment_json(summary.loss_adjustment),
        "points": [
            {
                "point": _point_json(point.point, names),
                "cells_planned": point.cells_planned,
                "cells_counted": point.cells_counted,
                "metrics": {name: _metric_json(m) for name, m in point.metrics.items()},
                "contradictions": [_contradiction_json(c) for c in point.contradictions],
                "happened": [_story_json(story) for story in point.causes],
                "published_episodes": [_claim_json(claim) for claim in point.episode_claims],
            }
            for point in summary.points
        ],
        "cells": [_cell_json(cell, names) for cell in summary.cells],
        "claims": [_verdict_json(verdict, names) for verdict in summary.verdicts],
        "replication": summary.replication and replication_record(summary.replication),
        "sensitivity": sensitivity_record(summary.sensitivity, summary.headline),
        "warnings": [
            {"rule": warning.rule, "where": warning.where, "text": warning.text}
            for warning in summary.warnings
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


_CSV_TAIL = (
    "metric", "n", "mean", "sd", "ci95_lo", "ci95_hi", "pi95_lo", "pi95_hi", "published",
    "published_in_ci95", "published_in_pi95", "published_contradicted", "simulated", "reason",
    "ratio_of_means", "ratio_ci95_lo", "ratio_ci95_hi", "adjusted", "adjusted_ci95_lo",
    "adjusted_ci95_hi",
)  # fmt: skip


def _csv_value(value: float | int | str | bool | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def summary_csv(summary: Summary) -> str:
    """Return ``summary.csv``: one row per point and metric; an empty field is unknown."""
    names = [parameter.name for parameter in summary.parameters]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["study", *names, *_CSV_TAIL])
    for point in summary.points:
        settings = point.point.as_dict()
        for name, metric in point.metrics.items():
            found = _metric_json(metric)
            ci95, pi95 = found["ci95"] or (None, None), found["pi95"] or (None, None)
            row = [
                name, found["n"], found["mean"], found["sd"], *ci95, *pi95, found["published"],
                found["published_in_ci95"], found["published_in_pi95"],
                None if metric.published is None else point.contradicted(name),
                found["simulated"], found["reason"],
                found["ratio_of_means"], *(found["ratio_ci95"] or (None, None)),
                found["adjusted"], *(found["adjusted_ci95"] or (None, None)),
            ]  # fmt: skip
            writer.writerow(
                [summary.study, *(_csv_value(settings.get(n)) for n in names)]
                + [_csv_value(value) for value in row]
            )
    return out.getvalue()
