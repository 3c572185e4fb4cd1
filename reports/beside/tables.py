"""A user's own results beside a run, as tables: what differs most, and everything. Pure.

Invariant: all is told from ``comparison.json`` alone, so a page can be written from the file.

What is judged is ranked by multiples of its margin, not by standard deviations: a simulator whose
runs hardly vary would put what no study concludes from first. What has no margin follows, ranked by
standardised difference, for there is no other size to go by.
"""

from __future__ import annotations

from collections.abc import Sequence

from model.run_files.comparing.own_results import Batch, Beside, OwnResults
from model.run_files.point import Point
from model.run_files.quantity import Quantity
from model.words import how_many
from reports.inference.equivalence import LEVEL
from reports.measures.metrics import Metric, metrics_of, study_metrics_of
from reports.measures.quantities import UNKNOWN, interval, number, setting
from reports.page.grid import Column, Field, Grid, columns, judgement
from reports.page.review_tables import Attachment

#: How many comparisons a terminal shows, and how many notes.
MOST_SHOWN, MOST_NOTES = 12, 5
#: A relative difference, as shown.
PART = Quantity("%", 100, 2)


def metric_table(found: OwnResults) -> dict[str, Metric]:
    """Return the metrics of the study, for labels and units."""
    return metrics_of(found.groups, found.compare) | study_metrics_of(found.groups, found.flows)


def ranked(found: OwnResults) -> list[Beside]:
    """Return what is judged, what differs first, then by size in margins."""
    judged = [one for one in found.comparisons if one.verdict != "not judged"]
    return sorted(judged, key=lambda one: (one.verdict != "different", -(one.in_margins or 0.0)))


def unjudged(found: OwnResults) -> list[Beside]:
    """Return the rest, by standardised difference; what has none, by its size in margins."""
    rest = [one for one in found.comparisons if one.verdict == "not judged"]
    return sorted(rest, key=lambda one: (-abs(one.standardised or 0.0), -(one.in_margins or 0.0)))


def verdict_words(found: OwnResults) -> str:
    """Return in a sentence how many comparisons came to which verdict."""
    judged = len(found.comparisons) - len(found.having("not judged"))
    said = ", ".join(
        f"{len(found.having(verdict))} {verdict}"
        for verdict in ("equivalent", "different", "not shown")
    )
    return (
        f"{found.source} beside {' and '.join(found.kernels)}: {how_many(judged, 'comparison')} "
        f"judged, {said}"
    )


def worst_grid(found: OwnResults) -> Grid:
    """Return what differs most, as a terminal shows it."""
    shown = (ranked(found) or unjudged(found))[:MOST_SHOWN]
    names = metric_table(found)
    rows = [
        (
            one.metric, point_words(one.point),
            number(one.run.mean, names[one.metric].quantity),
            with_unit(one.own.mean, names[one.metric].quantity),
            in_margins_words(one), judgement(one.verdict),
        )
        for one in shown
    ]  # fmt: skip
    return Grid(
        "What differs most, in multiples of its margin",
        (
            *columns("name", "metric", "at"),
            *columns("number", "run", "own", "margins"),
            Column("verdict", "name"),
        ),
        rows,
    )


def all_grid(found: OwnResults, caption: str, comparisons: Sequence[Beside]) -> Grid:
    """Return comparisons whole."""
    names = metric_table(found)
    rows: list[tuple[Field, ...]] = []
    for one in comparisons:
        quantity = names[one.metric].quantity
        rows.append((
            names[one.metric].label, point_words(one.point),
            _batch(one.run, quantity), str(one.run.n), _batch(one.own, quantity), str(one.own.n),
            difference_words(one, quantity), margin_words(one, quantity), in_margins_words(one),
            number(one.standardised, Quantity("", 1, 2)), judgement(one.verdict),
            distributions_words(one),
        ))  # fmt: skip
    return Grid(
        caption,
        (
            *columns("name", "metric", "at"),
            *columns("number", "run (95 % CI)", "n", f"{found.source} (95 % CI)", "n",
                     "difference (95 % CI)", "margin", "in margins", "in standard deviations"),
            *columns("name", "verdict", "same distribution"),
        ),
        rows,
    )  # fmt: skip


