"""What building the virtual lab costs, and what a cell does in it. Pure.

How long a cell takes is estimated from its settings alone; the constants are a least-squares fit to
measured cells (benchmarks/README.md). Nothing but what a plan says rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from model.cell import Cell
from testbed.labs.confinement.expected_traffic import expected_packets

#: On two cores.
IMAGE_BUILD_S, KERNEL_BUILD_S = 150.0, 210.0
#: Boot, building the network, and reading everything back, on one core.
SETUP_S = 0.57
PER_VIRTUAL_S = 0.00026
PER_FLOW_S = 0.15
#: Through the lab and its tables.
PER_PACKET_S = 28e-6
#: More, where captures see each packet at every point.
PER_CAPTURED_PACKET_S = 55e-6
#: Of radios: to make one, and what a virtual second of 46 that move takes, while they warm up too.
PER_NODE_S, PER_RADIO_VIRTUAL_S = 0.1, 0.047
#: A calibration sends so many packets that these say it, whatever flows there are.
CALIBRATING_S = 0.64


def build_line(kernels: Sequence[str], *, image: bool) -> str:
    """Return what is built first, and about how long that takes."""
    missing = ["lab image"] * image + [f"kernel {version}" for version in kernels]
    needed_s = IMAGE_BUILD_S * image + KERNEL_BUILD_S * len(kernels)
    return f"first built, once, about {math.ceil(needed_s / 60)} min: {', '.join(missing)}"


def cell_wall_s(cell: Cell) -> float:
    """Return how long one core is busy with a cell, tables included."""
    radios = len(cell.ad_hoc.radios()) if cell.ad_hoc else 0
    warm_up_s = PER_RADIO_VIRTUAL_S * cell.ad_hoc.warm_up_s if cell.ad_hoc else 0.0
    if cell.purpose == "calibrate":
        return SETUP_S + CALIBRATING_S + warm_up_s
    if cell.ad_hoc:
        # A second network costs little more: what goes by it does not go by the first.
        return PER_NODE_S * radios + PER_RADIO_VIRTUAL_S * cell.duration_s + warm_up_s
    per_packet_s = PER_PACKET_S + (PER_CAPTURED_PACKET_S if cell.collect.pcap else 0.0)
    return (
        SETUP_S
        + PER_VIRTUAL_S * cell.duration_s
        + PER_FLOW_S * len(cell.flows)
        + per_packet_s * expected_packets(cell)
    )
