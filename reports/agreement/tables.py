"""How labs agree, as tables: what differs most, what of the labs may be why, and everything. Pure.

Invariant: all is told from ``crosscheck.json`` alone, so a page can be written from the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from model.run_files.comparing.crosscheck import Comparison, Crosscheck
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
    shown_in,
)
from reports.measures.quantities import UNKNOWN, with_interval, with_unit
from reports.page.grid import Column, Field, Grid, columns, judgement
from reports.page.review_tables import Attachment

#: How many comparisons a terminal shows: of two labs, and of more.
MOST_SHOWN, MOST_OF_MANY = 12, 8
#: Differences are shown with a digit more than the metric, as labs differ little.
FINER = 1


def verdict_words(found: Crosscheck) -> str:
    """Return in a sentence how many comparisons came to which verdict."""
    first, *others = (lab.label for lab in found.labs)
    said = judged.verdict_words(found)
    return f"{' and '.join(others)} against {first}, {seeds_words(found)}: {said}"


def seeds_words(found: Crosscheck) -> str:
    """Return how many seeds each lab had: one number if it is the same in all."""
    seeds = dict.fromkeys(lab.seeds for lab in found.labs)
    return f"{' and '.join(map(str, seeds))} seeds"


def facts_grid(found: Crosscheck) -> Grid:
    """Return what the labs differ in, one column each; what is the same is a note."""
    names = dict.fromkeys(name for lab in found.labs for name in lab.facts)
    told = {name: [lab.facts.get(name, UNKNOWN) for lab in found.labs] for name in names}
    differing = {name: texts for name, texts in told.items() if len(set(texts)) > 1}
    same = [f"{name} {texts[0]}" for name, texts in told.items() if name not in differing]
    return Grid(
        "What the labs differ in",
        columns("name", "", *(lab.label for lab in found.labs)),
        [(name, *texts) for name, texts in differing.items()],
        [f"The same: {', '.join(same)}."] if same else [],
    )


def worst_grid(found: Crosscheck) -> Grid:
    """Return the comparisons that differ most, in units of their margins."""
    many, names = len(found.labs) > 2, metric_table(found)
    shown = ranked(found)[: MOST_OF_MANY if many else MOST_SHOWN]
    heads = ("metric", "at", *(("lab",) if many else ()))
    rows: list[tuple[Field, ...]] = [
        (
            one.metric, point_words(one.point), *((one.lab,) if many else ()),
            difference_words(one, names[one.metric].quantity, finer=FINER),
            margin_words(one, names[one.metric].quantity),
            judgement_of(one),
        )
        for one in shown
    ]  # fmt: skip
    caption = "What differs most, by its part of the margin"
    return Grid(
        caption,
        (*columns("name", *heads), *columns("number", "difference (95 % CI)", "margin"),
         Column("verdict", "name")),
        rows,
    )  # fmt: skip


def all_grid(found: Crosscheck, comparisons: Sequence[Comparison]) -> Grid:
    """Return comparisons whole, with both labs' means."""
    first = found.labs[0].label
    names = metric_table(found)
    rows = []
    for one in comparisons:
        quantity = names[one.metric].quantity
        rows.append((
            names[one.metric].label, point_words(one.point), one.lab,
            with_unit(one.first.mean, quantity), with_unit(one.other.mean, quantity),
            difference_words(one, quantity, finer=FINER), margin_words(one, quantity),
            judgement_of(one), plain_words(one, quantity), p_words(one.p_distributions),
        ))  # fmt: skip
    return Grid(
        "",
        (
            *columns("name", "metric", "at", "lab"),
            *columns("number", first, "the lab", "difference (95 % CI)", "margin"),
            Column("verdict", "name"),
            *columns("number", "difference of the means", "same distribution"),
        ),
        rows,
    )  # fmt: skip


def notes(found: Crosscheck) -> tuple[str, ...]:
    """Return what else is to be told: distributions, pairs of seeds, what is not shown."""
    unlike = [one for one in found.comparisons if one.p_distributions <= LEVEL]
    told = [
        "distributions: "
        + (f"{len(unlike)} of {len(found.comparisons)} differ" if unlike else "none differs")
        + " (Kolmogorov and Smirnov, corrected for their number)"
    ]
    told += [
        f"{lab.label}: {how_many(lab.excluded, 'cell')} not counted: a check failed, see its report"
        for lab in found.labs
        if lab.excluded
    ]
    fewest = min(lab.seeds for lab in found.labs)
    if any(lab.seeds > fewest for lab in found.labs):
        told.append(f"runs are compared as pairs of one seed: at most {how_many(fewest, 'seed')}")
    adjusted = [one for one in found.comparisons if one.margin is not None and one.at_equal_loss]
    if adjusted:
        plain = [one.plain_p_equivalent for one in adjusted]
        within = sum(p is not None and p <= LEVEL for p in plain)
        told.append(
            f"the means alone, with the luck of loss left in, show {within} of the "
            f"{len(adjusted)} equivalent that are judged at equal realised loss"
        )
    known = [one for one in found.pairings if one.correlation is not None]
    if known:
        low, high = (
            f(known, key=lambda one: one.correlation or 0.0).correlation for f in (min, max)
        )
        told.append(
            f"runs of the same seed go together by {low:.2f} to {high:.2f} (correlation within "
            "points); they are compared as pairs"
        )
    open_ = [one.seeds_wanted for one in found.having("not shown")]
    if open_:
        most = max((one for one in open_ if one is not None), default=None)
        told.append(
            f"not shown: {how_many(len(open_), 'comparison')}; "
            + (f"about {most} seeds would tell" if None not in open_ and most else
               "of some no number of seeds that can be run would tell")
        )  # fmt: skip
    return tuple(told)


def attachment(found: Crosscheck) -> Attachment:
    """Return everything, for ``crosscheck.md``."""
    others = [one for one in found.comparisons if one.verdict == "not judged"]
    tables = [facts_grid(found)]
    for caption, these in (("Judged, what differs most first", ranked(found)),
                           ("Compared, without a margin", others)):  # fmt: skip
        grid = all_grid(found, these)
        tables.append(Grid(caption, grid.columns, grid.rows))
    missing = tuple(
        f"{name}: not compared everywhere: {why}" for name, why in found.missing.items()
    )
    runs = tuple(f"{lab.label}: {lab.run}, {lab.seeds} seeds" for lab in found.labs)
    return Attachment(
        title=f"Do labs agree? {found.title}: {verdict_words(found)}",
        tables=tables,
        notes=(*notes(found), *runs, *missing),
    )


def plain_words(one: Comparison, quantity: Quantity) -> str:
    """Return the difference of the means where another is judged: the one at equal loss."""
    if not one.at_equal_loss:
        return "the same"
    shown = shown_in(one, quantity, finer=FINER)
    return with_interval(one.plain_difference, one.plain_ci95, shown)


def judgement_of(one: Comparison) -> Field:
    """Return the verdict, marked; of what is not shown also how many seeds would tell."""
    wanted = f" ({one.seeds_wanted})" if one.seeds_wanted else ""
    return judgement(one.verdict, wanted)
