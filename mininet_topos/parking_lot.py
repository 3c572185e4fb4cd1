"""The parking lot: bottlenecks in a row, long pairs across them all, cross pairs across one each.

    src1 --+                  x1dst1, x2src1                     +-- dst1
    ...  --+-- r1 == bottleneck1 == r2 == bottleneck2 == r3 -----+-- ...
    x1src1 +                                                     +-- x2dst1

With stock Mininet, from any folder, and with nothing else of this project than this one:

    sudo mn --custom mininet_topos/parking_lot.py --topo parking_lot,bottlenecks=3,bottleneck2_rate_bps=1000000
"""  # noqa: E501  # a line to type

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "builtins":  # mn runs the text of this file, which then has no name and no place
    sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

from mininet_topos import options
from mininet_topos.layout import EndHost, Layout, chain
from mininet_topos.topology import Topology

if TYPE_CHECKING:
    from model.links import Link

#: What the longest names of devices leave room for (15 characters): r10-bottleneck9.
BOTTLENECKS_MAX = 9


@dataclass(frozen=True, kw_only=True)
class Row:
    """Bottlenecks from left to right, how many pairs cross them all, and how many each single one.

    ``forward`` is from left to right, the way that data goes.
    """

    bottlenecks: tuple[Link, ...]
    long_pairs: int
    cross_pairs: int
    source_access: Link
    destination_access: Link


def lay_out(row: Row, seed: int) -> Layout:
    """Lay out a parking lot; each loss model gets its own seed derived from ``seed``.

    Long pairs come first among sources and destinations, then those of each bottleneck in order.
    """
    last = f"r{len(row.bottlenecks) + 1}"
    pairs = [("", k, "r1", last) for k in range(1, row.long_pairs + 1)]
    for number in range(1, len(row.bottlenecks) + 1):
        near, far = f"r{number}", f"r{number + 1}"
        pairs += [(f"x{number}", k, near, far) for k in range(1, row.cross_pairs + 1)]
    sources = [
        EndHost(name=f"{prefix}src{k}", role="source", router=near, access=row.source_access)
        for prefix, k, near, _ in pairs
    ]
    destinations = [
        EndHost(
            name=f"{prefix}dst{k}", role="destination", router=far, access=row.destination_access
        )
        for prefix, k, _, far in pairs
    ]
    between = [(f"bottleneck{i}", link) for i, link in enumerate(row.bottlenecks, 1)]
    return chain(between, [*sources, *destinations], seed)


def read_options(**given: Any) -> tuple[Row, int]:
    """Return the row and the seed of mn's options."""
    asked = options.Options(given)
    count = asked.count("bottlenecks", 2, most=BOTTLENECKS_MAX)
    row = Row(
        bottlenecks=tuple(
            asked.link((f"bottleneck{i}_", "bottleneck_", ""), options.BOTTLENECK)
            for i in range(1, count + 1)
        ),
        long_pairs=asked.count("pairs", 1),
        cross_pairs=asked.count("cross_pairs", 1),
        source_access=asked.link(options.SOURCE_ACCESS, options.ACCESS),
        destination_access=asked.link(options.DESTINATION_ACCESS, options.ACCESS),
    )
    seed = asked.seed()
    asked.done()
    return row, seed


class ParkingLot(Topology):
    """A parking lot of a row and a seed, or of mn's options (:mod:`mininet_topos.options`).

    Options besides those of links: ``bottlenecks``, ``pairs`` (across all), ``cross_pairs`` (across
    each), ``seed``. The links are ``bottleneck1``, ``bottleneck2``, ..., or ``bottleneck`` for all.
    """

    @classmethod
    def lay_out(cls, row: Row | None = None, seed: int = 1, **given: Any) -> Layout:
        """Return the layout of a row, or of options."""
        if row is None:
            row, seed = read_options(seed=seed, **given)
        return lay_out(row, seed)


topos = {"parking_lot": ParkingLot}
