"""What the page and the terminal show of repeats: how far seeds were added, and what varied. Pure.

Invariant: numbers become text here and nowhere earlier; escaping is the template's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from model.run_files.point import Point
from model.run_files.quantity import Quantity
from model.words import how_many
from reports.figures.plain.tornado import Tornado, drawn, tornado
from reports.inference.replication import Replication
from reports.inference.statistics import Estimate
from reports.measures.metrics import Metric
from reports.measures.quantities import UNKNOWN, interval, number, typographic
from reports.page.grid import NONE, Field, Grid, columns, judgement, part
from reports.page.places import place_head, place_of, with_unit
from reports.verdict.sensitivity import TriedClaim, TriedVariation, VariedPoint
from reports.verdict.summary import Summary
from reports.verdict.verdicts import Verdict
from reports.verdict.words import Words

#: Metrics of single flows are many and are left to summary.json.
_OF_FLOWS = "flow_"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """The alternatives that were tried at the same points; ``said`` is what verdicts rest on.

    ``tornados`` are how far alternatives move the number of each claim that has one, drawn.
    """

    where: str
    claims: Grid
    tornados: Sequence[tuple[Tornado, Markup]]
    said: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    numbers: Grid


@dataclass(frozen=True, kw_only=True)
class RepeatsPage:
    """Everything shown of repeats; ``replication`` is None where the number of seeds was given."""

    replication: Grid | None
    replication_words: str
    tried: tuple[Tried, ...]
    left_out: tuple[str, ...]


def repeats_page(summary: Summary) -> RepeatsPage:
    """Return what is shown of a run's repeats."""
    found = summary.replication
    return RepeatsPage(
        replication=replication_table(summary, found) if found else None,
        replication_words=replication_words(summary, found) if found else "",
        tried=_tried(summary),
        left_out=summary.sensitivity.left_out,
    )


def replication_words(summary: Summary, found: Replication) -> str:
    """Return in a sentence what a run that adds seeds wanted to know how precisely."""
    wanted = found.precision
    if found.metric is None:
        return "No metric the study asks for differs between runs, so no seeds were added."
    metric = summary.metric_table()[found.metric]
    if wanted.half_width is None:
        width = f"{100 * (wanted.relative_half_width or 0):g} % of its mean"
    else:
        width = f"{wanted.half_width * metric.quantity.scale:.10g}{metric.quantity.suffix}"
    chosen = " (the first metric of the study that differs between runs)" if found.chosen else ""
    return (
        f"Seeds were added until the 95 % interval of {metric.label}{chosen} was no wider than "
        f"{width} either way: at least {wanted.at_least}, at most {wanted.at_most}."
    )


def replication_table(summary: Summary, found: Replication) -> Grid:
    """Return how far each point is."""
    quantity = summary.metric_table()[found.metric].quantity if found.metric else None
    unit = f" ({quantity.unit})" if quantity and quantity.unit else ""
    heads = (place_head(summary), "Runs", f"Half-width{unit}", f"Wanted{unit}", "Stopped")
    rows = [
        (
            place_of(state.point, summary),
            str(state.runs),
            _width(state.half_width, quantity),
            _width(state.wanted, quantity),
            state.words if state.stopped else f"{state.words}: {state.more} more",
        )
        for state in found.points
    ]
    return Grid("How far each point is", columns("number", *heads), rows)


def _width(value: float | None, quantity: Quantity | None) -> str:
    return UNKNOWN if value is None or quantity is None else f"{value * quantity.scale:.3g}"


def _tried(summary: Summary) -> tuple[Tried, ...]:
    by_points: dict[tuple[Point, ...], list[TriedVariation]] = {}
    for tried in summary.sensitivity.variations:
        by_points.setdefault(tried.of, []).append(tried)
    return tuple(_tried_at(summary, of, together) for of, together in by_points.items())


