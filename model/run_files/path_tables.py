"""What happened to links, how flows used their paths, and what radios and routers did.

Rows of the tables events, paths, radios, airtime and routes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EventRow:
    """One thing that happened to a link while flows ran."""

    event: str  #: as in `cell.json`
    t_s: float  #: when it was to happen, since the start of the run
    done_s: float  #: when the kernel had been told
    link: str  #: as in `cell.json`
    path: int  #: the path that the link is of, from 1
    state: str | None  #: `down` or `up`; null: a setting became another
    data_under_way_pkts: int  #: packets that it held then, on the data's way
    ack_under_way_pkts: int  #: the same of the acknowledgements' way
    #: packets of the data's way that it let through from then to its next event, or the end
    data_passed_pkts: int
    data_lost_pkts: int  #: that it lost in that time; while it is down all that leave its buffer
    ack_passed_pkts: int  #: the same of the acknowledgements' way, let through
    ack_lost_pkts: int  #: and lost


@dataclass(frozen=True, kw_only=True)
class PathStateRow:
    """What one end of a flow over several paths knew of one of them, and when."""

    flow: str  #: as in `cell.json`
    t_s: float  #: when, since the start of the run
    side: str  #: `sender` or `receiver`
    path: int  #: from 1
    address: str  #: the sender's: where it sends to; the receiver's: where data came from
    #: `look` at the sender's socket; `unreachable`, `potentially_failed`, `available`, `confirmed`,
    #: `made_primary`, `added` or `removed`, as the kernel told the sender; `data_from`: the first
    #: message that came over this path after one over another
    event: str
    state: str | None  #: of a look: `active`, `potentially_failed`, `inactive`, `unconfirmed`
    cwnd_bytes: int | None  #: of a look: the path's congestion window
    rto_s: float | None  #: of a look: its retransmission timeout
    #: of a look: how often that timeout had grown by half or more from a look to the next
    backoffs: int | None


@dataclass(frozen=True, kw_only=True)
class RadioRow:
    """One radio of a network: what became of its frames, and what its node's router of it did."""

    node: str  #: its node's name
    radio: str  #: its interface there: `wlan0`, of a node with two radios `wlan1` too
    frames: int  #: that its kernel handed to the radio, beacons included
    acked_frames: int  #: of these to one other radio: acknowledged
    given_up_frames: int  #: not acknowledged, however often they were sent
    given_up_management_frames: int  #: of these: frames of 802.11 itself, which carry no packet
    group_frames: int  #: to all that hear it, sent once
    queue_dropped_frames: int  #: dropped, as so many waited already
    waiting_frames: int  #: that waited when the medium was ended
    attempts: int  #: transmissions of frames to one other radio, ended before the medium
    delivered_attempts: int  #: of these: decoded there
    repeated_attempts: int  #: decoded there once more, for their ACK was lost
    collided_attempts: int  #: destroyed by another signal there
    out_of_range_attempts: int  #: for nobody within range
    deaf_attempts: int  #: that the other radio could not hear, for it was sending
    protected_attempts: int  #: transmissions of frames that RTS and CTS preceded
    rts_attempts: int  #: transmissions of RTS, ended before the medium
    rts_delivered_attempts: int  #: of these: decoded there
    rts_collided_attempts: int  #: destroyed by another signal there
    rts_out_of_range_attempts: int  #: for nobody within range
    rts_deaf_attempts: int  #: that the other radio could not hear, for it was sending
    rts_answered_attempts: int  #: RTS whose CTS was decoded
    rts_unanswered_attempts: int  #: RTS whose CTS did not come
    #: RTS of others that it decoded and gave no CTS, as it kept quiet for another exchange
    rts_refused_attempts: int
    cts_attempts: int  #: transmissions of CTS
    #: next hops that its router took for gone before the run's end; null, as what follows, of a
    #: routing protocol that has no such thing
    link_breaks: int | None
    route_requests: int | None  #: that its router began
    route_requests_forwarded: int | None  #: of others, passed on
    route_replies: int | None  #: that its router answered with
    #: that its router gave up before the run's end, because a link broke or an error said so
    routes_broken: int | None
    discoveries: int | None  #: searches for a destination that began before the run's end
    discoveries_failed: int | None  #: given up before the run's end
    router_dropped_pkts: int | None  #: packets that its router dropped, for all reasons
    #: routing packets it sent, each once for every interface; of batman-adv packets of originator
    #: messages, which several may share, of babel packets of its messages, both from time zero to
    #: the end of the run
    control_pkts: int
    #: the same in bytes, as its radio was handed them: with headers of UDP and IP (of babel IPv6),
    #: or of batman-adv, none of Ethernet
    control_bytes: int


@dataclass(frozen=True, kw_only=True)
class AirtimeRow:
    """What one kind of frame took of the channel, all radios together."""

    #: `data`, `broadcast` (data to all: of routing, or for ARP), `management` (beacons), `ack`,
    #: `rts`, `cts`
    kind: str
    #: time of all signals from the medium's start, before the run, to its end, after it; those that
    #: overlap count each
    air_s: float
    #: in which time such frames are sent: `management`, and `broadcast` unless AODV routes, from
    #: the medium's start to its end; all others from time zero to the end of the run
    over_s: float
    #: `air_s` over `over_s`; of two channels, or places far apart, it can exceed 1
    air_frac: float


@dataclass(frozen=True, kw_only=True)
class RouteRow:
    """What became of a flow's way through a network of radios, until its next row."""

    flow: str  #: as in `cell.json`
    way: str  #: `data`, from the flow's source on, or `ack`, back from its destination
    #: since the start of the run, and before its end; a way without a row by then is not there
    t_s: float
    nodes: str | None  #: from end to end by next hops, blanks between; null: no route
