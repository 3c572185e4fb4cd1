"""What a picture of a mobile network shows, and the facts that stand below it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from model import units
from model.movement import measures
from model.movement.closeness import links
from model.movement.paths import Field, Movement
from model.units import MM_PER_M
from reports.store.route_table import Routes

Fact = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Nodes that move in a field, who hears whom, and the route between two of them over time.

    ``routes`` are a time and the nodes from the first end to the last, none while there is no
    route; a route is there until the next. ``way`` says whose they are, ``others`` are further
    ways by what they are called; ``no_routes`` says why there are none. ``names`` are the nodes',
    or none: then numbers from 0.
    """

    movement: Movement
    field: Field
    range_mm: int
    until_ns: int
    ends: tuple[int, int]
    routes: Routes = ()
    names: tuple[str, ...] = ()
    way: str = "between the large marks"
    others: tuple[tuple[str, Routes], ...] = ()
    no_routes: str = ""

    def __post_init__(self) -> None:
        if self.names and len(self.names) != self.movement.nodes:
            raise ValueError(f"{len(self.names)} names for {self.movement.nodes} nodes")
        ways = (self.routes, *(routes for _, routes in self.others))
        every = {*self.ends, *(node for way in ways for _, route in way for node in route)}
        if not every <= set(range(self.movement.nodes)):
            raise ValueError(f"no such node: {max(every)}")
        for way in ways:
            times = [t_ns for t_ns, _ in way]
            if times != sorted(times):
                raise ValueError("routes whose times descend")

    def name(self, node: int) -> str:
        """Return what a node is called."""
        return self.names[node] if self.names else str(node)

    def route_at(self, t_ns: int) -> tuple[int, ...]:
        """Return the route at a time; empty if there is none."""
        return next((route for at_ns, route in reversed(self.routes) if at_ns <= t_ns), ())

    def pairs_at(self, t_ns: int) -> list[tuple[int, int]]:
        """Return who is in range of whom at a time."""
        return [
            (one, other)
            for one in range(self.movement.nodes)
            for other in range(one + 1, self.movement.nodes)
            if self.movement.distance_mm(one, other, t_ns) <= self.range_mm
        ]


def facts(scene: Scene) -> list[Fact]:
    """Return what there is to say of the movement and its links, over the whole run."""
    found = links(scene.movement, scene.range_mm, scene.until_ns)
    speeds = measures.speeds(scene.movement, 0, scene.until_ns)
    hops = measures.hops_over_time(found, *scene.ends)
    mean_hops = measures.mean_hops(hops, scene.until_ns)
    width_m, height_m = scene.field.width_mm / MM_PER_M, scene.field.height_mm / MM_PER_M
    ends = " and ".join(scene.name(node) for node in scene.ends)
    joined = measures.connected_frac(hops, scene.until_ns)
    return [
        ("Nodes", str(scene.movement.nodes)),
        ("Field", f"{width_m:g} m \N{MULTIPLICATION SIGN} {height_m:g} m"),
        ("Range", units.format_length(scene.range_mm / MM_PER_M)),
        ("Mean speed, pauses included", units.format_speed(speeds.mean_mps, digits=3)),
        ("Share of time paused", units.format_frac(speeds.paused_frac, digits=3)),
        ("Mean number of nodes in range", f"{measures.mean_neighbours(found):.3g}"),
        ("Links that begin or end", f"{measures.link_changes_per_s(found):.3g} per second"),
        (f"Share of time that links join {ends}", units.format_frac(joined, digits=4)),
        ("Fewest hops between them, mean", "none" if mean_hops is None else f"{mean_hops:.3g}"),
    ]
