"""Nodes that stay where they are, placed uniformly in the field.

Standard library only. Invariant: where a node is depends on the field, the seed and its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.movement.paths import Field, Movement, Path, Row
from model.movement.stream import of_node


@dataclass(frozen=True, kw_only=True)
class Stationary:
    """The field that nodes are placed in."""

    field: Field
    model: Literal["stationary"] = "stationary"


def movement(model: Stationary, *, nodes: int, seed: int) -> Movement:
    """Return paths of one row each."""
    paths = []
    for node in range(nodes):
        drawn = of_node(seed, node)
        row = Row(0, drawn.whole(model.field.width_mm), drawn.whole(model.field.height_mm))
        paths.append(Path((row,)))
    return Movement(tuple(paths))
