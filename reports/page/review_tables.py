"""The tables to attach to a review: verdicts, then published beside measured; no markup. Pure.

Invariant: the numbers are those of the page, in the same tables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from reports.page import result_tables
from reports.page.estimates import estimates_table
from reports.page.grid import Grid, plain
from reports.page.result_tables import CONTRADICTED
from reports.page.verdicts import attached_verdicts
from reports.verdict.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """All tables of one study, and what holds for all of them."""

    title: str
    tables: Sequence[Grid]
    notes: Sequence[str]


def attachment(summary: Summary) -> Attachment:
    """Return the tables of a study."""
    names = summary.metric_table()
    tables = [attached_verdicts(summary.verdicts)] if summary.verdicts else []
    for name in summary.headline:
        found = result_tables.result(summary, names[name])
        counted = (f"{found.verdict}.",) if found.verdict else ()
        tables.append(dataclasses.replace(found.grid, notes=(*counted, *found.grid.notes)))
        tables += filter(None, [estimates_table(summary, names[name])])
    return Attachment(title=summary.title, tables=tables, notes=_notes(summary))


def _notes(summary: Summary) -> tuple[str, ...]:
    metrics = [metric for point in summary.points for metric in point.metrics.values()]
    notes = []
    if any(metric.published is not None for metric in metrics):
        notes.append(
            "Difference: kernel less published. Published is inside if it could be one run of this "
            "kernel: if it lies in the interval that holds 95 % of single runs."
        )
    within = result_tables.contradictions(summary)
    texts = [f"{plain(row[0])}: {plain(row[-1])}." for row in within.rows]
    texts += [f"{found.where}: {found.text}." for found in summary.contradictions]
    return (*notes, *(f"{CONTRADICTED} {text}" for text in texts))