def grids(found: OwnResults) -> list[Grid]:
    """Return all tables."""
    made = []
    for caption, these in (
        ("Judged, what differs most first", ranked(found)),
        ("Compared and not judged: without a margin, or without an interval", unjudged(found)),
    ):
        if these:
            made.append(all_grid(found, caption, these))
    return made


def notes(found: OwnResults) -> tuple[str, ...]:
    """Return what must be known before the numbers are believed."""
    told = list(found.notes)
    alone = sum(1 in (one.run.n, one.own.n) for one in found.comparisons)
    if alone:
        told.append(
            f"{how_many(alone, 'comparison')} rest on one replicate of a side: a difference, no "
            "interval and no verdict"
        )
    told.append(_about_distributions(found))
    if found.points_without:
        told.append(
            f"{found.source} has nothing at "
            + "; ".join(point_words(one) for one in found.points_without)
        )
    if found.excluded:
        told.append(f"{how_many(found.excluded, 'cell')} of the run not counted: a check failed")
    told += [f"margin of {one.metric}: {one.text}, as given" for one in found.margins]
    return tuple(told)


def _about_distributions(found: OwnResults) -> str:
    known = [one.p_distributions for one in found.comparisons if one.p_distributions is not None]
    unlike = sum(p <= LEVEL for p in known)
    rest = len(found.comparisons) - len(known)
    told = f"distributions: {unlike} of {len(known)} differ (Kolmogorov and Smirnov, corrected)"
    return told + (f"; of {rest} nothing can be told: too few replicates, or means" if rest else "")


def missing_words(found: OwnResults) -> tuple[str, ...]:
    """Return what is not compared, and why: metrics with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in found.missing.items():
        by_reason.setdefault(why, []).append(name)
    return tuple(f"not compared: {', '.join(names)}: {why}" for why, names in by_reason.items())


def file_words(found: OwnResults) -> tuple[str, ...]:
    """Return the files that were read."""
    return tuple(
        f"{one.file}: {one.format}, {one.stored_bytes} bytes, SHA-256 {one.sha256}"
        for one in found.files
    )


def attachment(found: OwnResults) -> Attachment:
    """Return everything, for ``comparison.md``."""
    return Attachment(
        title=f"{found.title}: {verdict_words(found)}",
        tables=grids(found),
        notes=(
            f"run: {found.run}, digest {found.manifest_sha256}", *notes(found),
            *missing_words(found), *file_words(found),
        ),
    )  # fmt: skip


def point_words(point: Point) -> str:
    """Return a point's settings."""
    return ", ".join(setting(name, value) for name, value in point.settings) or "the study"


def with_unit(value: float | None, quantity: Quantity) -> str:
    """Return a value with its unit."""
    return f"{number(value, quantity)}{quantity.suffix}"


def _batch(one: Batch, quantity: Quantity) -> str:
    text = with_unit(one.mean, quantity)
    return text if one.ci95 is None else f"{text} ({interval(one.ci95, quantity)})"


def difference_words(one: Beside, quantity: Quantity) -> str:
    """Return the difference with its interval, in the metric's unit or in % of the mean of both."""
    shown = PART if one.relative else _of_difference(quantity)
    text = with_unit(one.difference, shown)
    return text if one.ci95 is None else f"{text} ({interval(one.ci95, shown)})"


def _of_difference(quantity: Quantity) -> Quantity:
    """Return how a difference is shown: percentages differ by points."""
    unit = "points" if quantity.unit == "%" else quantity.unit
    return Quantity(unit, quantity.scale, quantity.decimals)


def margin_words(one: Beside, quantity: Quantity) -> str:
    """Return the margin as docs state it."""
    if one.margin is None:
        return UNKNOWN
    shown = PART if one.relative else _of_difference(quantity)
    return f"{one.margin * shown.scale:g}{shown.suffix}"


def in_margins_words(one: Beside) -> str:
    """Return how many margins the difference is."""
    return UNKNOWN if one.in_margins is None else f"{one.in_margins:.1f}"


def distributions_words(one: Beside) -> str:
    """Return what the test of distributions says, or why it says nothing."""
    if one.p_distributions is None:
        return one.distributions_reason or UNKNOWN
    p = one.p_distributions
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
