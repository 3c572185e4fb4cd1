"""The lines that ``ip -batch`` and ``tc -batch`` build a layout from, node by node. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mininet_topos.layout import Layout, counters

if TYPE_CHECKING:
    from model.cell import Flow

#: Of the routing tables that packets from one address are looked up in.
FIRST_TABLE = 101


def tc_lines(laid_out: Layout, flows: Sequence[Flow], node: str, redirected: str = "all") -> str:
    """Return one node's ``tc -batch`` input: stages, redirects to ifbs, per-flow counters.

    Packets of the protocol ``redirected`` pass the channel; a switch's own must not, which it
    would draw losses for.
    """
    lines = [stage.command() for stage in laid_out.stages if stage.node == node]
    if not lines:
        return ""
    target = {(n, d): ifb for n, d, ifb in laid_out.redirects}
    devices = laid_out.devices(node)
    lines += [f"qdisc add dev {device} clsact\n" for device in devices]
    by_id = {flow.id: flow for flow in flows}
    for counter in counters(laid_out, flows):
        if counter.node != node:
            continue
        flow = by_id[counter.flow]
        action = (
            f"mirred egress redirect dev {target[node, counter.device]}"
            if counter.hook == "ingress"
            else "ok"
        )
        told = f"pref {counter.pref}" + (f" handle {counter.handle}" if counter.handle > 1 else "")
        lines.append(
            f"filter add dev {counter.device} {counter.hook} {told} protocol ip"
            f" flower ip_proto {flow.protocol} dst_port {flow.port} action {action}\n"
        )
    for device in devices:
        lines.append(
            f"filter add dev {device} ingress pref 65000 protocol {redirected}"
            f" matchall action mirred egress redirect dev {target[node, device]}\n"
        )
    return "".join(lines)


def ip_lines(laid_out: Layout, node: str, route_options: Mapping[str, str]) -> str:
    """Return one node's ``ip -batch`` input: ifbs, addresses, neighbours, routes.

    A host's routes have options, and it ends with the question what its route is now. Packets from
    each address of several have a table of their own.
    """
    lines = ["link set dev lo up\n"]
    for where, _, ifb in laid_out.redirects:
        if where == node:
            lines += [f"link add {ifb} type ifb\n", f"link set dev {ifb} up\n"]
    for interface in (i for pair in laid_out.links for i in pair if i.node == node):
        peer = f"{interface.peer_address} lladdr {interface.peer_mac}"
        lines += [
            f"address add {interface.address}/24 dev {interface.device}\n",
            f"link set dev {interface.device} up\n",
            f"neighbor add {peer} dev {interface.device} nud permanent\n",
        ]
    is_host = node not in laid_out.routers
    options = "".join(f" {name} {value}" for name, value in route_options.items() if is_host)
    lines += [f"route add {prefix} via {via}{options}\n" for prefix, via in laid_out.routes[node]]
    for table, (address, via) in enumerate(laid_out.policies.get(node, ()), FIRST_TABLE):
        lines += [
            f"route add default via {via} table {table}{options}\n",
            f"rule add from {address} table {table}\n",
        ]
    if is_host:
        lines.append("route show default\n")
    return "".join(lines)


def link_lines(laid_out: Layout, node: str) -> str:
    """Return ``ip -batch`` input that makes the links a router begins, down, with both ends."""
    return "".join(
        f"link add name {a.device} address {a.mac} type veth"
        f" peer name {b.device} address {b.mac} netns {b.node}\n"
        for a, b in laid_out.links
        if a.node == node
    )


def number_lines(laid_out: Layout, node: str) -> str:
    """Return ``ip -batch`` input that makes a router's next interface numbers its own.

    Every namespace numbers its interfaces from 1, and the kernel tells of a drop by interface
    number alone. A number that was used is not used again, so as many interfaces as the routers
    before have are made and removed.
    """
    before = laid_out.routers[: laid_out.routers.index(node)]
    ends = sum(len(laid_out.devices(router)) for router in before)
    ifbs = sum(where in before for where, _, _ in laid_out.redirects)
    gaps = [f"gap{number}" for number in range(ends + ifbs)]
    made = [f"link add {gap} type dummy\n" for gap in gaps]
    return "".join([*made, *(f"link del {gap}\n" for gap in gaps)])
