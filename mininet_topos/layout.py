"""What a topology consists of, before anything is built: nodes, wires, their stages, routes. Pure.

Every direction of every link is a shaper and a channel (see :mod:`mininet_topos.channel`), and
none of them sits on an end host, where a full qdisc would push back on the sender's socket:

- between routers: shaper on the near router's egress, below it the queue if that is managed,
  channel on an ifb at the far one's ingress, so that packets can be counted and captured between
  the two;
- access links, leaving a host: channel, then shaper, on an ifb at the router's ingress;
- access links, towards a host: channel, then shaper, on the router's egress.

On access links propagation comes before serialisation; in a lossless tandem the order of the two
does not change when a packet arrives. Addresses and neighbours are static, so no ARP packet ever
meets a loss model. Standard library only, and of this project only :mod:`mininet_topos.channel`,
so that the folder ``mininet_topos/`` is all that ``mn --custom`` needs.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from mininet_topos.channel import Stage

if TYPE_CHECKING:
    from model.cell import Flow
    from model.links import Direction, Link

#: What a node is there for. Flows go from sources to destinations.
NodeRole = Literal["source", "router", "destination"]
#: Hosts of one router whose addresses share their second number.
SUBNETS = 250
#: Of flows' counters: the first one's preference, and how many flows have one of their own.
FIRST_PREFERENCE, MOST_PREFERENCES = 100, 20


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One end of a link."""

    node: str
    device: str
    address: str
    mac: str
    peer_address: str
    peer_mac: str


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A link: its ends, what it is called, and what each way does; ``out`` leaves the first end."""

    number: int
    name: str
    ends: tuple[Interface, Interface]
    out: Direction
    back: Direction
    stages: tuple[Stage, ...]
    redirects: tuple[tuple[str, str, str], ...]  # node, device, ifb its ingress goes to


@dataclass(frozen=True, kw_only=True)
class EndHost:
    """A host to be attached: its name, the router it is at, its access link, and which of its own.

    ``port`` 0 is a host's first interface.
    """

    name: str
    role: NodeRole
    router: str
    access: Link
    port: int = 0

    def place(self) -> str:
        """Return what its link is called; the seeds of its loss models are derived from it."""
        return self.name + (f" on path {self.port + 1}" if self.port else "")


@dataclass(frozen=True, kw_only=True)
class Counter:
    """One per-flow packet counter: a flower filter on a device, told by preference and handle.

    Filters of one preference are looked up in one table; those of several are tried in turn. The
    first of a preference has the handle 1, whether that is asked for or not.

    Its name is that of a point, ``queue_offered``, ``loss_offered`` or ``loss_passed``, with the
    number of the path behind it if that is not the first.
    """

    name: str
    flow: str
    node: str
    device: str
    hook: str  # ingress or egress
    pref: int
    handle: int = 1


@dataclass(frozen=True, kw_only=True)
class Layout:
    """All names, addresses and stages of a network, in the order in which they are made.

    Where hosts have several addresses, ``policies`` say by which next hop packets from each of
    them leave.
    """

    sources: tuple[str, ...]
    routers: tuple[str, ...]
    destinations: tuple[str, ...]
    wires: tuple[Wire, ...]
    routes: Mapping[str, tuple[tuple[str, str], ...]]  # by node: prefix, next hop
    #: By node: address that packets come from, next hop.
    policies: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @cached_property
    def links(self) -> tuple[tuple[Interface, Interface], ...]:
        """Both ends of every link."""
        return tuple(wire.ends for wire in self.wires)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """All qdiscs that shape, delay or lose."""
        return tuple(stage for wire in self.wires for stage in wire.stages)

    @cached_property
    def redirects(self) -> tuple[tuple[str, str, str], ...]:
        """Node and device, and the ifb that the device's ingress goes to."""
        return tuple(redirect for wire in self.wires for redirect in wire.redirects)

    def interface(self, node: str) -> Interface:
        """Return a host's first interface; most have no other."""
        return self.interfaces(node)[0]

    def interfaces(self, node: str) -> tuple[Interface, ...]:
        """Return a node's ends of links, in order."""
        return tuple(i for pair in self.links for i in pair if i.node == node)

    def devices(self, node: str) -> tuple[str, ...]:
        """Return the names of a node's ends of links, in order."""
        return tuple(i.device for i in self.interfaces(node))

    def node_names(self) -> tuple[str, ...]:
        """Return all nodes in the order in which they are started."""
        return (*self.sources, *self.routers, *self.destinations)

    @cached_property
    def neighbours(self) -> Mapping[str, tuple[tuple[Interface, Interface], ...]]:
        """Each node's links, from its own end to the other."""
        found: dict[str, list[tuple[Interface, Interface]]] = {n: [] for n in self.node_names()}
        for a, b in self.links:
            found[a.node].append((a, b))
            found[b.node].append((b, a))
        return {node: tuple(links) for node, links in found.items()}

    def all_crossed(self, start: str, end: str) -> list[list[tuple[Interface, Interface]]]:
        """Return the links a packet crosses on each path from host to host, the first path first.

        Raises:
            ValueError: no link leads there.
        """
        here, there = self.interfaces(start), self.interfaces(end)
        if min(len(here), len(there)) < 2:
            return [self.crossed(start, end)]
        return [self.crossed(start, end, port) for port in range(len(here))]

    def crossed(
        self, start: str, end: str, port: int | None = None
    ) -> list[tuple[Interface, Interface]]:
        """Return the links a packet crosses on its shortest way, each from its near to its far end.

        With ``port`` it leaves ``start`` by that one of its interfaces.

        Raises:
            ValueError: no link leads there.
        """
        ways: dict[str, list[tuple[Interface, Interface]]] = {start: []}
        todo = deque([start])
        while todo:
            node = todo.popleft()
            links = self.neighbours[node]
            for near, far in links if port is None or node != start else links[port : port + 1]:
                if far.node == end:
                    return [*ways[node], (near, far)]
                if far.node in self.routers and far.node not in ways:
                    ways[far.node] = [*ways[node], (near, far)]
                    todo.append(far.node)
        raise ValueError(f"no way from {start} to {end}")


