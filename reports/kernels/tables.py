"""What changed between kernels, as tables: claims, metrics at each point, every comparison. Pure.

Invariant: all is told from ``kernels.json`` alone, so a page can be written from the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from model.run_files.comparing.kernels import Change, JudgedClaim, Kernels, Level
from model.run_files.quantity import Quantity
from model.run_files.study import INCREASE
from model.words import how_many
from reports.inference.equivalence import LEVEL
from reports.measures.metrics import Metric, metrics_of, study_metrics_of
from reports.measures.quantities import (
    UNKNOWN,
    interval,
    number,
    point_words,
    with_interval,
    with_unit,
)
from reports.page.grid import NONE, Column, Field, Grid, columns, judgement
from reports.page.review_tables import Attachment
from reports.verdict.verdicts import COMPARISON_VERDICTS
from reports.verdict.words import p_words


def metric_table(found: Kernels) -> dict[str, Metric]:
    """Return the metrics of the study, for labels and units."""
    return metrics_of(found.groups, found.compare) | study_metrics_of(found.groups, found.flows)


def names(found: Kernels) -> list[str]:
    """Return the kernels' names, in order."""
    return [run.kernel for run in found.runs]


def first_metric(found: Kernels) -> str:
    """Return the metric that is told of first: the increase, or else the study's first."""
    return INCREASE if found.compare and INCREASE in found.metrics else found.metrics[0]


def claims_grid(found: Kernels) -> Grid:
    """Return the claims whose verdict is not the same on all kernels, those that turn first."""
    differing = sorted(
        (one for one in found.claims if one.differs), key=lambda one: not one.turns
    )  # fmt: skip
    judged = sum(
        any(here.verdict in COMPARISON_VERDICTS for here in one.on) for one in found.claims
    )  # fmt: skip
    notes = [f"{len(differing)} of {how_many(judged, 'claim')}; each kernel is judged by itself."]
    if any(not one.turns for one in differing):
        notes.append(
            "Undecided beside decided need not be a change: it may be a kernel with less to tell."
        )
    caption = "Claims whose verdict is not the same on all kernels"
    return Grid(
        caption + (": none" * (not differing)),
        (Column("claim", "words"), *columns("name", *names(found))) if differing else (),
        [_claim(one) for one in differing],
        notes,
    )  # fmt: skip


def _claim(one: JudgedClaim) -> tuple[Field, ...]:
    return (
        one.text,
        *(judgement(on.verdict, *((f", {on.decisive}",) if on.decisive else ())) for on in one.on),
    )


def every_claim_grid(found: Kernels) -> Grid:
    """Return every claim that was judged on some kernel, with what decided it there."""
    rows: list[tuple[Field, ...]] = [
        (one.text, on.kernel, judgement(on.verdict), on.evidence)
        for one in found.claims
        if any(here.verdict in COMPARISON_VERDICTS for here in one.on)
        for on in one.on
    ]
    heads = (
        Column("claim", "words"), Column("kernel", "name"), Column("verdict", "name"),
        Column("evidence", "words"),
    )  # fmt: skip
    return Grid("Every claim on every kernel", heads, rows)


def metrics_grid(found: Kernels, metrics: Sequence[str], *, changed_only: bool = False) -> Grid:
    """Return metrics at each point: a column per kernel, and what changed from each to the next.

    Of one metric alone, its name is the table's.

    A change is in the table where it is told apart. ``changed_only`` leaves out rows without one.
    """
    known, kernels = metric_table(found), names(found)
    levels = {(one.metric, one.point, one.kernel): one for one in found.levels}
    changes = {(one.metric, one.point, one.before, one.after): one for one in found.changes}
    pairs, alone = list(pairwise(kernels)), len(metrics) == 1
    published = any(one.published is not None for one in found.levels if one.metric in metrics)
    rows: list[tuple[Field, ...]] = []
    for metric, point in dict.fromkeys((one.metric, one.point) for one in found.levels):
        between = [changes[metric, point, *pair] for pair in pairs]
        told = any(one.told_apart for one in between)
        if metric not in metrics or (changed_only and not told):
            continue
        quantity = known[metric].quantity
        here = [levels[metric, point, kernel] for kernel in kernels]
        rows.append((
            *(() if alone else (known[metric].label,)), point_words(point, found.parameters),
            *(level_words(one, quantity) for one in here),
            *(change_words(one, quantity) if one.told_apart else NONE for one in between),
            *((with_unit(here[0].published, quantity),) if published else ()),
        ))  # fmt: skip
    heads = [*kernels, *(f"{after} less {before}" for before, after in pairs)]
    heads += ["published"] if published else []
    what = known[metrics[0]].label if alone else "Metrics"
    names_of_rows = columns("name", *(() if alone else ("metric",)), "at")
    return Grid(
        f"{what} at each point, and what changed from each kernel to the next",
        (*names_of_rows, *columns("number", *heads)) if rows else (),
        rows,
        [compared_words(found)],
    )


