"""What a study claims of a file of movements, and what every reader of one holds it to.

Invariants: a place is in the study's field, a time from 0 on, a speed one that nodes may have; rows
are so many at most, whatever the file holds, and no more of it than a piece is in memory. What is
not so is a :class:`ParseError` with file, line, wanted and got.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from model import units
from model.errors import ParseError
from model.movement.paths import MOST_NS, Field, Movement, Path, Row, length_mm
from model.movement.random_waypoint import MOST_MPS
from model.units import MM_PER_M, NS_PER_S
from simulators.results.numbers import number
from simulators.results.streams import Stream

#: What a file may have: unpacked, and of rows that are kept.
MOST_BYTES, MOST_ROWS = 1 << 30, 500_000
MOST_S = MOST_NS // NS_PER_S


@dataclass(frozen=True, kw_only=True)
class Claimed:
    """What the study says: how many nodes there are, in which field, and for how long they move."""

    nodes: int
    field: Field
    until_ns: int


@dataclass(frozen=True, kw_only=True)
class Imported:
    """The paths of the nodes, and what a reader of the run should know of the file.

    ``sha256`` is of its bytes as they are stored.
    """

    movement: Movement
    notes: tuple[str, ...]
    sha256: str


def lines(stream: Stream) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that is not too large, and whose last line is whole."""
    stored_bytes = os.fstat(stream.file.fileno()).st_size
    if stored_bytes > MOST_BYTES:
        raise ParseError("too large a file", where=stream.where,
                         wanted=f"at most {MOST_BYTES} bytes", got=f"{stored_bytes} bytes",
                         hint="lines of $god_ can be left out")  # fmt: skip
    read_bytes, at = 0, 0
    for at, text in stream.lines():
        read_bytes += len(text) + 1
        if read_bytes > MOST_BYTES:
            raise stream.error(at, "too large a file", wanted=f"at most {MOST_BYTES} bytes",
                               got="more, unpacked")  # fmt: skip
        if text and not text.startswith("#"):
            yield at, text
    if stream.open_ended:
        raise stream.error(at, "the last line has no end", wanted="a whole line",
                           got=ascii(text[-30:]), hint="was the file cut short?")  # fmt: skip


def finite(text: str, where: str, what: str, *, least: float | None = None) -> float:
    """Return a number; as its reader for results, but for its hint on those that are none."""
    try:
        return number(text, where, what, least=least)
    except ParseError as error:
        hint = error.hint if "point" in error.hint else ""
        raise ParseError(
            error.what, where=where, wanted=error.wanted, got=error.got, hint=hint
        ) from None


def place_m(text: str, where: str, axis: str, field: Field) -> float:
    """Return a coordinate in metres that is in the field; ``axis`` is x or y."""
    value_m = finite(text, where, f"{axis} of a place")
    most_m = (field.width_mm if axis == "x" else field.height_mm) / MM_PER_M
    if not 0 <= value_m <= most_m:
        side = "width" if axis == "x" else "height"
        raise ParseError(
            "outside of the field", where=where, got=f"{axis} {text[:40]}",
            wanted=f"{axis} from 0 to {most_m:.12g} m", hint=f"the study's field has that {side}",
        )  # fmt: skip
    return value_m


def time_s(text: str, where: str) -> float:
    """Return a time in seconds, from 0 on."""
    value_s = finite(text, where, "the time", least=0)
    if value_s > MOST_S:
        raise ParseError("too late a time", where=where, wanted=f"at most {MOST_S} s",
                         got=text[:40])  # fmt: skip
    return value_s


class Rows:
    """The rows of all nodes as a file gives them, by time; of all together so many at most."""

    def __init__(self, nodes: int) -> None:
        self._rows: list[list[Row]] = [[] for _ in range(nodes)]
        self._kept = 0

    def add(self, node: int, t_s: float, x_m: float, y_m: float, where: str) -> None:
        """Keep a row; one of the nanosecond of the row before says nothing new.

        Raises:
            ParseError: too many rows, a jump, or too fast a trip.
        """
        row = Row(round(t_s * NS_PER_S), round(x_m * MM_PER_M), round(y_m * MM_PER_M))
        rows = self._rows[node]
        if rows and not _follows(rows[-1], row, node, where):
            return
        self._kept += 1
        if self._kept > MOST_ROWS:
            raise ParseError("too many rows", where=where, wanted=f"at most {MOST_ROWS} in all")
        rows.append(row)

    def movement(self) -> Movement:
        """Return the movement of nodes that all have rows."""
        return Movement(tuple(Path(tuple(rows)) for rows in self._rows))


def _follows(last: Row, row: Row, node: int, where: str) -> bool:
    """Return whether a row is one more; raise :class:`ParseError` if nothing goes from one so."""
    gone_mm, took_ns = length_mm(last, row), row.t_ns - last.t_ns
    # A millimetre may be rounding's.
    if gone_mm > 2 and gone_mm / MM_PER_M > MOST_MPS * (took_ns / NS_PER_S) * 1.001 + 0.002:
        speed = f"{gone_mm / MM_PER_M:.6g} m in {took_ns / NS_PER_S:.6g} s"
        raise ParseError(f"node {node} is too fast", where=where, got=speed,
                         wanted=f"at most {units.format_speed(MOST_MPS)}")  # fmt: skip
    return took_ns > 0


def ends_early(where: str, movement: Movement, until_ns: int) -> tuple[str, ...]:
    """Return a note if all nodes stand before the study's runs end."""
    last_ns = movement.last_ns
    if last_ns >= until_ns:
        return ()
    moves_s, runs_s = last_ns / NS_PER_S, until_ns / NS_PER_S
    return (f"{where}: no node moves after {moves_s:.6g} s, and runs last {runs_s:.6g} s",)
