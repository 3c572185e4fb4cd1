"""What mechanisms explain, as tables: levels, effects with their shares, pairs, claims. Pure.

Invariant: all is told from ``explanation.json`` alone, so a page can be written from the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from model.run_files.comparing.explanation import Effect, Explained, Explanation, Level
from model.run_files.point import Point
from model.run_files.quantity import Quantity
from model.words import how_many
from reports.measures.metrics import metrics_of, study_metrics_of
from reports.measures.quantities import UNKNOWN, interval, number, point_words, with_unit
from reports.page.grid import Column, Field, Grid, columns, judgement
from reports.page.review_tables import Attachment

#: A share of a difference, as shown.
SHARE = Quantity("%", 100, 0)
#: Up to so many mechanisms every subset is run.
ALL_SUBSETS = 4
#: The name of the first run.
UNCHANGED = "the kernel as it is"


def quantity_of(found: Explanation, metric: str) -> Quantity:
    """Return what a metric is shown in."""
    names = metrics_of(found.groups, found.compare) | study_metrics_of(found.groups, found.flows)
    return names[metric].quantity


def label_of(found: Explanation, metric: str) -> str:
    """Return what readers call a metric."""
    names = metrics_of(found.groups, found.compare) | study_metrics_of(found.groups, found.flows)
    return names[metric].label


def points_of(found: Explanation, metric: str) -> list[Point]:
    """Return the points of a metric, in order."""
    return list(dict.fromkeys(one.point for one in found.levels if one.metric == metric))


def _heads(found: Explanation, points: Iterable[Point]) -> tuple[Column, ...]:
    return columns("number", *(point_words(point, found.parameters) for point in points))


def levels_grid(found: Explanation, metric: str) -> Grid:
    """Return a metric on the kernel as it is, with each mechanism, with all, and as published."""
    quantity, points = quantity_of(found, metric), points_of(found, metric)
    by = {(one.run, one.point): one for one in found.levels if one.metric == metric}
    shown = [run for run in found.runs if len(run.mechanisms) in (0, 1)]
    everything = max(found.runs, key=lambda run: len(run.mechanisms))
    shown += [] if everything in shown else [everything]
    rows: list[tuple[Field, ...]] = []
    for run in shown:
        name = run.mechanisms[0] if len(run.mechanisms) == 1 else "all of them"
        head = name if run.mechanisms else UNCHANGED
        rows.append((head, *(_level(by[run.run, point], quantity) for point in points)))
    first = [by[found.runs[0].run, point] for point in points]
    if any(one.published is not None for one in first):
        rows.append(("published", *(with_unit(one.published, quantity) for one in first)))
    seeds = {one.n for one in first}
    note = f"Means over {'/'.join(map(str, sorted(seeds)))} seeds with 95 % intervals."
    caption = f"{label_of(found, metric)}, with one mechanism as published at a time"
    return Grid(caption, (Column("", "name"), *_heads(found, points)), rows, [note])


def effects_grid(found: Explanation, metric: str) -> Grid:
    """Return what each mechanism changes, averaged over the others."""
    quantity, label = quantity_of(found, metric), _lower(label_of(found, metric))
    return Grid(
        f"What each changes of {label}, averaged over the others' settings",
        (Column("", "name"), *_heads(found, points_of(found, metric))),
        _by_mechanism(found, metric, lambda one: _change(one, quantity)),
        _effect_notes(found, metric),
    )  # fmt: skip


def alone_grid(found: Explanation, metric: str) -> Grid:
    """Return what each mechanism changes where no other is turned."""
    points, quantity = points_of(found, metric), quantity_of(found, metric)
    rows: list[tuple[Field, ...]] = []
    for each in found.hypotheses:
        by = {
            one.point: _change(one, quantity)
            for one in found.effects
            if (one.metric, one.kind, one.sets) == (metric, "alone", ((each.id,),))
        }
        rows.append((each.id, *(by.get(point, UNKNOWN) for point in points)))
    return Grid(
        f"What each changes of {_lower(label_of(found, metric))} alone",
        (Column("", "name"), *_heads(found, points)),
        rows,
        [("Every row is less the same runs of the kernel as it is, whose luck is in all of them; "
         "the averages rest on all runs.")],
    )  # fmt: skip


def shares_grid(found: Explanation, metric: str) -> Grid | None:
    """Return which part each is of what lies between kernel and publication; None without any."""
    if all(one.share is None for one in found.effects if one.metric == metric):
        return None
    return Grid(
        "The same as a part of what lies between the kernel as it is and the publication",
        (Column("", "name"), *_heads(found, points_of(found, metric))),
        _by_mechanism(found, metric, _share),
        [("Negative: away from the publication. None where the two are not shown to differ. The "
         "published value is taken as printed, though it is one run.")],
    )  # fmt: skip


def _effect_notes(found: Explanation, metric: str) -> list[str]:
    many = len(found.hypotheses) > ALL_SUBSETS
    count = sum(one.metric == metric and one.kind == "average" for one in found.effects)
    notes = ["The rows add up to the last."]
    if many:
        notes.append(
            "A mechanism's row also holds what it does only together with two others, which these "
            "runs do not tell apart."
        )
    return [*notes, f"Intervals of 95 %: of these {count} one in twenty misses by chance."]


def _by_mechanism(
    found: Explanation, metric: str, field: Callable[[Effect], str]
) -> list[tuple[Field, ...]]:
    """Return a row for each mechanism's average effect, then the rest, and all of them."""
    points = points_of(found, metric)
    of = [one for one in found.effects if one.metric == metric]

    def row(head: str, these: Iterable[Effect]) -> tuple[Field, ...]:
        by = {one.point: field(one) for one in these}
        return (head, *(by.get(point, UNKNOWN) for point in points))

    average = [one for one in of if one.kind == "average"]
    rows = [
        row(each.id, (one for one in average if one.sets == ((each.id,),)))
        for each in found.hypotheses
    ]
    if len(found.hypotheses) > 2:
        name = "the rest" if len(found.hypotheses) > ALL_SUBSETS else "three or more together"
        rows.append(row(name, (one for one in of if one.kind == "beyond pairs")))
    return [*rows, row("all of them", (one for one in of if one.kind == "all"))]


