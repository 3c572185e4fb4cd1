"""Movements as ns-2's setdest writes them, and whatever else writes its lines.

    $node_(0) set X_ 83.364
    $ns_ at 2.0 "$node_(0) setdest 90.4 44.9 1.37"      towards a place, in m, at a speed, in m/s

A node stands where it is set until its first ``setdest``, and at a destination it has reached; one
that comes while it moves begins at the place reached, as in ns-2, and one with speed 0 ends a trip.
Lines of ``$god_`` (hops between nodes, for ns-2's statistics) are counted and passed over.
Invariants: nodes are numbered from 0, each is set once before it moves, the times of its
``setdest`` do not descend; any other line is a :class:`ParseError` with file, line and reason.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from model.errors import ParseError
from model.movement.random_waypoint import MOST_MPS
from simulators.movements.claimed import (
    MOST_S,
    Claimed,
    Imported,
    Rows,
    ends_early,
    finite,
    lines,
    place_m,
    time_s,
)
from simulators.results.streams import Stream

MOST_CHARACTERS = 1000
_SET = re.compile(r"\$node_\((\d{1,9})\)\s+set\s+([XYZ])_\s+(\S+?);?", re.A)
_MOVE = re.compile(
    r'\$ns_?\s+at\s+(\S+)\s+"\$node_\((\d{1,9})\)\s+setdest\s+(\S+)\s+(\S+)\s+(\S+?)"\s*;?', re.A
)
_HOPS = r"\$god_\s+set-dist\s+\d+\s+\d+\s+\d+"
_GOD = re.compile(rf'{_HOPS}|\$ns_?\s+at\s+\S+\s+"{_HOPS}"|set\s+god_\s+\[God\s+instance\]', re.A)
_BONNMOTION = re.compile(r"[\d.eE+ \t-]+")
WANTED = "such as '$ns_ at 2.0 \"$node_(0) setdest 90.4 44.9 1.37\"'"


@dataclass(kw_only=True)
class _Node:
    """A node as far as the file was read: where it was at ``t_s``, and where it goes from there."""

    line: int
    places: dict[str, float] = field(default_factory=dict)
    t_s: float = 0.0
    to: tuple[float, float] | None = None
    speed_mps: float = 0.0
    begun: bool = False

    @property
    def here(self) -> tuple[float, float]:
        return self.places["X"], self.places["Y"]

    @property
    def arrival_s(self) -> float:
        """When it reaches where it goes; it does go."""
        to, here = self.to or self.here, self.here
        across_m, up_m = to[0] - here[0], to[1] - here[1]
        return self.t_s + math.sqrt(across_m * across_m + up_m * up_m) / self.speed_mps

    def moved(self, t_s: float) -> tuple[float, float]:
        """Return the place on the way at a time before the arrival."""
        to, here = self.to or self.here, self.here
        part = (t_s - self.t_s) / (self.arrival_s - self.t_s)
        return here[0] + part * (to[0] - here[0]), here[1] + part * (to[1] - here[1])


def read(stream: Stream, claimed: Claimed) -> Imported:
    """Return the movement of all nodes the study has.

    Raises:
        ParseError: it is no such file, or not of this study; file, line and reason.
    """
    nodes: dict[int, _Node] = {}
    rows, passed_over = Rows(claimed.nodes), 0
    for at, text in lines(stream):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        if len(line) > MOST_CHARACTERS:
            raise stream.error(at, "too long a line", wanted=f"at most {MOST_CHARACTERS} bytes")
        if match := _MOVE.fullmatch(line):
            _move(match, nodes, rows, claimed, f"{stream.where}:{at}")
        elif match := _SET.fullmatch(line):
            _set(match, nodes, claimed, stream, at)
        elif _GOD.fullmatch(line):
            passed_over += 1
        else:
            numbers = _BONNMOTION.fullmatch(line)
            raise stream.error(at, "no line of setdest", wanted=WANTED, got=ascii(line[:60]),
                               hint="is it format: bonnmotion?" if numbers else "")  # fmt: skip
    _finish(nodes, rows, claimed, stream.where)
    movement = rows.movement()
    notes = ends_early(stream.where, movement, claimed.until_ns)
    if passed_over:
        notes = (f"{stream.where}: {passed_over} lines of $god_ passed over", *notes)
    return Imported(movement=movement, notes=notes, sha256=stream.digest.hexdigest())


def _number_of(text: str, claimed: Claimed, where: str) -> int:
    if int(text) >= claimed.nodes:
        raise ParseError("a node that the study does not have", where=where, got=f"node {text}",
                         wanted=f"nodes from 0 to {claimed.nodes - 1}")  # fmt: skip
    return int(text)


def _set(
    match: re.Match[str], nodes: dict[int, _Node], claimed: Claimed, stream: Stream, at: int
) -> None:
    where, axis = f"{stream.where}:{at}", match[2]
    number_of = _number_of(match[1], claimed, where)
    node = nodes.setdefault(number_of, _Node(line=at))
    if axis in node.places:
        raise stream.error(at, f"{axis}_ of node {number_of} is set again", wanted="once",
                           hint="nodes cannot jump")  # fmt: skip
    if axis == "Z":
        node.places["Z"] = finite(match[3], where, "Z_")
        if node.places["Z"]:
            raise stream.error(at, "a node above the ground", wanted="Z_ 0", got=match[3][:40],
                               hint="movements have two dimensions")  # fmt: skip
    else:
        node.places[axis] = place_m(match[3], where, axis.lower(), claimed.field)


def _move(
    match: re.Match[str], nodes: dict[int, _Node], rows: Rows, claimed: Claimed, where: str
) -> None:
    number_of = _number_of(match[2], claimed, where)
    node = nodes.get(number_of)
    if node is None or not {"X", "Y"} <= node.places.keys():
        raise ParseError(f"node {number_of} moves before it has a place", where=where,
                         wanted=f"$node_({number_of}) set X_ and Y_ above")  # fmt: skip
    t_s = time_s(match[1], where)
    if t_s < node.t_s:
        raise ParseError(f"earlier than the setdest of node {number_of} before", where=where,
                         wanted=f"{node.t_s:.12g} s or later", got=f"{t_s:.12g} s")  # fmt: skip
    to = (
        place_m(match[3], where, "x", claimed.field),
        place_m(match[4], where, "y", claimed.field),
    )
    speed_mps = finite(match[5], where, "the speed", least=0)
    if speed_mps > MOST_MPS:
        raise ParseError("too fast", where=where, wanted=f"at most {MOST_MPS:g} m/s",
                         got=f"{speed_mps:g} m/s")  # fmt: skip
    _reach(node, number_of, t_s, rows, where)
    node.t_s, node.speed_mps = t_s, speed_mps
    node.to = to if speed_mps > 0 and to != node.here else None
    if node.to is not None and node.arrival_s > MOST_S:
        raise ParseError("too slow to arrive", where=where, wanted=f"within {MOST_S} s",
                         got=f"{speed_mps:g} m/s")  # fmt: skip


def _begin(node: _Node, number_of: int, rows: Rows, where: str) -> None:
    if not node.begun:
        node.begun = True
        rows.add(number_of, 0.0, *node.here, where)


def _reach(node: _Node, number_of: int, t_s: float, rows: Rows, where: str) -> None:
    """Bring a node to where it is at a time, and keep the rows of that."""
    _begin(node, number_of, rows, where)
    place = node.here
    if node.to is not None:
        if node.arrival_s <= t_s:
            rows.add(number_of, node.arrival_s, *node.to, where)
            place = node.to
        else:
            place = node.moved(t_s)
    rows.add(number_of, t_s, *place, where)
    node.places["X"], node.places["Y"] = place


def _finish(nodes: dict[int, _Node], rows: Rows, claimed: Claimed, where: str) -> None:
    """Let all nodes reach where they go last; raise :class:`ParseError` if one has no place."""
    for number_of in range(claimed.nodes):
        node = nodes.get(number_of)
        if node is None:
            raise ParseError(f"node {number_of} has no place", where=where,
                             wanted=f"{claimed.nodes} nodes, numbered from 0",
                             got=f"{len(nodes)} nodes",
                             hint="was the file cut short?")  # fmt: skip
        here = f"{where}:{node.line}"
        if lacks := [f"{axis}_" for axis in "XY" if axis not in node.places]:
            there = [f"{axis}_" for axis in sorted(node.places)]
            raise ParseError(f"node {number_of} has no {' and no '.join(lacks)}", where=here,
                             wanted=f"$node_({number_of}) set {lacks[0]} below",
                             got=f"{' and '.join(there)} alone",
                             hint="was the file cut short?")  # fmt: skip
        _begin(node, number_of, rows, here)
        if node.to is not None:
            rows.add(number_of, node.arrival_s, *node.to, here)
