"""The topology that a cell's network names: its layout, and the Mininet topology of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mininet_topos.dumbbell import Dumbbell
from mininet_topos.two_paths import TwoPaths

if TYPE_CHECKING:
    from mininet_topos.layout import Layout
    from mininet_topos.topology import Topology
    from model.links import Network

#: By the name that studies use.
TOPOLOGIES: dict[str, type[Topology]] = {"dumbbell": Dumbbell, "two-paths": TwoPaths}


def lay_out(network: Network, seed: int) -> Layout:
    """Return the layout of a cell's network."""
    return TOPOLOGIES[network.topology].lay_out(network=network, seed=seed)


def topology(network: Network, seed: int) -> Topology:
    """Return a cell's network as a Mininet topology."""
    return TOPOLOGIES[network.topology](network=network, seed=seed)