def seed_for(seed: int, place: str) -> int:
    """Return the seed of one place's loss, as :func:`model.draws.seed_for` (a test compares)."""
    digest = hashlib.sha256(f"{seed} {place}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _ends(number: int, nodes: tuple[str, str], devices: tuple[str, str], subnet: str) -> tuple[
    Interface, Interface
]:  # fmt: skip
    addresses = (f"{subnet}.1", f"{subnet}.2")
    macs = tuple(f"02:00:00:{number >> 8:02x}:{number & 255:02x}:{end:02x}" for end in (1, 2))
    first, second = (
        Interface(
            node=nodes[i], device=devices[i], address=addresses[i], mac=macs[i],
            peer_address=addresses[1 - i], peer_mac=macs[1 - i],
        )
        for i in (0, 1)
    )  # fmt: skip
    return first, second


def between_routers(
    number: int, name: str, near: str, far: str, subnet: str, link: Link, seed: int
) -> Wire:
    """Return a link between two routers: ``forward`` is from the first to the second."""
    ifb = f"ifb-{name}"
    stages = []
    for here, there, way in ((near, far, "forward"), (far, near, "reverse")):
        direction: Direction = getattr(link, way)
        out = Stage(node=here, device=f"{here}-{name}", parent="root", handle="10:", role="shaper",
                    direction=direction, seed=0)  # fmt: skip
        stages.append(out)
        if direction.discipline.is_active:
            stages.append(dataclasses.replace(out, parent="10:1", handle="11:", role="aqm"))
        stages += [
            Stage(node=there, device=ifb, parent="root", handle="1:", role="channel",
                  direction=direction, seed=seed_for(seed, f"{name} {way}")),
        ]  # fmt: skip
    devices = (f"{near}-{name}", f"{far}-{name}")
    return Wire(
        number=number, name=name, ends=_ends(number, (near, far), devices, subnet),
        out=link.forward, back=link.reverse, stages=tuple(stages),
        redirects=tuple(
            (node, device, ifb) for node, device in zip((near, far), devices, strict=True)
        ),
    )  # fmt: skip


def to_host(number: int, host: EndHost, subnet: str, seed: int) -> Wire:
    """Return an access link; its ``forward`` leaves a source, but goes to a destination."""
    device, ifb, place = f"{host.router}-{host.name}", f"ifb-{host.name}", host.place()
    inward, outward = host.access.forward, host.access.reverse
    if host.role == "source":
        inward, outward = outward, inward
    ends = _ends(number, (host.router, host.name), (device, f"{host.name}-eth{host.port}"), subnet)
    return Wire(
        number=number, name=f"access link of {place}", ends=ends, out=inward, back=outward,
        stages=(
            *_channel_then_shaper(host, ifb, outward, seed_for(seed, f"from {place}")),
            *_channel_then_shaper(host, device, inward, seed_for(seed, f"to {place}")),
        ),
        redirects=((host.router, device, ifb),),
    )  # fmt: skip


