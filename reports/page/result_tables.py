"""The tables of the results: published beside measured, estimates, contradictions, runs. Pure.

Invariant: numbers become text here and nowhere earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.study import Parameter
from model.words import how_many
from reports.inference.increase_at_equal_loss import INCREASE
from reports.inference.statistics import Estimate
from reports.measures.metrics import Metric
from reports.measures.quantities import (
    as_printed,
    called,
    difference,
    interval,
    named,
    number,
    setting_label,
    typographic,
)
from reports.page.grid import (
    NONE,
    Column,
    Field,
    Grid,
    Part,
    columns,
    judgement,
    part,
    side_by_side,
)
from reports.page.places import (
    estimated,
    in_unit,
    place_head,
    place_of,
    reasons,
    shared_settings,
    with_unit,
)
from reports.published.rounding import printed_places
from reports.verdict.limits import limits_of, within
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary

#: The sign on a published number that contradicts others.
CONTRADICTED = "\N{DAGGER}"
_MARK = Part(
    look="", inside=(CONTRADICTED,), link="contradictions",
    title="contradicts other printed numbers of its row",
)  # fmt: skip
_GAP = "\N{NO-BREAK SPACE}"
PLAIN, RATIO, EQUAL_LOSS = "Mean of runs", "Ratio of means", "At equal loss"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One metric over all points; ``verdict`` counts the published values one run could be.

    It is empty where nothing is published.
    """

    metric: Metric
    verdict: str
    grid: Grid


def result(summary: Summary, metric: Metric) -> Result:
    """Return the table of one metric: published beside measured at every point.

    What was not published is without its columns, what was not left to chance without intervals.
    """
    points, quantity = summary.points, metric.quantity
    found = [point.metrics[metric.name] for point in points]
    estimates = [one.estimate for one in found]
    paper = any(one.published is not None for one in found)
    spread = any(one.ci95 for one in estimates)
    live = summary.simulated if any(one.live for one in found) else None
    its = live.simulator if live else ""
    system = summary.system.capitalize()

    means = [typographic(number(one.mean, quantity)) for one in estimates]
    ci95 = [_possible(metric, one.ci95) for one in estimates]
    pi95 = [_possible(metric, one.pi95) for one in estimates]
    fields: list[tuple[Column, Sequence[Field]]] = [
        *setting_columns(named(summary.parameters), summary),
        *[(Column("Published"), [_published(point, metric) for point in points])] * paper,
        *[(Column(its), [_simulated(one, metric) for one in found])] * bool(live),
        (Column(f"{system} mean" if spread else system), [part("kernel", mean) for mean in means]),
        *[(Column("Difference"), [_difference(one, metric) for one in found])] * paper,
        *[(Column(f"95{_GAP}% CI of the mean"), ci95)] * spread,
        *[(Column(f"95{_GAP}% of single runs"), pi95)] * spread,
        (Column("n"), [_runs(point, metric) for point in points]),
        *[(Column(f"Published{_GAP}is", "name"), [_judgement(one) for one in found])] * paper,
        *[(Column(f"for {its}", "name"), [_live_judgement(one) for one in found])]
        * (paper and bool(live)),
    ]
    where = f"published ({summary.tables_of(metric.name)}) beside " if paper else ""
    notes = reasons(
        (place_of(point.point, summary), one.reason)
        for point, one in zip(points, found, strict=True)
    )
    return Result(
        metric=metric,
        verdict=_verdict(found, summary.system) if paper else "",
        grid=side_by_side(f"{in_unit(metric)}: {where}measured", fields, notes),
    )


def _possible(metric: Metric, bounds: tuple[float, float] | None) -> str:
    """Return the part of an interval that the metric can be in."""
    if bounds is not None:
        bounds = within(limits_of(metric.name), bounds)
    return typographic(interval(bounds, metric.quantity))


def setting_columns(
    parameters: Sequence[Parameter], summary: Summary
) -> list[tuple[Column, Sequence[Field]]]:
    """Return a column for each of these settings, one of all points where there is none."""
    points = [point.point for point in summary.points]
    if not parameters:
        return [(Column(place_head(summary)), [place_of(point, summary) for point in points])]
    return [
        (
            Column(setting_label(one.path)),
            [called(one, point.as_dict()[one.name]) for point in points],
        )
        for one in parameters
    ]


def _published(point: PointSummary, metric: Metric) -> Field:
    text = as_printed(point.metrics[metric.name].published, metric.quantity)
    mark = [_MARK] * point.contradicted(metric.name)
    return part("published", typographic(text), part("mark", *mark))


def _difference(found: MetricSummary, metric: Metric) -> str:
    return typographic(difference(found.estimate.mean, found.published, metric.quantity))


def _runs(point: PointSummary, metric: Metric) -> str:
    n = point.metrics[metric.name].estimate.n
    return str(n) if n == point.cells_planned else f"{n} of {point.cells_planned}"


def _simulated(found: MetricSummary, metric: Metric) -> Field:
    """Return what a live simulator's runs gave, with its interval."""
    if found.live is None:
        return NONE
    text = number(found.live.mean, metric.quantity)
    if found.live.ci95 is not None:
        text += f" ({interval(found.live.ci95, metric.quantity)})"
    return typographic(text)


