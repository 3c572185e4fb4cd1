"""What happened to links, and how flows used their paths: rows of the tables events and paths."""

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
