"""Random waypoint: to a place drawn uniformly, at a speed drawn uniformly, a pause, and again.

Standard library only, and of it nothing that machines round differently, so a seed gives the same
movement everywhere (:mod:`model.movement.closed_forms`). Invariants: a node's path depends on the
model, the seed and its number alone; a longer one begins with the shorter. At time 0 nodes are

- in the steady state, as Navidi and Camp (2004) derive it: as if they had moved for ever; or
- placed uniformly, at the beginning of a pause, as ns-2's setdest places them. Then mean speed,
  share of pauses and density drift for a long time, for nodes that drew a slow speed keep it long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from model.ad_hoc import Start
from model.errors import StudyError
from model.movement.closed_forms import mean_trip_s, paused_frac
from model.movement.paths import MOST_ROWS, Field, Movement, Path, Row, length_mm
from model.movement.stream import Stream, of_node
from model.units import MM_PER_M, NS_PER_S, ns_to_seconds

#: The slowest and the fastest there may be: a millimetre, and about the speed of sound.
LEAST_MPS, MOST_MPS = 0.001, 340.0


@dataclass(frozen=True, kw_only=True)
class RandomWaypoint:
    """The model's settings; speeds are drawn uniformly between both, each pause is as long."""

    field: Field
    min_speed_mps: float
    max_speed_mps: float
    pause_ns: int
    start: Start
    model: Literal["random-waypoint"] = "random-waypoint"

    def __post_init__(self) -> None:
        if not self.min_speed_mps >= LEAST_MPS:
            raise StudyError(
                "too slow a minimum speed", wanted=f"at least {LEAST_MPS:g} m/s",
                got=f"{self.min_speed_mps:g} m/s", hint=WHY_NOT_0,
            )  # fmt: skip
        if not self.min_speed_mps <= self.max_speed_mps <= MOST_MPS:
            raise StudyError(
                "no such maximum speed",
                wanted=f"from {self.min_speed_mps:g} m/s, the minimum, to {MOST_MPS:g} m/s",
                got=f"{self.max_speed_mps:g} m/s",
            )
        if self.pause_ns < 0:
            raise StudyError("negative pause", wanted="0 ns or more", got=f"{self.pause_ns} ns")


WHY_NOT_0 = (
    "with a minimum of 0 there is no steady state: nodes get slower for as long as they move"
)


def movement(model: RandomWaypoint, *, nodes: int, seed: int, until_ns: int) -> Movement:
    """Return the paths of so many nodes, each to its first waypoint at or after a time.

    Raises:
        StudyError: that would be more rows than a movement may have.
    """
    check_rows(model, nodes, ns_to_seconds(until_ns))
    return Movement(tuple(_path(model, of_node(seed, node), until_ns) for node in range(nodes)))


def check_rows(model: RandomWaypoint, nodes: int, until_s: float) -> None:
    """Raise :class:`StudyError` if so many nodes would make more rows than a movement may have."""
    trip_s = mean_trip_s(model.field, model.min_speed_mps, model.max_speed_mps)
    # A row at the end of a trip and one at the end of a pause; one trip more is under way.
    trips = until_s / (trip_s + ns_to_seconds(model.pause_ns)) + 1
    if nodes * trips * 2 > MOST_ROWS:
        raise StudyError(
            "nodes would make too many trips", wanted=f"at most {MOST_ROWS // 2} in all",
            got=f"about {nodes * trips:.3g}", hint="a larger field, slower nodes, or longer pauses",
        )  # fmt: skip


def _path(model: RandomWaypoint, drawn: Stream, until_ns: int) -> Path:
    if model.start == "steady-state":
        rows, pause_ns = _steady(model, drawn)
    else:
        rows, pause_ns = [_somewhere(model.field, drawn, 0)], model.pause_ns
    while rows[-1].t_ns < until_ns:
        here = rows[-1]
        if pause_ns:
            here = Row(here.t_ns + pause_ns, here.x_mm, here.y_mm)
            rows.append(here)
        there = _somewhere(model.field, drawn, 0)
        while length_mm(here, there) == 0:
            there = _somewhere(model.field, drawn, 0)
        speed_mps = _between(model.min_speed_mps, model.max_speed_mps, drawn.uniform())
        rows.append(_reached(here, there, speed_mps))
        pause_ns = model.pause_ns
    return Path(tuple(rows))


def _steady(model: RandomWaypoint, drawn: Stream) -> tuple[list[Row], int]:
    """Return a node's first rows in the steady state, and how long it pauses behind the last."""
    share = paused_frac(
        model.field, model.min_speed_mps, model.max_speed_mps, ns_to_seconds(model.pause_ns)
    )
    if drawn.uniform() < share:
        # A pause is met at a uniform moment of it; where, waypoints are drawn uniformly.
        return [_somewhere(model.field, drawn, 0)], round(drawn.uniform() * model.pause_ns)
    while True:  # a trip is met the likelier the longer it is
        origin, there = (_somewhere(model.field, drawn, 0) for _ in range(2))
        if drawn.uniform() * model.field.diagonal_mm < length_mm(origin, there):
            break
    part = drawn.uniform()
    here = Row(
        0,
        round(_between(origin.x_mm, there.x_mm, part)),
        round(_between(origin.y_mm, there.y_mm, part)),
    )
    speed_mps = steady_speed_mps(model.min_speed_mps, model.max_speed_mps, drawn)
    if length_mm(here, there) == 0:
        return [here], model.pause_ns
    return [here, _reached(here, there, speed_mps)], model.pause_ns


def steady_speed_mps(min_speed_mps: float, max_speed_mps: float, drawn: Stream) -> float:
    """Return a moving node's speed in the steady state: its density falls as 1 / speed.

    Octaves above the minimum are equally likely then. One is drawn, a speed in it uniformly, and
    kept with the chance that its density has beside that of the octave's beginning.
    """
    if min_speed_mps == max_speed_mps:
        return min_speed_mps
    octaves = 1
    while min_speed_mps * (1 << octaves) < max_speed_mps:
        octaves += 1
    while True:
        beginning_mps = min_speed_mps * (1 << math.floor(drawn.uniform() * octaves))
        speed_mps = beginning_mps * (1 + drawn.uniform())
        if drawn.uniform() * speed_mps < beginning_mps and speed_mps <= max_speed_mps:
            return speed_mps


def _somewhere(field: Field, drawn: Stream, t_ns: int) -> Row:
    return Row(t_ns, drawn.whole(field.width_mm), drawn.whole(field.height_mm))


def _between(low: float, high: float, part: float) -> float:
    return low + part * (high - low)


def _reached(here: Row, there: Row, speed_mps: float) -> Row:
    """Return when and where a trip ends."""
    took_ns = round(length_mm(here, there) / (speed_mps * MM_PER_M) * NS_PER_S)
    return Row(here.t_ns + max(took_ns, 1), there.x_mm, there.y_mm)
