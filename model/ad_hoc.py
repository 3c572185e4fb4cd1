"""A wireless network without infrastructure: mobile nodes, their radios, who routes, how they move.

Standard library only, because the lab image reads it too. Invariants: every value is in base
units; nothing means "default"; flows go from node ``2 k`` to node ``2 k + 1`` for pair ``k``, so no
node is an end of two pairs, and the nodes behind those of the pairs only pass packets on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from model.fields import LATER

#: Networks of radios by the name that studies use.
AD_HOC = "ad-hoc"
#: Where nodes of random waypoint are at time 0: as if they had moved for ever, or uniformly.
Start = Literal["steady-state", "uniform"]
#: Whether the ends of the first pair move as the others do.
Ends = Literal["move", "stay"]
RoutingProtocol = Literal["aodv", "batman-adv", "babel"]
#: Those that look after ways all the time, not only to where packets want to go.
PROACTIVE: tuple[RoutingProtocol, ...] = ("batman-adv", "babel")
LinkBreaks = Literal["link-layer", "hello"]
#: Who has a second radio: nobody, the first pair's nodes on the channel that all are on, or every
#: node on a channel of its own, so that there are two networks in one place.
Multihoming = Literal["none", "same-channel", "two-networks"]
#: A node's radios by the names of their interfaces, in order.
DEVICES = ("wlan0", "wlan1")
_ADDRESS_PARTS, _SECOND_RADIOS = 4, 128


@dataclass(frozen=True, kw_only=True)
class RadioSettings:
    """What every node's radio is like: who hears whom, and how fast.

    ``rate_bps`` is that of unicast data, ``basic_rate_bps`` that of frames to all and of ACKs;
    ``range_m`` within which a frame is decoded, ``carrier_sense_m`` within which it is heard.
    ``queue_pkts`` frames wait in a radio. A stronger signal of two is decoded if it is
    ``capture_db`` above the other; 0: neither is, ever. A frame that is not acknowledged is sent
    ``retry_limit`` times in all.

    RTS and CTS precede frames to one radio that are longer than ``rts_threshold_bytes``, 802.11's
    header and the checksum included; None: none, ever. Such a frame is sent ``long_retry_limit``
    times in all, and an RTS in vain ``retry_limit`` times.
    """

    rate_bps: int
    basic_rate_bps: int
    range_m: float
    carrier_sense_m: float
    queue_pkts: int
    capture_db: int
    retry_limit: int
    rts_threshold_bytes: int | None = field(default=None, metadata=LATER)
    long_retry_limit: int = field(default=4, metadata=LATER)


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Who finds the ways. ``link_breaks`` says what tells that a neighbour is gone.

    It is ``none`` of a protocol that leaves no choice. ``options`` are the protocol's, by the names
    that its adapter (testbed/guest/routing) knows: of AODV the daemon's long options with
    underscores, each with its value.
    """

    protocol: RoutingProtocol
    link_breaks: Literal["link-layer", "hello", "none"]
    options: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Mobility:
    """How nodes move in a rectangle; of the first pair's nodes whether they do, too.

    Of ``stationary`` speeds and pause say nothing, nor of ``trace``. A trace is known by the
    SHA-256 of its file's bytes, and by that of the movement that was read of it, as
    :mod:`model.movement.movement_csv` writes it; from ``trace_ends_s`` on all its nodes stand. A
    cell whose nodes do not follow it, as it only measures radios, has none of these.
    """

    model: Literal["random-waypoint", "stationary", "trace"]
    width_mm: int
    height_mm: int
    min_speed_mps: float
    max_speed_mps: float
    pause_s: float
    start: Start
    ends: Ends
    trace_sha256: str = field(default="", metadata=LATER)
    movement_sha256: str = field(default="", metadata=LATER)
    trace_ends_s: float = field(default=0.0, metadata=LATER)


@dataclass(frozen=True, kw_only=True)
class NodeRadio:
    """One radio of a node: its interface and address there.

    ``is_apart`` if its channel is the second network's, where no first radio is heard.
    """

    node: str
    device: str
    address: str
    is_apart: bool


def address(number: int, radio: int = 0) -> str:
    """Return the address of a node's first or second radio, by the node's number from 0."""
    return f"10.{_SECOND_RADIOS * radio + number // 250 % 125}.{number % 250}.1"


#: What holds the addresses of all second radios and of no first one.
SECOND_ADDRESSES = f"10.{_SECOND_RADIOS}.0.0/9"


def path_of_address(address: str) -> int:
    """Return the path that an address is on, from 1: the number of its node's radio.

    Raises:
        ValueError: it is no node's address.
    """
    parts = address.split(".")
    if len(parts) != _ADDRESS_PARTS or parts[0] != "10" or not parts[1].isdecimal():
        raise ValueError(f"{address!r:.40} is no node's address")
    return 2 if int(parts[1]) >= _SECOND_RADIOS else 1


@dataclass(frozen=True, kw_only=True)
class AdHoc:
    """``nodes`` nodes, of which the first ``2 * pairs`` are ends of flows.

    Before time zero nodes have been there for ``warm_up_s``, so that neighbours know each other.
    ``multihoming`` says which nodes have a second radio, and on which channel.
    """

    topology: Literal["ad-hoc"]
    nodes: int
    pairs: int
    radio: RadioSettings
    routing: Routing
    mobility: Mobility
    warm_up_s: float
    multihoming: Multihoming = field(default="none", metadata=LATER)

    @property
    def sources(self) -> int:
        """How many nodes flows start at."""
        return self.pairs

    @property
    def destinations(self) -> int:
        """How many nodes flows end at."""
        return self.pairs

    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in the order of their numbers."""
        return tuple(f"n{number + 1}" for number in range(self.nodes))

    @property
    def channels(self) -> int:
        """How many channels radios are on, each of which carries as much."""
        return 2 if self.multihoming == "two-networks" else 1

    def radios(self) -> tuple[NodeRadio, ...]:
        """Return all radios, each node's first one in order of nodes, then second ones."""
        seconds = {"none": 0, "same-channel": 2, "two-networks": self.nodes}[self.multihoming]
        names = self.node_names()
        return tuple(
            NodeRadio(
                node=names[number], device=DEVICES[radio], address=address(number, radio),
                is_apart=radio > 0 and self.channels > 1,
            )
            for radio, count in enumerate((self.nodes, seconds))
            for number in range(count)
        )  # fmt: skip

    def source_names(self) -> tuple[str, ...]:
        """Return the names of the nodes that flows start at."""
        return self.node_names()[: 2 * self.pairs : 2]

    def destination_names(self) -> tuple[str, ...]:
        """Return the names of the nodes that flows end at."""
        return self.node_names()[1 : 2 * self.pairs : 2]
