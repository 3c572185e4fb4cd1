"""``report/tables.md``: the attached tables as GitHub-flavoured Markdown. Pure.

Invariant: no text of a study becomes markup, a link or another cell.
"""

from __future__ import annotations

import re

from reports.page.review_tables import AttachedTable, Attachment

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


def _cell(text: str) -> str:
    """Return a field of a table: nothing in it can begin a block, so signs stay as they are."""
    return escaped(f".{text}").removeprefix(".")


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _table(table: AttachedTable) -> list[str]:
    rule = ["---" if column >= table.words else "---:" for column in range(len(table.heads))]
    lines = [f"## {escaped(table.title)}", "", _row(table.heads), f"| {' | '.join(rule)} |"]
    lines += [_row(row) for row in table.rows]
    if table.notes:
        lines += ["", *(f"- {escaped(note)}" for note in table.notes)]
    return [*lines, ""]


def tables_markdown(attachment: Attachment) -> str:
    """Return the file's text."""
    lines = [f"# {escaped(attachment.title)}", ""]
    for table in attachment.tables:
        lines += _table(table)
    lines += [f"- {escaped(note)}" for note in attachment.notes]
    return "\n".join(lines).rstrip("\n") + "\n"
