"""The estimates beside the plain mean: ratio of means and at equal loss, as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from reports.inference.increase_at_equal_loss import INCREASE
from reports.inference.statistics import Estimate
from reports.measures.metrics import Metric
from reports.measures.quantities import count
from reports.page.grid import Grid, columns
from reports.page.places import estimated, in_unit, place_head, place_of, reasons
from reports.verdict.summary import Summary

PLAIN, RATIO, EQUAL_LOSS = "Mean of runs", "Ratio of means", "At equal loss"


def estimates_table(summary: Summary, metric: Metric) -> Grid | None:
    """Return the plain mean, the ratio of means and the one at equal loss; None if only a mean.

    The notes are on the fit, then on what is missing.
    """
    places = [place_of(point.point, summary) for point in summary.points]
    found = [point.metrics[metric.name] for point in summary.points]
    others = _other_estimates(summary, metric.name)
    if not others or not any(one.estimate.ci95 for one in found):
        return None
    every: list[Sequence[Estimate | None]] = [[one.estimate for one in found], *others.values()]
    texts = ([estimated(one, metric.quantity) for one in column] for column in every)
    missing = [
        (place, f"{head}: {one.reason}" if one and one.reason else None)
        for place, *row in zip(places, *others.values(), strict=True)
        for head, one in zip(others, row, strict=True)
    ]
    fit = adjustment_words(summary) if metric.name == INCREASE else ""
    return Grid(
        f"{in_unit(metric)}: estimates with their 95 % intervals",
        columns("number", place_head(summary), PLAIN, *others),
        list(zip(places, *texts, strict=True)),
        (*filter(None, [fit]), *reasons(missing)),
    )


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
