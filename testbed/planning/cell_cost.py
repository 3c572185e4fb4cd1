"""How long a cell takes, from its settings alone. Pure; only plan's estimate rests on it.

The constants are a least-squares fit to measured cells (benchmarks/README.md).
"""

from __future__ import annotations

import math

from model.cell import Cell, Flow
from testbed.planning.plan import CALIBRATION_VIRTUAL_S

#: Boot, building the network, and reading everything back, on one core.
SETUP_S = 0.57
PER_VIRTUAL_S = 0.00026
PER_FLOW_S = 0.15
#: Through the lab and its tables.
PER_PACKET_S = 28e-6
#: More, where captures see each packet at every point.
PER_CAPTURED_PACKET_S = 55e-6
#: A calibration sends so many packets that its virtual time says it, whatever flows there are.
PER_CALIBRATING_S = 0.0032
#: Reading a run, drawing its figures and writing its page; then what each cell adds.
REPORT_S, REPORT_PER_CELL_S = 4.0, 0.15

_PACKET_BITS = 12_000.0
#: Packets a bulk flow keeps in flight at most: the hosts' usual window of 64 KB.
_WINDOW_PKTS = 45.0


def cell_wall_s(cell: Cell) -> float:
    """Return how long one core is busy with a cell, tables included."""
    if cell.purpose == "calibrate":
        return SETUP_S + PER_CALIBRATING_S * CALIBRATION_VIRTUAL_S
    per_packet_s = PER_PACKET_S + (PER_CAPTURED_PACKET_S if cell.collect.pcap else 0.0)
    return (
        SETUP_S
        + PER_VIRTUAL_S * cell.duration_s
        + PER_FLOW_S * len(cell.flows)
        + per_packet_s * expected_packets(cell)
    )


def report_wall_s(cells: int) -> float:
    """Return how long one core is busy with the report of so many cells."""
    return REPORT_S + REPORT_PER_CELL_S * cells


def expected_packets(cell: Cell) -> float:
    """Return about how many data packets a cell's flows send.

    A bulk flow sends what the least of three allows: its share of the bottleneck, a window per
    round trip, and the square-root law of random loss.
    """
    forward = cell.network.bottleneck.forward
    rtt_s = max(cell.network.base_rtt_s(), 1e-3)
    bulk = [flow for flow in cell.flows if flow.rate_bps == 0]
    rated_bps = sum(flow.rate_bps for flow in cell.flows)
    left_bps = max(0.0, forward.rate_bps - rated_bps)
    allowed = [left_bps / _PACKET_BITS / max(1, len(bulk)), _WINDOW_PKTS / rtt_s]
    if forward.loss.loss_frac > 0:
        allowed.append(math.sqrt(1.5 / forward.loss.loss_frac) / rtt_s)
    return sum(_packets(flow, min(allowed)) for flow in cell.flows)


def _packets(flow: Flow, bulk_pps: float) -> float:
    """Return the packets of one flow; ``rate_bps`` is that of IP packets, 28 bytes of it heads."""
    pps = flow.rate_bps / 8 / (flow.message_bytes + 28) if flow.rate_bps else bulk_pps
    return pps * max(0.0, flow.stop_s - flow.start_s)
