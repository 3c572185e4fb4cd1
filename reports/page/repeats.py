"""What the page and the terminal show of repeats: how far seeds were added, and what varied. Pure.

Invariant: numbers become text here and nowhere earlier; escaping is the template's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.quantity import Quantity
from model.run_files.summary import PointReplication
from reports.inference.replication import Replication
from reports.inference.statistics import Estimate
from reports.measures.quantities import UNKNOWN, count, interval, number, typographic
from reports.page.result_tables import GridTable, place_of, setting_heads
from reports.verdict.sensitivity import TriedClaim, TriedVariation, VariedPoint
from reports.verdict.summary import Summary

#: Metrics of single flows are many and are left to summary.json.
_OF_FLOWS = "flow_"


@dataclass(frozen=True, kw_only=True)
class VerdictCell:
    """One verdict, whether it is another one than as assumed, and what it rests on."""

    verdict: str
    changes: bool
    evidence: str


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """One claim: as assumed, and with each alternative; None where it could not be judged."""

    claim: str
    assumed: VerdictCell
    tried: tuple[VerdictCell | None, ...]


@dataclass(frozen=True, kw_only=True)
class VariedTable:
    """The alternatives that were tried at the same points, as columns of two tables."""

    where: str
    names: tuple[str, ...]
    assumptions: tuple[str, ...]
    claims: tuple[VerdictRow, ...]
    numbers: GridTable


@dataclass(frozen=True, kw_only=True)
class RepeatsPage:
    """Everything shown of repeats; ``replication`` is None where the number of seeds was given."""

    replication: GridTable | None
    replication_words: str
    tried: tuple[VariedTable, ...]
    left_out: tuple[str, ...]


def repeats_page(summary: Summary) -> RepeatsPage:
    """Return what is shown of a run's repeats."""
    found = summary.replication
    return RepeatsPage(
        replication=replication_table(summary, found) if found else None,
        replication_words=replication_words(summary, found) if found else "",
        tried=_tried_tables(summary),
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


def replication_table(summary: Summary, found: Replication) -> GridTable:
    """Return how far each point is."""
    quantity = summary.metric_table()[found.metric].quantity if found.metric else None
    rows = [
        (
            place_of(state.point, summary),
            str(state.runs),
            _width(state.half_width, quantity),
            _width(state.wanted, quantity),
            _why(state),
        )
        for state in found.points
    ]
    head = "; ".join(setting_heads(summary)) or "Point"
    unit = f" ({quantity.unit})" if quantity and quantity.unit else ""
    heads = (head, "Runs", f"Half-width{unit}", f"Wanted{unit}", "Stopped")
    return GridTable(heads=heads, rows=tuple(rows))


def _width(value: float | None, quantity: Quantity | None) -> str:
    return UNKNOWN if value is None or quantity is None else f"{value * quantity.scale:.3g}"


def _why(state: PointReplication) -> str:
    return state.words if state.stopped else f"{state.words}: {state.more} more"


def _tried_tables(summary: Summary) -> tuple[VariedTable, ...]:
    by_points: dict[tuple[object, ...], list[TriedVariation]] = {}
    for tried in summary.sensitivity.variations:
        by_points.setdefault(tried.of, []).append(tried)
    return tuple(_tried_table(summary, together) for together in by_points.values())


def _tried_table(summary: Summary, together: Sequence[TriedVariation]) -> VariedTable:
    of = together[0].of
    everywhere = len(of) == len(summary.points)
    where = "; ".join(place_of(point, summary) for point in of)
    return VariedTable(
        where="every point" if everywhere else where,
        names=tuple(tried.variation.words for tried in together),
        assumptions=tuple(tried.variation.assumption for tried in together),
        claims=_verdict_rows(together),
        numbers=_numbers(summary, together),
    )


def _verdict_rows(together: Sequence[TriedVariation]) -> tuple[VerdictRow, ...]:
    tried = [{claim.as_assumed.id: claim for claim in one.claims} for one in together]
    names = dict.fromkeys(name for by_id in tried for name in by_id)
    rows = []
    for name in names:
        claims = [by_id.get(name) for by_id in tried]
        assumed = next(claim.as_assumed for claim in claims if claim)
        cell = VerdictCell(verdict=assumed.verdict, changes=False, evidence=assumed.evidence)
        others = tuple(_verdict_cell(claim) if claim else None for claim in claims)
        rows.append(VerdictRow(claim=assumed.text, assumed=cell, tried=others))
    return tuple(rows)


def _verdict_cell(claim: TriedClaim) -> VerdictCell:
    found = claim.as_varied
    return VerdictCell(verdict=found.verdict, changes=claim.changes, evidence=found.evidence)


def _numbers(summary: Summary, together: Sequence[TriedVariation]) -> GridTable:
    """Return the headline metrics as assumed and varied, one row per point and metric."""
    table, base = summary.metric_table(), {point.point: point for point in summary.points}
    names = [name for name in summary.headline if not name.startswith(_OF_FLOWS)]
    rows = []
    for number_of, point in enumerate(together[0].of):
        for name in names:
            quantity = table[name].quantity
            place = place_of(point, summary)
            label = f"{table[name].label}{f' ({quantity.unit})' if quantity.unit else ''}"
            assumed = base[point].metrics[name].estimate
            tried = (_number(one.points[number_of], name, quantity) for one in together)
            rows.append((place, label, _mean(assumed, quantity), *tried))
    head = "; ".join(setting_heads(summary)) or "Point"
    words = tuple(tried.variation.words for tried in together)
    return GridTable(heads=(head, "Metric", "As assumed", *words), rows=tuple(rows))


def _mean(found: Estimate, quantity: Quantity) -> str:
    return typographic(number(found.mean, quantity))


def _number(point: VariedPoint, name: str, quantity: Quantity) -> str:
    """Return a mean, and the interval of its difference from the one as assumed."""
    text = _mean(point.summary.metrics[name].estimate, quantity)
    change = point.differences.get(name)
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
    parts = [f"{count(len(turned), 'verdict')} changed ({', '.join(turned)})"] if turned else []
    parts.append(f"{same} of {count(len(tried.claims), 'verdict')} as assumed")
    return words + ", ".join(parts)
