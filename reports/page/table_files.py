"""``report/tables.*``: the tables to attach to a review, one template for each kind of file. Pure.

Invariant: what a template places is escaped by the rules of its kind, whatever the template says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from model import run_folder
from reports.page import latex, markdown
from reports.page.grid import Column, Field, plain
from reports.page.review_tables import Attachment


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


TABLE_FILES = (
    TableFile(run_folder.TABLES_MD, markdown.escaped, markdown.row, markdown.rule),
    TableFile(run_folder.TABLES_TEX, latex.escaped, latex.row, latex.rule),
)
