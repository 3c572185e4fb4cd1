"""``report/tables.*``: the tables to attach to a review, one template for each kind of file. Pure.

Invariants: the numbers are those of the page, in the same tables; what a template places is escaped
by the rules of its kind, whatever the template says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from model import run_folder
from reports.page import latex, markdown, result_tables
from reports.page.grid import Column, Field, Grid, plain
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
    tables = (
        [attached_verdicts(summary.verdicts, summary.scale, summary.simulated)]
        if summary.verdicts
        else []
    )
    for name in summary.headline:
        found = result_tables.result(summary, names[name])
        counted = (f"{found.verdict}.",) if found.verdict else ()
        tables.append(dataclasses.replace(found.grid, notes=(*counted, *found.grid.notes)))
        tables += filter(None, [result_tables.estimates_table(summary, names[name])])
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


@dataclass(frozen=True)
class TableFile:
    """A kind of file: its place in a run, and its rules, which return what may be placed as it is.

    ``escaped`` leaves a text no meaning, ``row`` sets fields, ``rule`` says how columns stand.
    """

    name: str
    escaped: Callable[[str], str]
    row: Callable[[Sequence[Field]], Markup]
    rule: Callable[[Sequence[Column]], Markup]

    def text(self, attachment: Attachment) -> str:
        """Return the file of a study's tables."""

        def placed(value: Any) -> str:
            return value if isinstance(value, Markup) else self.escaped(plain(value))

        # Braces and % have a meaning in what these templates write.
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("reports.page"),
            finalize=placed,
            undefined=jinja2.StrictUndefined,
            block_start_string="<%", block_end_string="%>",
            variable_start_string="<<", variable_end_string=">>",
            comment_start_string="<#", comment_end_string="#>",
            trim_blocks=True,
        )  # fmt: skip
        environment.filters |= {"row": self.row, "rule": self.rule}
        template = environment.get_template(f"{self.name.rpartition('/')[2]}.j2")
        return template.render(vars(attachment)).rstrip("\n") + "\n"


MARKDOWN = TableFile(run_folder.TABLES_MD, markdown.escaped, markdown.row, markdown.rule)
TABLE_FILES = (
    MARKDOWN,
    TableFile(run_folder.TABLES_TEX, latex.escaped, latex.row, latex.rule),
)
