"""The tables to attach to a review: verdicts, then published beside measured; no markup. Pure.

Invariant: the numbers are those of the page, written by the same functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.page import result_tables
from reports.page.estimates import estimates_table
from reports.page.verdicts import rule, sure, tally
from reports.verdict.summary import Summary
from reports.verdict.verdicts import Verdict


@dataclass(frozen=True, kw_only=True)
class AttachedTable:
    """One table; the columns from ``words`` on hold sentences, those before it numbers or names."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """All tables of one study, and what holds for all of them."""

    title: str
    tables: tuple[AttachedTable, ...]
    notes: tuple[str, ...]


#: The sign on a published number that contradicts others.
CONTRADICTED = "\N{DAGGER}"
_JUDGEMENTS = {"inside": "inside", "outside": "outside", "unknown": "not known", "absent": ""}


def attachment(summary: Summary) -> Attachment:
    """Return the tables of a study; what was not published is without its columns."""
    tables = [_verdicts(summary.verdicts)] if summary.verdicts else []
    for name in summary.headline:
        tables.append(_results(summary, name))
        tables += _estimates(summary, name)
    return Attachment(title=summary.title, tables=tuple(tables), notes=_notes(summary))


def _verdicts(verdicts: tuple[Verdict, ...]) -> AttachedTable:
    return AttachedTable(
        title="Verdicts on the published claims",
        heads=("Claim", "Verdict", "How sure", "What is claimed", "Evidence"),
        rows=tuple(
            (
                one.id,
                one.verdict,
                sure(one),
                f"{one.text} ({one.where})",
                " ".join(filter(None, (one.evidence, one.suspected))),
            )
            for one in verdicts
        ),
        words=2,
        notes=(tally(verdicts), rule(verdicts)),
    )


def _results(summary: Summary, name: str) -> AttachedTable:
    """Return published | kernel | difference | intervals of one metric."""
    table = result_tables.result_table(summary, summary.metric_table()[name])
    published, spread = bool(table.verdict), table.spread
    heads = [*result_tables.setting_heads(summary)]
    heads += ["Published"] if published else []
    heads += ["Kernel"]
    heads += ["Difference"] if published else []
    heads += ["95 % CI of the mean", "95 % of single runs"] if spread else []
    heads += ["Runs"]
    heads += ["Published is"] if published else []
    rows = []
    for row in table.rows:
        cells = [*row.settings]
        cells += [row.published + (CONTRADICTED if row.contradicted else "")] if published else []
        cells += [row.mean]
        cells += [row.difference] if published else []
        cells += [row.ci95, row.pi95] if spread else []
        cells += [row.runs]
        cells += [_JUDGEMENTS[row.judgement]] if published else []
        rows.append(tuple(cells))
    unit = f" in {table.unit}" if table.unit else ""
    where = f", published in {table.where}" if table.where else ""
    return AttachedTable(
        title=f"{table.label}{unit}{where}",
        heads=tuple(heads),
        rows=tuple(rows),
        words=len(heads),
        notes=(*((f"{table.verdict}.",) if published else ()), *table.notes),
    )


def _estimates(summary: Summary, name: str) -> list[AttachedTable]:
    metric = summary.metric_table()[name]
    found = estimates_table(summary, metric)
    if found is None:
        return []
    unit = f" in {metric.quantity.unit}" if metric.quantity.unit else ""
    notes = (*((found.words,) if found.words else ()), *found.notes)
    return [
        AttachedTable(
            title=f"{metric.label}{unit}: estimates with their 95 % intervals",
            heads=found.table.heads,
            rows=found.table.rows,
            words=len(found.table.heads),
            notes=notes,
        )
    ]


def _notes(summary: Summary) -> tuple[str, ...]:
    metrics = [metric for point in summary.points for metric in point.metrics.values()]
    notes = []
    if any(metric.published is not None for metric in metrics):
        notes.append(
            "Difference: kernel less published. Published is inside if it could be one run of this "
            "kernel: if it lies in the interval that holds 95 % of single runs."
        )
    within = [f"{row.point}: {row.text}." for row in result_tables.contradicted_rows(summary)]
    within += [f"{found.where}: {found.text}." for found in summary.contradictions]
    return (*notes, *(f"{CONTRADICTED} {text}" for text in within))
