"""Comparisons judged by margins, in words: of labs, and of a user's results beside a run. Pure."""

from __future__ import annotations

from model.run_files.comparing.judged import Compared, OfMetric, OfStudy, One
from model.run_files.point import Point
from model.run_files.quantity import Quantity
from model.words import how_many
from reports.measures.metrics import Metric, metrics_of, study_metrics_of
from reports.measures.quantities import UNKNOWN, setting, with_interval

#: A relative difference, as shown.
PART = Quantity("%", 100, 2)


def metric_table(found: OfStudy) -> dict[str, Metric]:
    """Return the metrics of the study, for labels and units."""
    return metrics_of(found.groups, found.compare) | study_metrics_of(found.groups, found.flows)


def ranked(found: Compared[One]) -> list[One]:
    """Return what was judged: what differs first, then by size in units of its margin."""
    judged = [one for one in found.comparisons if one.verdict != "not judged"]
    return sorted(judged, key=lambda one: (one.verdict != "different", -(one.in_margins or 0.0)))


def verdict_words(found: Compared[One]) -> str:
    """Return how many comparisons came to which verdict."""
    said = (
        f"{len(found.having(verdict))} {verdict}"
        for verdict in ("equivalent", "different", "not shown")
    )
    return f"{how_many(found.judged, 'comparison')} judged, {', '.join(said)}"


def point_words(point: Point) -> str:
    """Return a point's settings without their names, which are the study's one table away."""
    return ", ".join(setting(name, value) for name, value in point.settings) or "the study"


def difference_words(one: OfMetric, quantity: Quantity, *, finer: int = 0) -> str:
    """Return the difference with its interval, in the metric's unit or in % of the mean of both.

    ``finer`` is how many digits more are shown than of the metric itself.
    """
    return with_interval(one.difference, one.ci95, shown_in(one, quantity, finer=finer))


def shown_in(one: OfMetric, quantity: Quantity, *, finer: int = 0) -> Quantity:
    """Return how differences of a metric are shown: percentages differ by points."""
    if one.relative:
        return PART
    unit = "points" if quantity.unit == "%" else quantity.unit
    return Quantity(unit, quantity.scale, quantity.decimals + finer)


def margin_words(one: OfMetric, quantity: Quantity) -> str:
    """Return the margin as studies and docs state it."""
    if one.margin is None:
        return UNKNOWN
    shown = shown_in(one, quantity)
    return f"{one.margin * shown.scale:g}{shown.suffix}"


def p_words(p: float) -> str:
    """Return a p-value."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
