"""How many packets a cell's flows can be expected to send: what a cell costs goes by it. Pure."""

from __future__ import annotations

import math

from model.cell import Cell, Flow
from testbed.labs.confinement.windows import advertised_window, sender_buffer_bytes

_PACKET_BITS = 12_000.0
_PACKET_BYTES = 1448.0
#: Of a radio's rate a flow gets about so much over a few hops.
_GOODPUT_OVER_HOPS = 0.1


def expected_packets(cell: Cell) -> float:
    """Return about how many data packets a cell's flows send.

    A bulk flow sends what the least of three allows: its share of the bottleneck, the window that
    its hosts' settings leave it per round trip, and the square-root law of random loss.
    """
    if cell.ad_hoc:
        return sum(_packets(flow, cell.ad_hoc.radio.rate_bps * _GOODPUT_OVER_HOPS / _PACKET_BITS)
                   for flow in cell.flows)  # fmt: skip
    forward = cell.wired.bottleneck.forward
    rtt_s = max(cell.wired.base_rtt_s(), 1e-3)
    bulk = [flow for flow in cell.flows if flow.rate_bps == 0]
    rated_bps = sum(flow.rate_bps for flow in cell.flows)
    left_bps = max(0.0, forward.rate_bps - rated_bps)
    allowed = [left_bps / _PACKET_BITS / max(1, len(bulk))]
    if forward.loss.loss_frac > 0:
        allowed.append(math.sqrt(1.5 / forward.loss.loss_frac) / rtt_s)
    return sum(
        _packets(flow, min(*allowed, window_pkts(cell, flow.protocol) / rtt_s))
        for flow in cell.flows
    )


def window_pkts(cell: Cell, protocol: str) -> float:
    """Return about how many packets a bulk flow may have in flight by its hosts' settings.

    A buffer that is set holds as much of a flow's data: the kernel doubles it for overhead.
    """
    if protocol == "udp":
        return math.inf
    offered_bytes = advertised_window(cell, protocol).size_bytes
    kept_bytes = sender_buffer_bytes(cell, protocol)
    return min(offered_bytes, kept_bytes or offered_bytes) / _PACKET_BYTES


def _packets(flow: Flow, bulk_pps: float) -> float:
    """Return the packets of one flow; ``rate_bps`` is that of IP packets, 28 bytes of it heads."""
    pps = flow.rate_bps / 8 / (flow.message_bytes + 28) if flow.rate_bps else bulk_pps
    return pps * max(0.0, flow.stop_s - flow.start_s)
