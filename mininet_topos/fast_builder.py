"""Build a topology in the virtual lab at the cost of a few processes: descriptors and batches.

The other builder is stock Mininet, ``Mininet(topo)`` or ``mn``, which starts a shell for each node
and several processes for each link (:mod:`mininet_topos.mininet_builder`). Both read the same
topology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mininet_topos import netns, offloads
from mininet_topos.batch_lines import ip_lines, link_lines, number_lines, tc_lines
from mininet_topos.layout import Layout
from mininet_topos.netns import Journal, Namespace
from mininet_topos.topology import Topology
from model.cell import Flow

IP_BATCH, TC_BATCH = ("ip", "-batch", "-"), ("tc", "-batch", "-")


def build(
    topology: Topology,
    flows: Sequence[Flow],
    route_options: Mapping[str, Mapping[str, str]],
    journal: Journal,
) -> tuple[dict[str, Namespace], dict[str, list[dict[str, Any]]]]:
    """Make the nodes and links of a topology and set everything up.

    Returns the namespaces, and what each host answered when asked for its default route.

    Raises:
        RunError: a command failed; nothing is left to undo but the lab itself.
    """
    laid_out = topology.layout()
    spaces = netns.create(laid_out.node_names(), journal)
    for name in laid_out.routers[1:]:
        spaces[name].run(IP_BATCH, number_lines(laid_out, name))
    for name in laid_out.routers:
        spaces[name].run(IP_BATCH, link_lines(laid_out, name))
    without_offloads(laid_out, spaces)
    routes = addressed(laid_out, route_options, spaces)
    shaped(laid_out, flows, spaces)
    return spaces, routes


def without_offloads(laid_out: Layout, spaces: Mapping[str, Namespace]) -> None:
    """Switch off what merges and splits packets, on all ends of links that are here."""
    for pair in laid_out.links:
        for end in pair:
            if end.node in spaces:
                offloads.switch_off(spaces[end.node], end.device)


def addressed(
    laid_out: Layout,
    route_options: Mapping[str, Mapping[str, str]],
    spaces: Mapping[str, Namespace],
) -> dict[str, list[dict[str, Any]]]:
    """Give nodes their addresses, neighbours and routes; return what each host says of its own."""
    routes = {}
    for name, space in spaces.items():
        lines = ip_lines(laid_out, name, route_options.get(name, {}))
        if name in laid_out.routers:
            space.write_sysctl("net.ipv4.ip_forward", "1")
            space.run(IP_BATCH, lines)
        else:
            (routes[name],) = space.json_batch(("ip", "-j", "-d", "-batch", "-"), lines)
    return routes


def shaped(
    laid_out: Layout,
    flows: Sequence[Flow],
    spaces: Mapping[str, Namespace],
    redirected: str = "all",
) -> None:
    """Have routers shape, delay, lose and count; see :func:`tc_lines`."""
    for name in laid_out.routers:
        if name in spaces:
            spaces[name].run(TC_BATCH, tc_lines(laid_out, flows, name, redirected))
