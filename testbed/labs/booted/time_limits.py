"""After which time a cell is given up: from its own path and traffic, never less than usual. Pure.

A limit ends what hangs; it must be far above what any legal study takes.
"""

from __future__ import annotations

from model.ad_hoc import AdHoc
from model.cell import Cell, Limits
from model.links import Network
from model.units import bits
from testbed.guest import calibration
from testbed.guest.radio import calibration as radio_calibration
from testbed.guest.radio import places as radio_places

#: Beyond the traffic: set-up, ends of connections, a last retransmission timeout. Every cell's own
#: limit has room for it, and for a path that falls silent within ``USUAL_PATIENCE_S``.
MARGIN_S, USUAL_PATIENCE_S = 400.0, 60.0
#: The guest waits for silence twice, and for what is in flight: each a buffer and round trips.
DRAINS, ROUND_TRIPS = 4, 8
#: A calibration may take so much longer than its measurements do if all goes well.
CALIBRATION_FACTOR = 2.0
#: Wall time: ten times and more what one core of a busy machine takes.
WALL_PER_FLOW_S, WALL_PER_PAIR_S, WALL_PER_PACKET_S = 2.0, 4.0, 0.0005
PACKET_BYTES = 1500
#: Frames that a channel carries at most, of which each is heard by many; wall time of each.
RADIO_FRAMES_PER_S, WALL_PER_FRAME_S, WALL_PER_NODE_S = 1000.0, 0.01, 2.0


def limits(cell: Cell) -> Limits:
    """Return a cell's limits, raised to what its path and its traffic can take."""
    if cell.ad_hoc:
        return _of_radios(cell, cell.ad_hoc)
    network, usual = cell.wired, cell.limits
    patience_s = DRAINS * calibration.drain_s(network) + ROUND_TRIPS * network.longest_rtt_s()
    virtual_s = usual.virtual_s + (patience_s if patience_s > USUAL_PATIENCE_S else 0.0)
    packets = most_packets(network, cell.duration_s)
    if cell.purpose == "calibrate":
        needed_s = CALIBRATION_FACTOR * calibration.virtual_s(network, cell.seed) + MARGIN_S
        virtual_s = max(usual.virtual_s, needed_s)
        packets = sum(run.packets for run in calibration.runs(network, cell.seed))
    wall_s = (
        usual.wall_s
        + WALL_PER_FLOW_S * len(cell.flows)
        + WALL_PER_PAIR_S * network.sources
        + WALL_PER_PACKET_S * packets
    )
    return Limits(wall_s=wall_s, virtual_s=virtual_s)


def _of_radios(cell: Cell, network: AdHoc) -> Limits:
    """Return the limits of a cell whose network is of radios: frames are what it takes time for."""
    virtual_s = cell.limits.virtual_s + network.warm_up_s
    sends_s = cell.duration_s
    if cell.purpose == "calibrate":
        network, sends_s = radio_places.network(network), radio_calibration.SENDS_S
    frames = RADIO_FRAMES_PER_S * sends_s * network.channels
    radios = len(network.radios())
    wall_s = cell.limits.wall_s + WALL_PER_NODE_S * radios + WALL_PER_FRAME_S * frames
    return Limits(wall_s=wall_s, virtual_s=virtual_s)


def most_packets(network: Network, duration_s: float) -> float:
    """Return how many full packets the bottlenecks can pass."""
    rate_bps = sum(path.bottleneck.forward.rate_bps for path in network.paths())
    return rate_bps * duration_s / bits(PACKET_BYTES)
