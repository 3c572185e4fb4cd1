"""Movements in BonnMotion's own format (``.movements``): a line per node, of times and places.

    0.0 512.3 100.9 41.7 600.2 250.0        t x y, t x y: at 41.7 s it is at 600.2 m, 250.0 m

Between two of them a node moves straight at constant speed; a pause is a place for the second time.
Invariants: a node's times ascend; a time may stand there again with the same place; there are as
many lines as the study has nodes; anything else is a :class:`ParseError` with file, line, reason.
"""

from __future__ import annotations

from model.errors import ParseError
from simulators.movements.claimed import (
    Claimed,
    Imported,
    Rows,
    ends_early,
    lines,
    place_m,
    time_s,
)
from simulators.results.streams import Stream


def read(stream: Stream, claimed: Claimed) -> Imported:
    """Return the movement of all nodes the study has.

    Raises:
        ParseError: it is no such file, or not of this study; file, line and reason.
    """
    rows, nodes = Rows(claimed.nodes), 0
    for at, text in lines(stream):
        words = text.split()
        if not words:
            continue
        if nodes == claimed.nodes:
            raise stream.error(at, "a node more than the study has",
                               wanted=f"{claimed.nodes} lines, one for each node")  # fmt: skip
        if len(words) % 3:
            raise stream.error(at, "not times with places", wanted="three numbers each: t x y",
                               got=f"{len(words)} words", hint=_hint(words))  # fmt: skip
        _node(nodes, words, rows, claimed, f"{stream.where}:{at}")
        nodes += 1
    if nodes < claimed.nodes:
        raise ParseError("not all nodes have a line", where=stream.where,
                         wanted=f"{claimed.nodes} lines, one for each node", got=str(nodes),
                         hint="was the file cut short?")  # fmt: skip
    movement = rows.movement()
    return Imported(
        movement=movement, notes=ends_early(stream.where, movement, claimed.until_ns),
        sha256=stream.digest.hexdigest(),
    )  # fmt: skip


def _node(node: int, words: list[str], rows: Rows, claimed: Claimed, where: str) -> None:
    if words[0].startswith("$"):
        raise ParseError("not times with places", where=where, wanted="three numbers each: t x y",
                         got=ascii(" ".join(words)[:60]), hint=_hint(words))  # fmt: skip
    last_s = -1.0
    for first in range(0, len(words), 3):
        t_s = time_s(words[first], where)
        if t_s < last_s:
            raise ParseError(f"a time of node {node} that does not ascend", where=where,
                             wanted=f"{last_s:.12g} s or later", got=f"{t_s:.12g} s")  # fmt: skip
        last_s = t_s
        x_m = place_m(words[first + 1], where, "x", claimed.field)
        rows.add(node, t_s, x_m, place_m(words[first + 2], where, "y", claimed.field), where)


def _hint(words: list[str]) -> str:
    if words[0].startswith("$"):
        return "is it format: setdest?"
    return "has it three dimensions?" if len(words) % 4 == 0 else ""