def _live_judgement(found: MetricSummary) -> Field:
    """Return whether the published value could be one run of the live simulator."""
    if found.published is None or found.live is None:
        return NONE
    words = {None: "not known", True: "inside", False: "outside"}
    return judgement(words[found.live.published_in_pi95])


def _judgement(found: MetricSummary) -> Field:
    if found.published is None:
        return NONE
    return judgement({None: "not known", True: "inside", False: "outside"}[found.published_in_pi95])


def _verdict(found: list[MetricSummary], system: str) -> str:
    inside = [one.published_in_pi95 for one in found if one.published_in_pi95 is not None]
    if not inside:
        return "no published value could be judged"
    return f"{sum(inside)} of {len(inside)} published values could be one run of this {system}"


def estimates_table(summary: Summary, metric: Metric) -> Grid | None:
    """Return the plain mean, the ratio of means and the one at equal loss; None if only a mean.

    The notes are on the fit, then on what is missing.
    """
    places = [place_of(point.point, summary) for point in summary.points]
    found = [point.metrics[metric.name] for point in summary.points]
    every: dict[str, Sequence[Estimate | None]] = {
        PLAIN: [one.estimate for one in found],
        RATIO: [one.ratio_of_means for one in found],
        EQUAL_LOSS: [one.adjusted for one in found],
    }
    shown = {
        head: estimates
        for head, estimates in every.items()
        if head == PLAIN or any(one and one.mean is not None for one in estimates)
    }
    if len(shown) == 1 or not any(one.estimate.ci95 for one in found):
        return None
    missing = [
        (place, f"{head}: {one.reason}" if one and one.reason else None)
        for place, _, *row in zip(places, *shown.values(), strict=True)
        for head, one in zip(list(shown)[1:], row, strict=True)
    ]
    fit = adjustment_words(summary) if metric.name == INCREASE else ""
    fields = [
        (Column(head), [estimated(one, metric.quantity) for one in estimates])
        for head, estimates in shown.items()
    ]
    return side_by_side(
        f"{in_unit(metric)}: estimates with their 95 % intervals",
        [(Column(place_head(summary)), places), *fields],
        (*filter(None, [fit]), *reasons(missing)),
    )


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
        f"ln(loss of {over} / loss of {of}), one slope over {how_many(fit.runs, 'run')}; it takes "
        f"the spread of runs about their point from {fit.plain_sd:.1f} to {fit.residual_sd:.1f} "
        "points."
    )
    p_values = {"slope": fit.equal_slopes_p, "spread": fit.equal_spread_p}
    tests = [f"one {what}: p = {p:.2g}" for what, p in p_values.items() if p is not None]
    return f"{words} Do all points share it? {'; '.join(tests).capitalize()}." if tests else words


def contradictions(summary: Summary) -> Grid:
    """Return what rows of the published tables say against themselves.

    What follows has the printed digits, what rounding allows one more.
    """
    units = {name: metric.quantity.suffix for name, metric in summary.metric_table().items()}
    rows = []
    for point in summary.points:
        for found in point.contradictions:
            places, unit = max(printed_places(found.printed), 1), units[found.metrics[0]]
            low, high = found.implied_range
            rows.append(
                (
                    place_of(point.point, summary),
                    part("published", typographic(f"{found.printed:f}{unit}")),
                    typographic(f"{found.implied:.{places}f}{unit}"),
                    typographic(f"{low:.{places + 1}f} to {high:.{places + 1}f}{unit}"),
                    found.text,
                )
            )
    heads = columns("number", "Row", "Printed", "Implied", "Rounding allows")
    heads += columns("words", "Arithmetic")
    return Grid(f"{summary.published_where} against itself", heads, rows)


def contradictions_between(summary: Summary) -> Grid:
    """Return what rows and tables say against each other."""
    rows = [
        (found.where, shared_settings(found.points, summary), found.title, found.text)
        for found in summary.contradictions
    ]
    heads = columns("words", "Where", "At", "What", "Arithmetic")
    caption = f"Columns, rows and tables of {summary.published_where} together"
    return Grid(caption, heads, rows, look="wide")


def overview(summary: Summary, names: list[str], caption: str) -> Grid:
    """Return mean and confidence interval of several metrics, one row per point."""
    metrics = [summary.metric_table()[name] for name in names]
    rows = [
        (
            place_of(point.point, summary),
            *(estimated(point.metrics[one.name].estimate, one.quantity) for one in metrics),
        )
        for point in summary.points
    ]
    heads = (with_unit(one) for one in metrics)
    return Grid(caption, columns("number", place_head(summary), *heads), rows)


def single_runs(summary: Summary) -> Grid:
    """Return every finished measuring cell with its headline metrics."""
    metrics = [summary.metric_table()[name] for name in summary.headline]
    heads = (place_head(summary), "Seed", *(with_unit(one) for one in metrics), "Counts", "Cell")
    rows = [
        (
            place_of(cell.point, summary),
            str(cell.seed),
            *(typographic(number(cell.values[one.name].value, one.quantity)) for one in metrics),
            "no" if cell.excluded else "yes",
            cell.id,
        )
        for cell in summary.cells
    ]
    caption = "Every finished measuring run; what does not count is not averaged"
    return Grid(caption, columns("number", *heads), rows)
