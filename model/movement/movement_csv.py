"""A movement as ``movement.csv``, which a C program reads in the lab; written, and read strictly.

    t_ns,node,x_mm,y_mm
    0,0,500000,150000

Standard library only. Invariants: whole numbers without sign or blank, lines end with one line feed
each; nodes are numbered from 0 without gaps, rows stand by node, then by time, which ascends; one
movement has one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from model.errors import ParseError
from model.movement.paths import MOST_MM, MOST_NODES, MOST_NS, MOST_ROWS, Movement, Path, Row

NAME = "movement.csv"
HEADER = "t_ns,node,x_mm,y_mm"
_ROW = re.compile(r"(0|[1-9]\d{0,18}),(0|[1-9]\d{0,18}),(0|[1-9]\d{0,18}),(0|[1-9]\d{0,18})", re.A)
_WANTED = f"four whole numbers: {HEADER}"


def text_of(movement: Movement) -> str:
    """Return the whole file."""
    lines = [
        f"{row.t_ns},{node},{row.x_mm},{row.y_mm}"
        for node, path in enumerate(movement.paths)
        for row in path.rows
    ]
    return "\n".join([HEADER, *lines, ""])


def movement_of(text: str, where: str) -> Movement:
    """Return what a file says; ``where`` is what messages call it.

    Raises:
        ParseError: it is not such a file; line, wanted, got.
    """
    *lines, rest = text.split("\n")
    if not text:
        raise ParseError("the file is empty", where=where, wanted=HEADER)
    if not lines or lines[0] != HEADER:
        raise ParseError("not its head", where=f"{where}:1", wanted=HEADER,
                         got=repr((lines or [rest])[0][:60]))  # fmt: skip
    if rest:
        raise ParseError("the last line has no end", where=f"{where}:{len(lines) + 1}",
                         wanted="a whole line", got=repr(rest[:60]),
                         hint="was the file cut short?")  # fmt: skip
    if len(lines) - 1 > MOST_ROWS:
        raise ParseError("too many rows", where=where, wanted=f"at most {MOST_ROWS}",
                         got=str(len(lines) - 1))  # fmt: skip
    paths: list[list[Row]] = []
    for at, node, row in _rows(lines, where):
        if node == len(paths) < MOST_NODES:
            paths.append([row])
        elif node != len(paths) - 1:
            wanted = " or ".join(str(n) for n in (len(paths) - 1, len(paths)) if n >= 0)
            raise ParseError("not the node that follows", where=at, wanted=wanted, got=str(node),
                             hint="rows stand by node, from 0, then by time")  # fmt: skip
        elif row.t_ns <= paths[-1][-1].t_ns:
            raise ParseError("a time that does not ascend", where=at,
                             wanted=f"more than {paths[-1][-1].t_ns} ns",
                             got=f"{row.t_ns} ns")  # fmt: skip
        else:
            paths[-1].append(row)
    if not paths:
        raise ParseError("no node in the file", where=where)
    return Movement(tuple(Path(tuple(rows)) for rows in paths))


def _rows(lines: list[str], where: str) -> Iterator[tuple[str, int, Row]]:
    for number, line in enumerate(lines[1:], 2):
        at = f"{where}:{number}"
        match = _ROW.fullmatch(line)
        if match is None:
            raise ParseError("not a row", where=at, wanted=_WANTED, got=repr(line[:60]))
        t_ns, node, x_mm, y_mm = (int(part) for part in match.groups())
        for name, value, most in (
            ("t_ns", t_ns, MOST_NS), ("x_mm", x_mm, MOST_MM), ("y_mm", y_mm, MOST_MM),
        ):  # fmt: skip
            if value > most:
                raise ParseError(f"{name} is too large", where=at, wanted=f"at most {most}",
                                 got=str(value))  # fmt: skip
        yield at, node, Row(t_ns, x_mm, y_mm)
