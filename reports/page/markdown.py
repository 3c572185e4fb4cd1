"""The rules of GitHub-flavoured Markdown, for tables. Pure.

Invariant: no text of a study becomes markup, a link or another cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from reports.page.grid import Column, Field, plain

#: What means something inside a line. A backslash before any ASCII punctuation makes it plain.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#$]")
#: What means something at the beginning of one: a list, a heading underlined, a number with a dot.
_LEADING = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
#: What GitHub makes a link of by itself.
_LINK = re.compile(r"(?i)(://|www\.)")


def escaped(text: str) -> str:
    """Return the text as it reads, on one line, without a meaning in Markdown."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    line = _LINK.sub(
        lambda found: found[0][:-1] + "\\" + found[0][-1], _SPECIAL.sub(r"\\\g<0>", line)
    )
    return _LEADING.sub(_plain_start, line)


def _plain_start(found: re.Match[str]) -> str:
    space, start = found.groups()
    return f"{space}{start}\\" if start.isdigit() else f"{space}\\{start}"


def row(fields: Sequence[Field]) -> Markup:
    """Return a row of a table: no field can begin a block, so a sign before it stays as it is."""
    shown = (escaped(f".{plain(field)}").removeprefix(".") for field in fields)
    return Markup(f"| {' | '.join(shown)} |")


def rule(columns: Sequence[Column]) -> Markup:
    """Return the line below the heads, which says how columns stand."""
    marks = ("---:" if column.kind == "number" else "---" for column in columns)
    return Markup(f"| {' | '.join(marks)} |")
