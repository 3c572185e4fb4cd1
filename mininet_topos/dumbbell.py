"""Build a dumbbell: sources, two routers, destinations; shaping and loss only in the routers.

    src1 --+                                   +-- dst1
    src2 --+-- r1 ==== bottleneck ==== r2 -----+-- dst2
    ...  --+                                   +-- ...

Every direction of every link is a shaper and a channel (see :mod:`mininet_topos.channel`), and
none of them sits on an end host, where a full qdisc would push back on the sender's socket:

- bottleneck, towards r2: shaper on r1's egress, channel on an ifb at r2's ingress, so that
  packets can be counted and captured between the two; towards r1 the mirror image;
- access links, leaving a host: channel, then shaper, on an ifb at the router's ingress;
- access links, towards a host: channel, then shaper, on the router's egress.

On access links propagation comes before serialisation; in a lossless tandem the order of the two
does not change when a packet arrives. Addresses and neighbours are static, so no ARP packet ever
meets the loss model.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from mininet_topos import netns, offloads
from mininet_topos.channel import Role, Stage
from mininet_topos.netns import Journal, Namespace
from model.cell import Direction, Flow, Network
from model.draws import channel_seed, seed_for

ROUTERS = ("r1", "r2")
#: Hosts of one side whose addresses share their second number.
SUBNETS = 250


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
class Plan:
    """All names, addresses and stages of a dumbbell, before anything is built. Pure."""

    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    links: tuple[tuple[Interface, Interface], ...]
    stages: tuple[Stage, ...]
    redirects: tuple[tuple[str, str, str], ...]  # node, device, ifb its ingress goes to

    def interface(self, node: str) -> Interface:
        """Return a host's only interface."""
        return next(i for pair in self.links for i in pair if i.node == node)

    def node_names(self) -> tuple[str, ...]:
        """Return all nodes in the order in which they are started."""
        return (*self.sources, *ROUTERS, *self.destinations)


@dataclass(frozen=True, kw_only=True)
class Counter:
    """One per-flow packet counter: a flower filter on a device, told by its preference."""

    name: str  # queue_offered, loss_offered or loss_passed
    flow: str
    node: str
    device: str
    hook: str  # ingress or egress
    pref: int


def _link(
    index: int, a: str, b: str, subnet: str, devices: tuple[str, str]
) -> tuple[Interface, Interface]:
    addresses = (f"{subnet}.1", f"{subnet}.2")
    macs = tuple(f"02:00:00:{index >> 8:02x}:{index & 255:02x}:{end:02x}" for end in (1, 2))
    first = Interface(
        node=a, device=devices[0], address=addresses[0], mac=macs[0],
        peer_address=addresses[1], peer_mac=macs[1],
    )  # fmt: skip
    second = Interface(
        node=b, device=devices[1], address=addresses[1], mac=macs[1],
        peer_address=addresses[0], peer_mac=macs[0],
    )  # fmt: skip
    return first, second


def _pair(node: str, device: str, link: Direction, seed: int) -> tuple[Stage, Stage]:
    """Channel, then shaper, on one device."""
    channel = _stage(node, device, "root", "1:", "channel", link, seed)
    return (
        dataclasses.replace(channel, feeds_shaper=True),
        _stage(node, device, "1:1", "10:", "shaper", link, 0),
    )


def _stage(
    node: str, device: str, parent: str, handle: str, role: Role, link: Direction, seed: int
) -> Stage:
    return Stage(
        node=node, device=device, parent=parent, handle=handle, role=role,
        direction=link, seed=seed,
    )  # fmt: skip


