"""The movement of a network's nodes, as its settings and a seed give it. Pure.

Standard library only, because the lab image reads it too.
"""

from __future__ import annotations

from model.ad_hoc import AdHoc
from model.movement import random_waypoint, stationary
from model.movement.paths import Field, Movement
from model.movement.random_waypoint import RandomWaypoint
from model.movement.stationary import Stationary
from model.units import seconds_to_ns

#: Nodes of the first pair.
FIRST_ENDS = 2


def movement(network: AdHoc, *, seed: int, until_s: float) -> Movement:
    """Return where all nodes are from time 0 until ``until_s``, or later; not of a trace.

    Raises:
        StudyError: nodes would make more trips than a movement may have.
        ValueError: nodes follow a file, whose movement is kept beside (model.movement.kept).
    """
    mobility = network.mobility
    if mobility.model == "trace":
        raise ValueError("a seed does not draw the movement of a trace")
    field = Field(width_mm=mobility.width_mm, height_mm=mobility.height_mm)
    still = stationary.movement(Stationary(field=field), nodes=network.nodes, seed=seed)
    if mobility.model == "stationary":
        return still
    moving = random_waypoint.movement(
        RandomWaypoint(
            field=field, min_speed_mps=mobility.min_speed_mps,
            max_speed_mps=mobility.max_speed_mps, pause_ns=seconds_to_ns(mobility.pause_s),
            start=mobility.start,
        ),
        nodes=network.nodes, seed=seed, until_ns=seconds_to_ns(until_s),
    )  # fmt: skip
    if mobility.ends == "move":
        return moving
    return Movement((*still.paths[:FIRST_ENDS], *moving.paths[FIRST_ENDS:]))
