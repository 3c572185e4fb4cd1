"""What routed for a radio, in numbers: read strictly of what each protocol's router counts. Pure.

Invariant: what a protocol has no such thing of is null, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from collectors.raw.files import whole
from model.ad_hoc import RoutingProtocol

#: Kinds of AODV's packets, as its daemon counts them, and the headers that each has besides.
CONTROL = ("rreq", "rrep", "rerr", "rrep_ack", "hello")
CONTROL_HEADER_BYTES = 28
#: What batman-adv counts with each of its packets besides: the header of Ethernet, for which the
#: radio puts its own.
ETHERNET_BYTES = 14
#: The headers that each of babeld's messages has, which count.
IPV6_UDP_BYTES = 48


@dataclass(frozen=True, kw_only=True)
class RouterCounts:
    """What a router counted: the columns of ``radios.parquet`` that are of routing."""

    link_breaks: int | None = None
    route_requests: int | None = None
    route_requests_forwarded: int | None = None
    route_replies: int | None = None
    routes_broken: int | None = None
    discoveries: int | None = None
    discoveries_failed: int | None = None
    router_dropped_pkts: int | None = None
    control_pkts: int
    control_bytes: int


def _aodv(router: Mapping[str, Any]) -> RouterCounts:
    """Return what an AODV daemon counted, from its start to its end (not of the run alone)."""

    def of(*names: str) -> int:
        return sum(whole(router[name]) for name in names)

    def all_of(beginning: str) -> int:
        return of(*(name for name in router if name.startswith(beginning)))

    control = of(*(f"sent_{kind}_packets" for kind in CONTROL))
    return RouterCounts(
        link_breaks=all_of("link_breaks_"),
        route_requests=of("rreqs_originated"),
        route_requests_forwarded=of("rreqs_forwarded"),
        route_replies=of("rreps_as_destination", "rreps_as_intermediate", "rreps_gratuitous"),
        routes_broken=of("routes_broken"),
        discoveries=of("discoveries_started"),
        discoveries_failed=of("discoveries_failed"),
        router_dropped_pkts=all_of("dropped_packets_"),
        control_pkts=control,
        control_bytes=of(*(f"sent_{kind}_bytes" for kind in CONTROL))
        + control * CONTROL_HEADER_BYTES,
    )


def _batman_adv(router: Mapping[str, Any]) -> RouterCounts:
    """Return what a mesh counted from time zero to the end of the run: its originator messages.

    Several that are due at one time share a packet, and packets are what is counted. Requests and
    answers about whose addresses are where (``tt_..._tx``) are counted by the kernel without their
    bytes, and are not in.
    """
    packets, sent_bytes = whole(router["mgmt_tx"]), whole(router["mgmt_tx_bytes"])
    if sent_bytes < packets * ETHERNET_BYTES:
        raise ValueError(f"{packets} packets of originator messages of {sent_bytes} bytes in all")
    return RouterCounts(control_pkts=packets, control_bytes=sent_bytes - packets * ETHERNET_BYTES)


def _babel(router: Mapping[str, Any]) -> RouterCounts:
    """Return what left a radio from time zero to the end of the run: babeld's messages."""
    packets, sent_bytes = whole(router["sent_pkts"]), whole(router["sent_ip_bytes"])
    if sent_bytes < packets * IPV6_UDP_BYTES:
        raise ValueError(f"{packets} messages of {sent_bytes} bytes in all")
    return RouterCounts(control_pkts=packets, control_bytes=sent_bytes)


#: By the protocol that routes.
READERS: Mapping[RoutingProtocol, Callable[[Mapping[str, Any]], RouterCounts]] = {
    "aodv": _aodv, "batman-adv": _batman_adv, "babel": _babel,
}  # fmt: skip


def router_counts(protocol: RoutingProtocol, router: Mapping[str, Any]) -> RouterCounts:
    """Return what a router of a protocol counted, by the totals it left.

    Raises:
        ValueError, LookupError: not what it writes.
    """
    return READERS[protocol](router)