def pairs_grid(found: Explanation, metric: str) -> Grid | None:
    """Return the pairs that do more, or less, together than one by one, where that is shown."""
    points, quantity = points_of(found, metric), quantity_of(found, metric)
    every = [one for one in found.effects if one.metric == metric and one.kind == "pair"]
    if not every:
        return None
    rows: list[tuple[Field, ...]] = []
    for sets in dict.fromkeys(one.sets for one in every if _clear(one)):
        by = {one.point: one for one in every if one.sets == sets}
        words = " or ".join(" with ".join(pair) for pair in sets)
        rows.append((words, *(_change(by[point], quantity) for point in points if point in by)))
    told = how_many(len(every), "interval", "intervals")
    notes = [f"Those with an interval without 0, of {told}: one in twenty has none by chance."]
    if any(len(one.sets) > 1 for one in every):
        notes.append("Pairs joined by 'or' are not told apart by these runs.")
    return Grid(
        "Pairs that change more or less together than one by one" + (": none" * (not rows)),
        (Column("", "name"), *_heads(found, points)) if rows else (), rows, notes,
    )  # fmt: skip


def claims_grid(found: Explanation) -> Grid:
    """Return the study's claims whose verdict another set of mechanisms changes.

    Verdicts are those corrected for the number of runs that are looked at.
    """
    everything = max(range(len(found.runs)), key=lambda i: len(found.runs[i].mechanisms))
    base = next(i for i, run in enumerate(found.runs) if not run.mechanisms)
    lone = [i for i, run in enumerate(found.runs) if len(run.mechanisms) == 1]
    others = [*lone, *([] if everything in lone else [everything])]
    rows: list[tuple[Field, ...]] = []
    unsure = 0
    for one in found.claims:
        turned = [i for i in others if _turns(one.corrected[base], one.corrected[i])]
        if turned:
            alone = "; ".join(
                f"{one.corrected[i]} with {found.runs[i].mechanisms[0]}"
                for i in turned
                if i in lone
            )
            ends = (judgement(one.corrected[i] or "") for i in (base, everything))
            rows.append((one.text, *ends, alone or UNKNOWN))
        elif any(_turns(one.verdicts[base], one.verdicts[i]) for i in others):
            unsure += 1
    heads = (
        Column("claim", "words"), Column("as it is", "name"), Column("with all", "name"),
        Column("with one alone", "words"),
    )  # fmt: skip
    caption = "Claims that turn from holds to refuted, or back"
    note = (
        f"{len(rows)} of {how_many(len(found.claims), 'claim')} judged. A verdict here takes "
        f"account of all {how_many(len(others) + 1, 'run')} looked at (none, each alone, all): the "
        "chance that any of them is wrong is at most 5 %."
    )
    notes = [note]
    if unsure:
        notes.append(
            f"By the runs' own reports, each of which takes account of its own claims only, "
            f"{unsure} more would turn."
        )
    return Grid(caption + (": none" * (not rows)), heads if rows else (), rows, notes)


def _turns(a: str | None, b: str | None) -> bool:
    return {a, b} == {"holds", "refuted"}


