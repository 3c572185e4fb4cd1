"""The estimates beside the plain mean: ratio of means and at equal loss, as text. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from model.run_files.quantity import Quantity
from reports.inference.increase_at_equal_loss import INCREASE
from reports.inference.statistics import Estimate
from reports.measures.metrics import Metric
from reports.measures.quantities import count, interval, number, typographic
from reports.page.result_tables import GridTable, setting_heads, settings_of
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary

PLAIN, RATIO, EQUAL_LOSS = "Mean of runs", "Ratio of means", "At equal loss"


@dataclass(frozen=True, kw_only=True)
class EstimatesTable:
    """One metric's estimates side by side; ``words`` on the fit, ``notes`` on what is missing."""

    table: GridTable
    words: str
    notes: tuple[str, ...]


def _other_estimates(summary: Summary, metric: str) -> dict[str, list[Estimate | None]]:
    """Return the estimates that any point has, by head, one for each point."""
    found = [point.metrics[metric] for point in summary.points]
    columns: dict[str, list[Estimate | None]] = {
        RATIO: [one.ratio_of_means for one in found],
        EQUAL_LOSS: [one.adjusted for one in found],
    }
    return {
        head: column
        for head, column in columns.items()
        if any(one is not None and one.mean is not None for one in column)
    }


def estimate_text(found: Estimate | None, quantity: Quantity) -> str:
    """Return an estimate with its interval in brackets; a dash for null."""
    text = number(found.mean if found else None, quantity)
    if found and found.ci95:
        text += f" ({interval(found.ci95, quantity)})"
    return text


def estimates_table(summary: Summary, metric: Metric) -> EstimatesTable | None:
    """Return the plain mean, the ratio of means and the one at equal loss; None if only a mean."""
    columns = _other_estimates(summary, metric.name)
    if not columns or not any(_spread(point, metric) for point in summary.points):
        return None
    rows, notes = [], dict[str, list[str]]()
    for index, point in enumerate(summary.points):
        place = ", ".join(settings_of(point.point, summary)) or "All"
        others = {head: column[index] for head, column in columns.items()}
        every = (point.metrics[metric.name].estimate, *others.values())
        rows.append((place, *(typographic(estimate_text(one, metric.quantity)) for one in every)))
        for head, one in others.items():
            if one is not None and one.reason:
                notes.setdefault(f"{head}: {one.reason}", []).append(place)
    head = "; ".join(setting_heads(summary)) or "Point"
    return EstimatesTable(
        table=GridTable(heads=(head, PLAIN, *columns), rows=tuple(rows)),
        words=adjustment_words(summary) if metric.name == INCREASE else "",
        notes=tuple(f"{'; '.join(where)}: {reason}." for reason, where in notes.items()),
    )


def _spread(point: PointSummary, metric: Metric) -> bool:
    found: MetricSummary = point.metrics[metric.name]
    return found.estimate.ci95 is not None


def adjustment_words(summary: Summary) -> str:
    """Return what the common fit says, in a sentence or two; empty without a fit."""
    fit, compare = summary.loss_adjustment, summary.compare
    if fit is None or compare is None or fit.slope is None or fit.slope_ci95 is None:
        return ""
    labels = {group.id: group.label for group in summary.groups}
    over, of = labels[compare.over], labels[compare.of]
    low, high = fit.slope_ci95
    words = (
        f"At equal loss: {fit.slope:.1f} ({low:.1f} to {high:.1f}) points for each unit of "
        f"ln(loss of {over} / loss of {of}), one slope over {count(fit.runs, 'run')}; it takes the "
        f"spread of runs about their point from {fit.plain_sd:.1f} to {fit.residual_sd:.1f} points."
    )
    p_values = {"slope": fit.equal_slopes_p, "spread": fit.equal_spread_p}
    tests = [f"one {what}: p = {p:.2g}" for what, p in p_values.items() if p is not None]
    return f"{words} Do all points share it? {'; '.join(tests).capitalize()}." if tests else words
