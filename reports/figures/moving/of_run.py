"""The movement of a run's nodes as a part of its page; nothing for a network of links. Pure.

The movement is drawn again from the cell's settings and its seed, as its lab did.
"""

from __future__ import annotations

from markupsafe import Markup

from model.movement.of_network import movement
from model.movement.paths import Field
from model.units import metres_to_mm, seconds_to_ns
from reports.figures.moving.animation import animation
from reports.figures.moving.scene import Scene
from reports.measures.quantities import point_words
from reports.store.run import Run

#: Ends of the first pair, whose least number of hops is told.
ENDS = (0, 1)


def moving_nodes(run: Run, name: str) -> Markup | None:
    """Return the picture of the first finished cell whose nodes move, or stand.

    Args:
        run: what is shown.
        name: the part's id.
    """
    found = next((cell for cell in run.measured() if cell.cell.ad_hoc), None)
    network = found.cell.ad_hoc if found else None
    if found is None or network is None:
        return None
    cell, mobility = found.cell, network.mobility
    scene = Scene(
        movement=movement(network, seed=cell.seed, until_s=cell.duration_s),
        field=Field(width_mm=mobility.width_mm, height_mm=mobility.height_mm),
        range_mm=metres_to_mm(network.radio.range_m),
        until_ns=seconds_to_ns(cell.duration_s),
        ends=ENDS,
        names=network.node_names(),
    )
    point = point_words(found.plan.point, run.study.parameters)
    return animation(scene, name, f"Nodes and who is in range of whom: {point}, seed {cell.seed}")
