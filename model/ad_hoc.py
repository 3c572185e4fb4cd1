"""A wireless network without infrastructure: mobile nodes, their radios, who routes, how they move.

Standard library only, because the lab image reads it too. Invariants: every value is in base
units; nothing means "default"; flows go from node ``2 k`` to node ``2 k + 1`` for pair ``k``, so no
node is an end of two pairs, and the nodes behind those of the pairs only pass packets on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Networks of radios by the name that studies use.
AD_HOC = "ad-hoc"
#: Where nodes of random waypoint are at time 0: as if they had moved for ever, or uniformly.
Start = Literal["steady-state", "uniform"]
#: Whether the ends of the first pair move as the others do.
Ends = Literal["move", "stay"]
LinkBreaks = Literal["link-layer", "hello"]


@dataclass(frozen=True, kw_only=True)
class RadioSettings:
    """What every node's radio is like: who hears whom, and how fast.

    ``rate_bps`` is that of unicast data, ``basic_rate_bps`` that of frames to all and of ACKs;
    ``range_m`` within which a frame is decoded, ``carrier_sense_m`` within which it is heard.
    ``queue_pkts`` frames wait in a radio. A stronger signal of two is decoded if it is
    ``capture_db`` above the other; 0: neither is, ever. A frame that is not acknowledged is sent
    ``retry_limit`` times in all.
    """

    rate_bps: int
    basic_rate_bps: int
    range_m: float
    carrier_sense_m: float
    queue_pkts: int
    capture_db: int
    retry_limit: int


@dataclass(frozen=True, kw_only=True)
class Routing:
    """Who finds the ways. ``link_breaks`` says what tells that a neighbour is gone.

    ``options`` are the daemon's long options with underscores, each with its value.
    """

    protocol: Literal["aodv"]
    link_breaks: LinkBreaks
    options: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Mobility:
    """How nodes move in a rectangle; of the first pair's nodes whether they do, too.

    Of ``stationary`` speeds and pause say nothing.
    """

    model: Literal["random-waypoint", "stationary"]
    width_mm: int
    height_mm: int
    min_speed_mps: float
    max_speed_mps: float
    pause_s: float
    start: Start
    ends: Ends


@dataclass(frozen=True, kw_only=True)
class AdHoc:
    """``nodes`` nodes, of which the first ``2 * pairs`` are ends of flows.

    Before time zero nodes have been there for ``warm_up_s``, so that neighbours know each other.
    """

    topology: Literal["ad-hoc"]
    nodes: int
    pairs: int
    radio: RadioSettings
    routing: Routing
    mobility: Mobility
    warm_up_s: float

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

    def source_names(self) -> tuple[str, ...]:
        """Return the names of the nodes that flows start at."""
        return self.node_names()[: 2 * self.pairs : 2]

    def destination_names(self) -> tuple[str, ...]:
        """Return the names of the nodes that flows end at."""
        return self.node_names()[1 : 2 * self.pairs : 2]