def _channel_then_shaper(
    host: EndHost, device: str, direction: Direction, seed: int
) -> tuple[Stage, Stage]:
    return (
        Stage(node=host.router, device=device, parent="root", handle="1:", role="channel",
              direction=direction, seed=seed, feeds_shaper=True),
        Stage(node=host.router, device=device, parent="1:1", handle="10:", role="shaper",
              direction=direction, seed=0),
    )  # fmt: skip


def chain(between: Sequence[tuple[str, Link]], hosts: Sequence[EndHost], seed: int) -> Layout:
    """Lay out routers r1, r2, ... in a row, with named links between them and hosts at each.

    Each loss model gets its own seed derived from ``seed`` and the name of its place.
    """
    routers = tuple(f"r{i + 1}" for i in range(len(between) + 1))
    wires = []
    for i, (name, link) in enumerate(between):
        near, far = routers[i : i + 2]
        wires.append(between_routers(i, name, near, far, f"10.0.{i}", link, seed))
    subnets = dict.fromkeys(routers, 0)
    for router_number, router in enumerate(routers, 1):
        for i, host in enumerate(host for host in hosts if host.router == router):
            subnets[router] = i // SUBNETS + 1
            second = router_number + len(routers) * (i // SUBNETS)
            subnet = f"10.{second}.{i % SUBNETS + 1}"
            wires.append(to_host(len(wires), host, subnet, seed))
    return Layout(
        sources=tuple(host.name for host in hosts if host.role == "source"),
        routers=routers,
        destinations=tuple(host.name for host in hosts if host.role == "destination"),
        wires=tuple(wires),
        routes=_routes_of_chain(routers, wires, subnets),
    )


def _routes_of_chain(
    routers: Sequence[str], wires: Sequence[Wire], subnets: Mapping[str, int]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return hosts' default routes, and routers': by default to the right, the last to the left."""
    last = len(routers) - 1
    routes: dict[str, tuple[tuple[str, str], ...]] = {}
    for i, router in enumerate(routers):
        right = wires[i].ends[0].peer_address if i < last else ""
        left = wires[i - 1].ends[1].peer_address if i > 0 else ""
        found = [("default", right or left)]
        if left and right:
            found += [(f"10.0.{j}.0/24", left) for j in range(i - 1)]
            for j, behind in enumerate(routers[:i], 1):
                seconds = (j + len(routers) * k for k in range(subnets[behind]))
                found += [(f"10.{second}.0.0/16", left) for second in seconds]
        routes[router] = tuple(found)
    for wire in wires[last:]:
        routes[wire.ends[1].node] = (("default", wire.ends[0].address),)
    return routes


def counters(laid_out: Layout, flows: Sequence[Flow]) -> tuple[Counter, ...]:
    """Return the data-direction counters of each flow.

    On every path, at every link between routers that it crosses: before the queue, and between
    queue and loss; and once behind all of them. Those of many flows share a preference: a packet
    would have to be held against hundreds.
    """
    made = []
    for i, flow in enumerate(flows):
        own = len(flows) <= MOST_PREFERENCES
        pref, handle = (FIRST_PREFERENCE + i, 1) if own else (FIRST_PREFERENCE, i + 1)
        ends = laid_out.sources[flow.source], laid_out.destinations[flow.destination]
        for number, (_, *crossed, (exit_, _)) in enumerate(laid_out.all_crossed(*ends), 1):
            places = []
            for near, far in crossed:
                places.append(("queue_offered", near, "egress"))
                places.append(("loss_offered", far, "ingress"))
            places.append(("loss_passed", exit_, "egress"))
            for name, at, hook in places:
                made.append(
                    Counter(name=counter_name(name, number), flow=flow.id, node=at.node,
                            device=at.device, hook=hook, pref=pref, handle=handle)
                )  # fmt: skip
    return tuple(made)


def counter_name(point: str, path: int) -> str:
    """Return what a flow's counter at a point of a path is called; paths count from 1."""
    return point if path == 1 else f"{point}_{path}"
