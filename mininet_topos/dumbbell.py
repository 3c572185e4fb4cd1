"""The dumbbell: sources, two routers with one bottleneck between them, destinations.

    src1 --+                                   +-- dst1
    src2 --+-- r1 ==== bottleneck ==== r2 -----+-- dst2
    ...  --+                                   +-- ...

With stock Mininet, from any folder, and with nothing else of this project than this one:

    sudo mn --custom mininet_topos/dumbbell.py --topo dumbbell,pairs=4,rate_bps=2000000,owd_s=0.25
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if __name__ == "builtins":  # mn runs the text of this file, which then has no name and no place
    sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

from mininet_topos import options
from mininet_topos.layout import EndHost, Layout, chain
from mininet_topos.topology import Topology

if TYPE_CHECKING:
    from model.links import Network


def lay_out(network: Network, seed: int) -> Layout:
    """Lay out a dumbbell; each loss model gets its own seed derived from ``seed``."""
    near = network.sources - len(network.far_accesses)
    sources = [
        EndHost(name=f"src{i}", role="source", router="r1", access=access)
        for i, access in enumerate([network.source_access] * near + [*network.far_accesses], 1)
    ]
    destinations = [
        EndHost(
            name=f"dst{i + 1}", role="destination", router="r2", access=network.destination_access
        )
        for i in range(network.destinations)
    ]
    return chain([("bottleneck", network.bottleneck)], [*sources, *destinations], seed)


def read_options(**given: Any) -> tuple[Network, int]:
    """Return the network and seed of mn's options: pairs, shared_destination, seed, and links'."""
    asked = options.Options(given)
    sources = asked.count("pairs", 1)
    network = SimpleNamespace(
        topology="dumbbell",
        sources=sources,
        destinations=asked.count("destinations", sources),
        source_access=asked.link(options.SOURCE_ACCESS, options.ACCESS),
        far_accesses=(),
        bottleneck=asked.link(("bottleneck_", ""), options.BOTTLENECK),
        destination_access=asked.link(options.DESTINATION_ACCESS, options.ACCESS),
    )
    seed = asked.seed()
    asked.done()
    return cast("Network", network), seed


class Dumbbell(Topology):
    """A dumbbell of a cell's network and seed, or of mn's options (:mod:`mininet_topos.options`).

    Options besides those of links: ``pairs``, ``destinations`` (1: all sources share it), ``seed``.
    """

    @classmethod
    def lay_out(cls, network: Network | None = None, seed: int = 1, **given: Any) -> Layout:
        """Return the layout of a network, or of options."""
        if network is None:
            network, seed = read_options(seed=seed, **given)
        return lay_out(network, seed)


topos = {"dumbbell": Dumbbell}