def compared_words(found: Kernels) -> str:
    """Return how many comparisons were looked at, and of what a change that is shown is one."""
    tested = [one for one in found.changes if one.p is not None]
    told = sum(one.told_apart for one in tested)
    return (
        f"Means with 95 % intervals. {how_many(len(tested), 'difference')} between neighbouring "
        f"kernels looked at, {told} told apart from 0: those with p of at most {LEVEL:g}, "
        "corrected for all of them (Holm). A difference is of runs of the same seed, its 95 % "
        "interval its own."
    )


def changes_grid(found: Kernels) -> Grid:
    """Return every difference that was looked at."""
    known = metric_table(found)
    rows: list[tuple[Field, ...]] = [
        (
            known[one.metric].label, point_words(one.point, found.parameters),
            f"{one.after} less {one.before}", str(one.n),
            change_words(one, known[one.metric].quantity),
            UNKNOWN if one.p_corrected is None else p_words(one.p_corrected),
            judgement("told apart" if one.told_apart else "not told apart"),
            one.reason or "",
        )
        for one in found.changes
    ]  # fmt: skip
    return Grid(
        "Every difference that was looked at",
        (*columns("name", "metric", "at", "kernels"),
         *columns("number", "seeds", "difference (95 % CI)", "corrected"),
         *columns("name", "difference from 0", "why")),
        rows,
        ["A difference that is not told apart is not shown to be none: more seeds may tell."],
    )  # fmt: skip


def kernels_grid(found: Kernels) -> Grid:
    """Return what each kernel is, as its cells recorded it, and its run."""
    rows: list[tuple[Field, ...]] = [
        (run.kernel, run.facts.get("kernel", UNKNOWN), run.facts.get("kernel's package", UNKNOWN),
         str(run.seeds), run.run)
        for run in found.runs
    ]  # fmt: skip
    heads = columns("name", "kernel", "release", "package", "seeds", "run folder")
    return Grid("Kernels", heads, rows)


def notes(found: Kernels) -> tuple[str, ...]:
    """Return what else is to be told."""
    return tuple(
        f"{run.kernel}: {how_many(run.excluded, 'cell')} not counted: a check failed, see its "
        "report"
        for run in found.runs
        if run.excluded
    )


def title(found: Kernels) -> str:
    """Return what the comparison is of."""
    *before, last = names(found)
    return f"{found.title}: on {', '.join(before)} and {last}"


def screen_grids(found: Kernels) -> list[Grid]:
    """Return what a terminal shows: claims that differ, and the metric that is told of first."""
    first = first_metric(found)
    grids = [claims_grid(found), metrics_grid(found, [first])]
    others = [name for name in found.metrics if name != first]
    if any(one.told_apart for one in found.changes if one.metric in others):
        changed = metrics_grid(found, others, changed_only=True)
        grids.append(Grid("Others that changed", changed.columns, changed.rows))
    return grids


def attachment(found: Kernels) -> Attachment:
    """Return everything, for ``kernels.md``."""
    return Attachment(
        title=title(found),
        tables=[
            claims_grid(found), metrics_grid(found, found.metrics), kernels_grid(found),
            changes_grid(found), every_claim_grid(found),
        ],
        notes=notes(found),
    )  # fmt: skip


def level_words(one: Level, quantity: Quantity) -> str:
    """Return a mean with its interval."""
    return with_interval(one.mean, one.ci95, quantity)


def change_words(one: Change, quantity: Quantity) -> str:
    """Return a difference with its sign and its interval; percentages differ by points."""
    if one.difference is None:
        return UNKNOWN
    text = number(one.difference, quantity)
    sign = "" if text.startswith("-") else "+"
    bounds = "" if one.ci95 is None else f" ({interval(one.ci95, quantity)})"
    return f"{sign}{text}{bounds}"