def plan(network: Network, seed: int) -> Plan:
    """Lay out a dumbbell; each loss model gets its own seed derived from ``seed``."""
    sources = tuple(f"src{i + 1}" for i in range(network.sources))
    destinations = tuple(f"dst{i + 1}" for i in range(network.destinations))
    links = [_link(0, "r1", "r2", "10.0.0", ("r1-bottleneck", "r2-bottleneck"))]
    bottleneck = network.bottleneck
    stages = [
        _stage("r1", "r1-bottleneck", "root", "10:", "shaper", bottleneck.forward, 0),
        _stage(
            "r2",
            "ifb-bottleneck",
            "root",
            "1:",
            "channel",
            bottleneck.forward,
            channel_seed(seed, "forward"),
        ),
        _stage("r2", "r2-bottleneck", "root", "10:", "shaper", bottleneck.reverse, 0),
        _stage(
            "r1",
            "ifb-bottleneck",
            "root",
            "1:",
            "channel",
            bottleneck.reverse,
            channel_seed(seed, "reverse"),
        ),
    ]
    redirects = [
        ("r1", "r1-bottleneck", "ifb-bottleneck"),
        ("r2", "r2-bottleneck", "ifb-bottleneck"),
    ]
    for offset, (router, hosts) in enumerate((("r1", sources), ("r2", destinations))):
        access = network.source_access if router == "r1" else network.destination_access
        # "forward" is the data direction: from a source, but towards a destination.
        outward, inward = (
            (access.forward, access.reverse) if router == "r1" else (access.reverse, access.forward)
        )
        for i, host in enumerate(hosts):
            device = f"{router}-{host}"
            subnet = f"10.{offset + 1 + 2 * (i // SUBNETS)}.{i % SUBNETS + 1}"
            links.append(_link(len(links), router, host, subnet, (device, f"{host}-eth0")))
            stages += _pair(router, f"ifb-{host}", outward, seed_for(seed, f"from {host}"))
            stages += _pair(router, device, inward, seed_for(seed, f"to {host}"))
            redirects.append((router, device, f"ifb-{host}"))
    return Plan(
        sources=sources, destinations=destinations, links=tuple(links),
        stages=tuple(stages), redirects=tuple(redirects),
    )  # fmt: skip


def counters(laid_out: Plan, flows: tuple[Flow, ...]) -> tuple[Counter, ...]:
    """Return the data-direction counters of each flow: before the queue, before and after loss."""
    made = []
    for i, flow in enumerate(flows):
        exit_device = f"r2-{laid_out.destinations[flow.destination]}"
        places = (
            ("queue_offered", "r1", "r1-bottleneck", "egress"),
            ("loss_offered", "r2", "r2-bottleneck", "ingress"),
            ("loss_passed", "r2", exit_device, "egress"),
        )
        for name, node, device, hook in places:
            made.append(
                Counter(name=name, flow=flow.id, node=node, device=device, hook=hook, pref=100 + i)
            )
    return tuple(made)


def tc_lines(laid_out: Plan, flows: tuple[Flow, ...], node: str) -> str:
    """Return one node's ``tc -batch`` input: stages, redirects to ifbs, per-flow counters."""
    lines = [stage.command() for stage in laid_out.stages if stage.node == node]
    target = {(n, d): ifb for n, d, ifb in laid_out.redirects}
    devices = [i.device for pair in laid_out.links for i in pair if i.node == node]
    if not lines:
        return ""
    lines += [f"qdisc add dev {device} clsact\n" for device in devices]
    ports = {flow.id: flow for flow in flows}
    for counter in counters(laid_out, flows):
        if counter.node != node:
            continue
        flow = ports[counter.flow]
        action = (
            f"mirred egress redirect dev {target[node, counter.device]}"
            if counter.hook == "ingress"
            else "ok"
        )
        lines.append(
            f"filter add dev {counter.device} {counter.hook} pref {counter.pref} protocol ip"
            f" flower ip_proto {flow.protocol} dst_port {flow.port} action {action}\n"
        )
    for device in devices:
        lines.append(
            f"filter add dev {device} ingress pref 65000 protocol all"
            f" matchall action mirred egress redirect dev {target[node, device]}\n"
        )
    return "".join(lines)


