"""What the HTML page shows of the results, as text ready to be placed. Pure.

Invariant: numbers become text here and nowhere earlier; escaping is the template's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.run_files.point import Point
from model.run_files.summary import Contradiction
from reports.measures.metrics import Metric
from reports.measures.quantities import (
    as_printed,
    difference,
    interval,
    number,
    setting,
    setting_label,
    typographic,
)
from reports.published.rounding import printed_places
from reports.verdict.points import MetricSummary, PointSummary
from reports.verdict.summary import Summary


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """One point of one metric; ``judgement`` is inside, outside, unknown or absent."""

    settings: tuple[str, ...]
    published: str
    contradicted: bool
    mean: str
    difference: str
    ci95: str
    pi95: str
    runs: str
    judgement: str


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """One metric over all points; ``verdict`` counts the published values one run could be.

    It and ``where``, the published tables' names, are empty where nothing is published; ``spread``
    is whether any point has an interval.
    """

    metric: str
    label: str
    unit: str
    rows: tuple[ResultRow, ...]
    notes: tuple[str, ...]
    verdict: str
    where: str
    spread: bool


@dataclass(frozen=True, kw_only=True)
class ContradictionRow:
    """One contradiction: what is printed, what the rest of its row makes of it, and how."""

    point: str
    printed: str
    implied: str
    allowed: str
    text: str


@dataclass(frozen=True, kw_only=True)
class GridTable:
    """A plain table: heads, then rows of a row head and its fields."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def settings_of(point: Point, summary: Summary) -> tuple[str, ...]:
    """Return a point's settings with units, in the order of the study."""
    settings = point.as_dict()
    return tuple(setting(p.name, settings[p.name]) for p in summary.parameters)


def place_of(point: Point, summary: Summary) -> str:
    """Return a point of the study or of a variation, whose own settings are named."""
    swept = {parameter.name for parameter in summary.parameters}
    more = (f"{name} {setting(name, value)}" for name, value in point.settings if name not in swept)
    return ", ".join((*settings_of(point, summary), *more)) or "All"


def setting_heads(summary: Summary) -> tuple[str, ...]:
    """Return the heads of the settings' columns."""
    return tuple(setting_label(parameter.path) for parameter in summary.parameters)


def _judgement(found: MetricSummary) -> str:
    if found.published is None:
        return "absent"
    if found.published_in_pi95 is None:
        return "unknown"
    return "inside" if found.published_in_pi95 else "outside"


def _runs(point: PointSummary, found: MetricSummary) -> str:
    n = found.estimate.n
    return str(n) if n == point.cells_planned else f"{n} of {point.cells_planned}"


def _verdict(rows: tuple[ResultRow, ...]) -> str:
    if all(row.judgement == "absent" for row in rows):
        return ""
    judged = [row for row in rows if row.judgement in ("inside", "outside")]
    if not judged:
        return "no published value could be judged"
    inside = sum(row.judgement == "inside" for row in judged)
    return f"{inside} of {len(judged)} published values could be one run of this kernel"


def result_table(summary: Summary, metric: Metric) -> ResultTable:
    """Return the table of one metric: published beside measured at every point."""
    rows = []
    notes: dict[str, list[str]] = {}
    for point in summary.points:
        found = point.metrics[metric.name]
        settings = settings_of(point.point, summary)
        rows.append(
            ResultRow(
                settings=settings,
                published=typographic(as_printed(found.published, metric.quantity)),
                contradicted=point.contradicted(metric.name),
                mean=typographic(number(found.estimate.mean, metric.quantity)),
                difference=typographic(
                    difference(found.estimate.mean, found.published, metric.quantity)
                ),
                ci95=typographic(interval(found.estimate.ci95, metric.quantity)),
                pi95=typographic(interval(found.estimate.pi95, metric.quantity)),
                runs=_runs(point, found),
                judgement=_judgement(found),
            )
        )
        if found.reason:
            notes.setdefault(found.reason, []).append(", ".join(settings) or "All")
    return ResultTable(
        metric=metric.name,
        label=metric.label,
        unit=metric.quantity.unit,
        rows=tuple(rows),
        notes=tuple(f"{'; '.join(where)}: {reason}." for reason, where in notes.items()),
        verdict=_verdict(tuple(rows)),
        where=summary.tables_of(metric.name),
        spread=any(point.metrics[metric.name].estimate.ci95 for point in summary.points),
    )


def contradicted_rows(summary: Summary) -> tuple[ContradictionRow, ...]:
    """Return every contradiction of the published table, in the order of the points."""
    units = {name: metric.quantity.suffix for name, metric in summary.metric_table().items()}
    return tuple(
        _contradiction_row(found, ", ".join(settings_of(point.point, summary)) or "All", units)
        for point in summary.points
        for found in point.contradictions
    )


def _contradiction_row(
    found: Contradiction, place: str, units: Mapping[str, str]
) -> ContradictionRow:
    """Return a row; what follows has the printed digits, what rounding allows one more."""
    places, unit = max(printed_places(found.printed), 1), units[found.metrics[0]]
    low, high = found.implied_range
    return ContradictionRow(
        point=place,
        printed=typographic(f"{found.printed:f}{unit}"),
        implied=typographic(f"{found.implied:.{places}f}{unit}"),
        allowed=typographic(f"{low:.{places + 1}f} to {high:.{places + 1}f}{unit}"),
        text=found.text,
    )


def shared_settings(points: Sequence[Point], summary: Summary) -> str:
    """Return the settings that several points share, in words; all their own if it is one."""
    shared = set.intersection(*(set(point.settings) for point in points))
    settings = dict(shared)
    words = [setting(p.name, settings[p.name]) for p in summary.parameters if p.name in settings]
    return ", ".join(words) or "All"


def table_contradictions(summary: Summary) -> GridTable | None:
    """Return what rows and tables say against each other; None if nothing."""
    rows = tuple(
        (found.where, shared_settings(found.points, summary), found.title, found.text)
        for found in summary.contradictions
    )
    return GridTable(heads=("Where", "At", "What", "Arithmetic"), rows=rows) if rows else None


def overview(summary: Summary, names: list[str]) -> GridTable:
    """Return mean and confidence interval of several metrics, one row per point."""
    table = summary.metric_table()
    heads = [
        f"{table[name].label} ({table[name].quantity.unit})"
        if table[name].quantity.unit
        else table[name].label
        for name in names
    ]
    rows = []
    for point in summary.points:
        row = [", ".join(settings_of(point.point, summary)) or "All"]
        for name in names:
            found, quantity = point.metrics[name].estimate, table[name].quantity
            text = number(found.mean, quantity)
            if found.ci95:
                text += f" ({interval(found.ci95, quantity)})"
            row.append(typographic(text))
        rows.append(tuple(row))
    head = "; ".join(setting_heads(summary)) or "Point"
    return GridTable(heads=(head, *heads), rows=tuple(rows))


def single_runs(summary: Summary) -> GridTable:
    """Return every finished measuring cell with its headline metrics."""
    table = summary.metric_table()
    heads = [f"{table[n].label} {table[n].quantity.unit}".strip() for n in summary.headline]
    rows = []
    for cell in summary.cells:
        values = (
            typographic(number(cell.values[name].value, table[name].quantity))
            for name in summary.headline
        )
        point = ", ".join(settings_of(cell.point, summary)) or "All"
        rows.append((point, str(cell.seed), *values, "no" if cell.excluded else "yes", cell.id))
    head = "; ".join(setting_heads(summary)) or "Point"
    return GridTable(heads=(head, "Seed", *heads, "Counts", "Cell"), rows=tuple(rows))
