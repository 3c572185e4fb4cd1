"""Two paths: two dumbbells between the same hosts, which have an address on each.

          +-- r1 ==== bottleneck ===== r2 --+
    src1 -+                                 +- dst1
          +-- r3 ==== bottleneck2 ==== r4 --+

A packet goes by the path that its addresses are of: each host has a routing table for every
address of its own, and a route to the other hosts' addresses of the second path. No router has a
way from one path to the other. With stock Mininet, from any folder, and with nothing else of this
project than this one:

    sudo mn --custom mininet_topos/two_paths.py --topo two_paths,pairs=2,bottleneck2_owd_s=0.25
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if __name__ == "builtins":  # mn runs the text of this file, which then has no name and no place
    sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

from mininet_topos import options
from mininet_topos.layout import SUBNETS, EndHost, Layout, NodeRole, Wire, between_routers, to_host
from mininet_topos.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from model.links import FurtherPath, Network

#: By path: its routers, the second number of the addresses at each, and its bottleneck's name.
PATHS = (("r1", "r2", 1, 2, "bottleneck"), ("r3", "r4", 3, 4, "bottleneck2"))
ROUTERS = ("r1", "r2", "r3", "r4")


def lay_out(network: Network, seed: int) -> Layout:
    """Lay out two paths; each loss model gets its own seed derived from ``seed``.

    Raises:
        ValueError: there is another number of paths, or more hosts than addresses.
    """
    most = max(network.sources, network.destinations)
    if len(network.further_paths) != 1 or most > SUBNETS:
        raise ValueError(f"two paths of at most {SUBNETS} hosts, got {most}")
    links: tuple[Network | FurtherPath, ...] = (network, *network.further_paths)
    wires = [
        between_routers(i, name, near, far, f"10.0.{i}", path.bottleneck, seed)
        for i, (path, (near, far, _, _, name)) in enumerate(zip(links, PATHS, strict=True))
    ]
    sources = tuple(f"src{i + 1}" for i in range(network.sources))
    destinations = tuple(f"dst{i + 1}" for i in range(network.destinations))
    for port, path in enumerate(links):
        wires += _access(port, sources, "source", path, len(wires), seed)
        wires += _access(port, destinations, "destination", path, len(wires), seed)
    return Layout(
        sources=sources,
        routers=ROUTERS,
        destinations=destinations,
        wires=tuple(wires),
        routes=_routes(wires, sources, destinations),
        policies=_policies(wires, (*sources, *destinations)),
    )


def _access(
    port: int, names: Sequence[str], role: NodeRole, path: Network | FurtherPath, first: int,
    seed: int,
) -> list[Wire]:  # fmt: skip
    """Return the access links of all hosts of a side on one path."""
    near, far, of_near, of_far, _ = PATHS[port]
    router, second = (near, of_near) if role == "source" else (far, of_far)
    access = path.source_access if role == "source" else path.destination_access
    return [
        to_host(
            first + i,
            EndHost(name=name, role=role, router=router, access=access, port=port),
            f"10.{second}.{i + 1}",
            seed,
        )
        for i, name in enumerate(names)
    ]


def _routes(
    wires: Sequence[Wire], sources: Sequence[str], destinations: Sequence[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return routers' routes to the other end of their path, and hosts' to both of theirs."""
    routes: dict[str, tuple[tuple[str, str], ...]] = {}
    for wire, (near, far, of_near, of_far, _) in zip(wires, PATHS, strict=False):
        left, right = wire.ends
        routes[near] = ((f"10.{of_far}.0.0/16", right.address),)
        routes[far] = ((f"10.{of_near}.0.0/16", left.address),)
    _, _, to_sources, to_destinations, _ = PATHS[1]
    for names, others in ((sources, to_destinations), (destinations, to_sources)):
        for name in names:
            first, second = _next_hops(wires, name)
            routes[name] = (("default", first), (f"10.{others}.0.0/16", second))
    return routes


def _next_hops(wires: Sequence[Wire], host: str) -> list[str]:
    return [wire.ends[0].address for wire in wires if wire.ends[1].node == host]


def _policies(
    wires: Sequence[Wire], hosts: Sequence[str]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return by which next hop packets from each address leave."""
    return {
        host: tuple(
            (wire.ends[1].address, wire.ends[0].address)
            for wire in wires
            if wire.ends[1].node == host
        )
        for host in hosts
    }


def read_options(**given: Any) -> tuple[Network, int]:
    """Return the network and seed of mn's options: those of the dumbbell, and the second path's."""
    asked = options.Options(given)
    sources = asked.count("pairs", 1, most=SUBNETS)
    second = SimpleNamespace(
        source_access=asked.link(("source_access2_", *options.SOURCE_ACCESS), options.ACCESS),
        bottleneck=asked.link(("bottleneck2_", "bottleneck_", ""), options.BOTTLENECK),
        destination_access=asked.link(
            ("destination_access2_", *options.DESTINATION_ACCESS), options.ACCESS
        ),
    )
    network = SimpleNamespace(
        topology="two-paths",
        sources=sources,
        destinations=asked.count("destinations", sources, most=SUBNETS),
        source_access=asked.link(options.SOURCE_ACCESS, options.ACCESS),
        bottleneck=asked.link(("bottleneck_", ""), options.BOTTLENECK),
        destination_access=asked.link(options.DESTINATION_ACCESS, options.ACCESS),
        further_paths=(second,),
    )
    seed = asked.seed()
    asked.done()
    return cast("Network", network), seed


class TwoPaths(Topology):
    """Two paths of a cell's network and seed, or of mn's options (:mod:`mininet_topos.options`).

    Options besides those of links: ``pairs``, ``destinations`` (1: all sources share it), ``seed``.
    The second path's links are ``bottleneck2``, ``source_access2`` and ``destination_access2``;
    what is not said of them is as the first path's.
    """

    @classmethod
    def lay_out(cls, network: Network | None = None, seed: int = 1, **given: Any) -> Layout:
        """Return the layout of a network, or of options."""
        if network is None:
            network, seed = read_options(seed=seed, **given)
        return lay_out(network, seed)


topos = {"two_paths": TwoPaths}
