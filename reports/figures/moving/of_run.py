"""The movement of a run's nodes as a part of its page; nothing for a network of links. Pure.

The movement is drawn again from the cell's settings and its seed, as its lab did, unless nodes
follow a file: then it is what the run keeps of that.
"""

from __future__ import annotations

from markupsafe import Markup

from model.cell import Cell, Flow
from model.movement.of_network import movement
from model.movement.paths import Field
from model.units import metres_to_mm, seconds_to_ns
from reports.figures.moving.animation import animation
from reports.figures.moving.scene import Scene
from reports.measures.quantities import point_words
from reports.store.route_table import read_routes
from reports.store.run import Run

#: Ends of the first pair, whose least number of hops is told.
ENDS = (0, 1)


#: Why there are none: of other daemons, and of runs whose tables are older.
NO_ROUTES = "this run has no table of them, which its routing daemons' events would give"


def _ways(cell: Cell) -> list[tuple[Flow, str]]:
    """Return all flows' ways, those of the first pair first, as they are between the ends."""
    flows = sorted(cell.flows, key=lambda flow: (flow.source, flow.destination) != (0, 0))
    return [(flow, way) for flow in flows for way in ("data", "ack")]


def _way(flow: Flow, way: str) -> str:
    return f"{flow.id}, data" if way == "data" else f"{flow.id}, back"


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
    routes = read_routes(found.evidence.routes, cell) if found.evidence.routes else {}
    shown = [(_way(flow, way), routes.get((flow.id, way), ())) for flow, way in _ways(cell)]
    scene = Scene(
        movement=run.traced or movement(network, seed=cell.seed, until_s=cell.duration_s),
        field=Field(width_mm=mobility.width_mm, height_mm=mobility.height_mm),
        range_mm=metres_to_mm(network.radio.range_m),
        until_ns=seconds_to_ns(cell.duration_s),
        ends=ENDS,
        names=network.node_names(),
        routes=shown[0][1] if routes else (),
        way=shown[0][0] if shown else "",
        others=tuple(shown[1:]) if routes else (),
        no_routes="" if routes else NO_ROUTES,
    )
    point = point_words(found.plan.point, run.study.parameters)
    followed = f", file {mobility.trace_sha256[:12]} (SHA-256)" if mobility.trace_sha256 else ""
    title = f"Nodes and who is in range of whom: {point}, seed {cell.seed}{followed}"
    return animation(scene, name, title)
