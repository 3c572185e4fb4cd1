"""A user's own results beside a run, as tables: what differs most, and everything. Pure.

Invariant: all is told from ``comparison.json`` alone, so a page can be written from the file.

What is judged is ranked by multiples of its margin, not by standard deviations: a simulator whose
runs hardly vary would put what no study concludes from first. What has no margin follows, ranked by
standardised difference, for there is no other size to go by.
"""

from __future__ import annotations

from collections.abc import Sequence

from model.run_files.comparing.own_results import Beside, OwnResults
from model.run_files.quantity import Quantity
from model.words import how_many
from reports.inference.equivalence import LEVEL
from reports.measures import judged
from reports.measures.judged import (
    difference_words,
    margin_words,
    metric_table,
    p_words,
    point_words,
    ranked,
)
from reports.measures.quantities import UNKNOWN, number, with_interval, with_unit
from reports.page.grid import Column, Field, Grid, columns, judgement
from reports.page.review_tables import Attachment

#: How many comparisons a terminal shows, and how many notes.
MOST_SHOWN, MOST_NOTES = 12, 5


def unjudged(found: OwnResults) -> list[Beside]:
    """Return the rest, by standardised difference; what has none, by its size in margins."""
    rest = [one for one in found.comparisons if one.verdict == "not judged"]
    return sorted(rest, key=lambda one: (-abs(one.standardised or 0.0), -(one.in_margins or 0.0)))


def verdict_words(found: OwnResults) -> str:
    """Return in a sentence how many comparisons came to which verdict."""
    kernels = " and ".join(found.kernels)
    return f"{found.source} beside {kernels}: {judged.verdict_words(found)}"


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
            with_interval(one.run.mean, one.run.ci95, quantity), str(one.run.n),
            with_interval(one.own.mean, one.own.ci95, quantity), str(one.own.n),
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


def in_margins_words(one: Beside) -> str:
    """Return how many margins the difference is."""
    return UNKNOWN if one.in_margins is None else f"{one.in_margins:.1f}"


def distributions_words(one: Beside) -> str:
    """Return what the test of distributions says, or why it says nothing."""
    if one.p_distributions is None:
        return one.distributions_reason or UNKNOWN
    return p_words(one.p_distributions)
