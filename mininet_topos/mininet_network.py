"""Build a cell's network as stock Mininet does, ``Mininet(topo)``: where the kernel is a machine's.

The other builder is :mod:`mininet_topos.fast_builder`; both read the same topology, and a test
compares what they make.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mininet.net import Mininet

from mininet_topos import netns
from mininet_topos.mininet_builder import BuildError, Setup
from mininet_topos.netns import Journal, Namespace
from model.errors import RunError

if TYPE_CHECKING:
    from mininet_topos.topology import Topology
    from model.cell import Flow


def build(
    topology: Topology,
    flows: Sequence[Flow],
    route_options: Mapping[str, Mapping[str, str]],
    journal: Journal,
) -> tuple[dict[str, Namespace], dict[str, list[dict[str, Any]]]]:
    """Make a cell's network as stock Mininet, with what :func:`fast_builder.build` returns.

    Raises:
        RunError: a command failed; what there is ends with the calling process's namespaces.
    """
    laid_out = topology.layout()
    setup = Setup(laid_out=laid_out, flows=flows, route_options=route_options, journal=journal)
    for name in laid_out.node_names():
        topology.setNodeInfo(name, {**topology.nodeInfo(name), "setup": setup})
    Mininet.inited = True  # it would raise limits of the machine, for larger networks
    try:
        net = Mininet(topology, controller=None)
    except BuildError as error:
        raise RunError("stock Mininet cannot build the network", got=str(error)) from error
    home = os.open(netns.OWN_NAMESPACE, os.O_RDONLY)
    machines = {machine.name: machine for machine in net.hosts}
    spaces = {
        name: Namespace(
            name=name, handle=os.open(Path(f"/proc/{machines[name].pid}/ns/net"), os.O_RDONLY),
            home=home, journal=journal,
        )
        for name in laid_out.node_names()
    }  # fmt: skip
    hosts = (name for name in spaces if name not in laid_out.routers)
    return spaces, {name: machines[name].shown_routes for name in hosts}