def _tried_at(summary: Summary, of: tuple[Point, ...], together: Sequence[TriedVariation]) -> Tried:
    everywhere = len(of) == len(summary.points)
    where = "every point" if everywhere else "; ".join(place_of(point, summary) for point in of)
    names = [one.variation.words for one in together]
    rows: list[tuple[Field, ...]] = []
    said = []
    for assumed, tried in _by_claim(together):
        rows.append((assumed.text, judgement(assumed.verdict), *(_verdict(one) for one in tried)))
        reasons = [("As assumed", assumed.evidence)]
        reasons += [
            (name, one.as_varied.evidence) for name, one in zip(names, tried, strict=True) if one
        ]
        said.append((assumed.text, tuple(reasons)))
    heads = (
        part("", f"{one.variation.words} ", part("rule", one.variation.assumption))
        for one in together
    )
    claims = Grid(
        f"Verdicts as assumed, and with each alternative, at {where}",
        columns("words", "Claim", "As assumed", *heads),
        rows,
    )
    return Tried(
        where=where,
        claims=claims,
        tornados=_tornados(summary, together),
        said=said,
        numbers=_numbers(summary, together),
    )


def _tornados(
    summary: Summary, together: Sequence[TriedVariation]
) -> tuple[tuple[Tornado, Markup], ...]:
    namer = Words(summary.metric_table(), summary.parameters)
    names = [one.variation.words for one in together]
    made = (
        tornado({name: one for name, one in zip(names, tried, strict=True) if one}, namer)
        for _, tried in _by_claim(together)
    )
    return tuple((one, drawn(one)) for one in made if one and one.bars)


def _by_claim(
    together: Sequence[TriedVariation],
) -> list[tuple[Verdict, list[TriedClaim | None]]]:
    """Return each claim's verdict as assumed, and what each alternative did; None: not judged."""
    by_id = [{claim.as_assumed.id: claim for claim in one.claims} for one in together]
    names = dict.fromkeys(name for one in by_id for name in one)
    tried = [[one.get(name) for one in by_id] for name in names]
    return [(next(one.as_assumed for one in every if one), every) for every in tried]


def _verdict(claim: TriedClaim | None) -> Field:
    if claim is None:
        return NONE
    changes = (" ", part("strong", "(changes)")) if claim.changes else ()
    return judgement(claim.as_varied.verdict, *changes)


def _numbers(summary: Summary, together: Sequence[TriedVariation]) -> Grid:
    """Return the headline metrics as assumed and varied, one row per point and metric."""
    table, base = summary.metric_table(), {point.point: point for point in summary.points}
    words = (tried.variation.words for tried in together)
    rows = [
        (
            place_of(point, summary),
            with_unit(table[name]),
            _mean(base[point].metrics[name].estimate, table[name].quantity),
            *(_number(one.points[index], table[name]) for one in together),
        )
        for index, point in enumerate(together[0].of)
        for name in summary.headline
        if not name.startswith(_OF_FLOWS)
    ]
    return Grid(
        "Means; in brackets the 95 % interval of the difference from as assumed, runs paired by "
        "seed",
        columns("name", place_head(summary), "Metric", "As assumed", *words),
        rows,
    )


def _mean(found: Estimate, quantity: Quantity) -> str:
    return typographic(number(found.mean, quantity))


def _number(point: VariedPoint, metric: Metric) -> str:
    """Return a mean, and the interval of its difference from the one as assumed."""
    quantity = metric.quantity
    text = _mean(point.summary.metrics[metric.name].estimate, quantity)
    change = point.differences.get(metric.name)
    if change is None or change.ci95 is None:
        return text
    if change.sd == 0:
        return f"{text} ({_mean(change, quantity)} in every run)"
    return f"{text} ({typographic(interval(change.ci95, quantity))})"


def variation_line(tried: TriedVariation) -> str:
    """Return one variation in a line: how many claims turn, stay, or are in doubt there."""
    turned = [claim.as_assumed.id for claim in tried.claims if claim.changes]
    same = sum(
        not claim.changes and claim.as_varied.verdict == claim.as_assumed.verdict
        for claim in tried.claims
    )
    words = f"{tried.variation.words} (assumption {tried.variation.assumption}): "
    if not tried.claims:
        return words + "no claim could be judged"
    parts = [f"{how_many(len(turned), 'verdict')} changed ({', '.join(turned)})"] if turned else []
    parts.append(f"{same} of {how_many(len(tried.claims), 'verdict')} as assumed")
    return words + ", ".join(parts)