def explained_grid(found: Explanation) -> Grid | None:
    """Return the verdicts on claims that mechanisms explain something; None without any."""
    rows: list[tuple[Field, ...]] = [
        (
            one.text, ", ".join(one.by), _measured(found, one), _wanted(found, one),
            judgement(one.verdict),
        )
        for one in found.explained
    ]  # fmt: skip
    if not rows:
        return None
    return Grid(
        "What the publication says these mechanisms do",
        (Column("claim", "words"), Column("by", "words"), Column("found", "words"),
         Column("taken as", "words"), Column("verdict", "name")),
        rows,
    )  # fmt: skip


def _measured(found: Explanation, one: Explained) -> str:
    return "; ".join(
        f"{point_words(each.point, found.parameters)}: "
        + (
            f"{_by(found, one, each.estimate)} ({_bounds(found, one, each.ci95)})"
            if each.estimate is not None else f"{each.reason}"
        )
        for each in one.at
    )  # fmt: skip


def _shown_in(found: Explanation, one: Explained) -> Quantity:
    return quantity_of(found, one.metric) if one.measure == "change" else Quantity("%", 1, 1)


def _by(found: Explanation, one: Explained, value: float | None) -> str:
    return with_unit(value, _shown_in(found, one))


def _bounds(found: Explanation, one: Explained, ci95: tuple[float, float] | None) -> str:
    return interval(ci95, _shown_in(found, one))


def _wanted(found: Explanation, one: Explained) -> str:
    label = _lower(label_of(found, one.metric))
    ways = {
        "change": f"{label} changes by",
        "percent": f"{label} changes, in % of it as it is, by",
        "share": f"of {label} with all of them it makes",
    }
    low = ("more than" if one.strict else "at least", one.low)
    high = ("less than" if one.strict else "at most", one.high)
    bounds = [f"{words} {_by(found, one, end)}" for words, end in (low, high) if end is not None]
    return f"{ways[one.measure]} {' and '.join(bounds)}"


def notes(found: Explanation) -> tuple[str, ...]:
    """Return what else is to be told."""
    told = [
        f"{', '.join(name for name, other in found.idle.items() if other == why)}: {why}"
        for why in dict.fromkeys(found.idle.values())
    ]
    told += [
        f"{run.run}: {how_many(run.excluded, 'cell')} not counted: a check failed, see its report"
        for run in found.runs
        if run.excluded
    ]
    first = found.runs[0]
    outside = [
        point_words(one.point, found.parameters)
        for one in found.levels
        if one.metric == found.metric and one.run == first.run and one.published_inside is False
    ]
    if any(one.published is not None for one in found.levels if one.metric == found.metric):
        told.append(
            "the published value could be a single run of the kernel as it is"
            + (f", but not at {'; '.join(outside)}" if outside else " at every point")
        )
    return tuple(told)


def mechanisms_grid(found: Explanation) -> Grid:
    """Return what each mechanism is."""
    rows = [(one.id, one.text, one.how) for one in found.hypotheses]
    heads = (Column("mechanism", "name"), Column("as published", "words"), Column("by", "words"))
    return Grid("Mechanisms", heads, rows)


def attachment(found: Explanation) -> Attachment:
    """Return everything, for ``explanation.md``."""
    metrics = dict.fromkeys((found.metric, *(one.metric for one in found.effects)))
    tables = [mechanisms_grid(found), *filter(None, [explained_grid(found)]), claims_grid(found)]
    for metric in metrics:
        tables += [levels_grid(found, metric), effects_grid(found, metric)]
        tables.append(alone_grid(found, metric))
        tables += filter(None, [shares_grid(found, metric), pairs_grid(found, metric)])
    runs = tuple(
        f"{run.run}: {', '.join(run.mechanisms) or 'no mechanism'}; kernel {', '.join(run.kernels)}"
        for run in found.runs
    )
    title = f"Why they differ: {found.title}"
    return Attachment(title=title, tables=tables, notes=(*notes(found), *runs))


def _clear(one: Effect) -> bool:
    return one.ci95 is not None and not one.ci95[0] <= 0 <= one.ci95[1]


def _level(one: Level, quantity: Quantity) -> str:
    if one.mean is None:
        return UNKNOWN
    return f"{with_unit(one.mean, quantity)} ({interval(one.ci95, quantity)})"


def _change(one: Effect, quantity: Quantity) -> str:
    if one.change is None:
        return UNKNOWN
    sign = "" if one.change < 0 else "+"
    return f"{sign}{number(one.change, quantity)} ({interval(one.ci95, quantity)})"


def _share(one: Effect) -> str:
    if one.share is None:
        return UNKNOWN
    return f"{with_unit(one.share, SHARE)} ({interval(one.share_ci95, SHARE)})"


def _lower(label: str) -> str:
    return label[:1].lower() + label[1:] if label[1:2].islower() else label
