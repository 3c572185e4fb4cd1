"""What a network's numbers imply for one flow's path. Pure arithmetic on a resolved network."""

from __future__ import annotations

import math

from model import units
from model.cell import Flow
from model.links import Direction, Network

#: Bytes of the smallest IP packet that flows send: IPv4 and TCP headers without options or data.
SMALLEST_PACKET_BYTES = 40
MTU_BYTES = 1500
#: Header bytes of a data packet: IPv4, and TCP, or SCTP with one data chunk, or UDP.
HEADER_BYTES = {"tcp": 20 + 20, "sctp": 20 + 12 + 16, "udp": 20 + 8}
#: Packets added to a derived channel limit: what a shaper may release early, many times over.
CHANNEL_MARGIN_PKTS = 1000


def derived_channel_limit_pkts(rate_bps: int, owd_s: float) -> int:
    """Return a bound on the packets in flight in a delay stage, however small they are."""
    in_flight_bytes = units.bytes_in_flight(rate_bps, owd_s)
    return math.ceil(in_flight_bytes / SMALLEST_PACKET_BYTES) + CHANNEL_MARGIN_PKTS


def forward_path(network: Network) -> tuple[Direction, Direction, Direction]:
    """Return the three directions that data crosses."""
    links = (network.source_access, network.bottleneck, network.destination_access)
    return links[0].forward, links[1].forward, links[2].forward


def data_loss_frac(network: Network) -> float:
    """Return the probability that a data packet is lost at random on its way."""
    survives = math.prod(1 - direction.loss.loss_frac for direction in forward_path(network))
    return 1 - survives


def slowest_rate_bps(network: Network) -> int:
    """Return the lowest rate that data crosses."""
    return min(direction.rate_bps for direction in forward_path(network))


def packet_bytes(flow: Flow) -> int:
    """Return the IP packet that carries one message of a flow, or part of it if it is larger."""
    return min(MTU_BYTES, flow.message_bytes + HEADER_BYTES[flow.protocol])