def ip_lines(laid_out: Plan, node: str, route_options: dict[str, str]) -> str:
    """Return one node's ``ip -batch`` input: ifbs, addresses, neighbours, routes.

    A host's ends with the question what its route is now.
    """
    lines = ["link set dev lo up\n"]
    for where, _, ifb in laid_out.redirects:
        if where == node:
            lines += [f"link add {ifb} type ifb\n", f"link set dev {ifb} up\n"]
    mine = [i for pair in laid_out.links for i in pair if i.node == node]
    for interface in mine:
        peer = f"{interface.peer_address} lladdr {interface.peer_mac}"
        lines += [
            f"address add {interface.address}/24 dev {interface.device}\n",
            f"link set dev {interface.device} up\n",
            f"neighbor add {peer} dev {interface.device} nud permanent\n",
        ]
    options = "".join(f" {name} {value}" for name, value in route_options.items())
    if node in ROUTERS:
        lines.append(f"route add default via {mine[0].peer_address}\n")
    else:
        lines.append(f"route add default via {mine[0].peer_address}{options}\n")
        lines.append("route show default\n")
    return "".join(lines)


def link_lines(laid_out: Plan, node: str) -> str:
    """Return ``ip -batch`` input that makes the links a router begins, down, with both ends."""
    return "".join(
        f"link add name {a.device} address {a.mac} type veth"
        f" peer name {b.device} address {b.mac} netns {b.node}\n"
        for a, b in laid_out.links
        if a.node == node
    )


def number_lines(laid_out: Plan, node: str) -> str:
    """Return ``ip -batch`` input that makes a router's next interface numbers its own.

    Every namespace numbers its interfaces from 1, and the kernel tells of a drop by interface
    number alone. A number that was used is not used again, so as many interfaces as the routers
    before have are made and removed.
    """
    before = ROUTERS[: ROUTERS.index(node)]
    ends = [i.device for pair in laid_out.links for i in pair if i.node in before]
    taken = [*ends, *(ifb for where, _, ifb in laid_out.redirects if where in before)]
    gaps = [f"gap{number}" for number in range(len(taken))]
    made = [f"link add {gap} type dummy\n" for gap in gaps]
    return "".join([*made, *(f"link del {gap}\n" for gap in gaps)])


def build(
    laid_out: Plan,
    flows: tuple[Flow, ...],
    route_options: dict[str, dict[str, str]],
    journal: Journal,
) -> tuple[dict[str, Namespace], dict[str, list[dict[str, Any]]]]:
    """Start the nodes and links with Mininet and set everything up.

    Returns the namespaces, and what each host answered when asked for its default route.

    Raises:
        RunError: a command failed; nothing is left to undo but the lab itself.
    """
    from mininet_topos.nodes import LabLink, LabNode  # needs mininet, which only a lab has

    spaces = netns.create(laid_out.node_names(), journal)
    for name in ROUTERS[1:]:
        spaces[name].run(["ip", "-batch", "-"], number_lines(laid_out, name))
    for name in ROUTERS:
        spaces[name].run(["ip", "-batch", "-"], link_lines(laid_out, name))
    nodes = {name: LabNode(space) for name, space in spaces.items()}
    for a, b in laid_out.links:
        LabLink(
            nodes[a.node], nodes[b.node], intfName1=a.device, intfName2=b.device,
            addr1=a.mac, addr2=b.mac, params1={"up": None}, params2={"up": None},
        )  # fmt: skip
    for a, b in laid_out.links:
        for end in (a, b):
            offloads.switch_off(spaces[end.node], end.device)
    routes = {}
    for name, space in spaces.items():
        lines = ip_lines(laid_out, name, route_options.get(name, {}))
        if name in ROUTERS:
            space.write_sysctl("net.ipv4.ip_forward", "1")
            space.run(["ip", "-batch", "-"], lines)
            space.run(["tc", "-batch", "-"], tc_lines(laid_out, flows, name))
        else:
            (routes[name],) = space.json_batch(["ip", "-j", "-d", "-batch", "-"], lines)
    return spaces, routes
