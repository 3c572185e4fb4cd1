"""What a medium and routing daemons counted, read strictly into rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.raw.files import whole
from model.ad_hoc import NodeRadio
from model.run_files.path_tables import AirtimeRow, RadioRow
from model.units import ns_to_seconds

#: Kinds of routing packets, as daemons count them, and the headers that each has besides.
CONTROL = ("rreq", "rrep", "rerr", "rrep_ack", "hello")
CONTROL_HEADER_BYTES = 28
KINDS = ("data", "broadcast", "management", "ack", "rts", "cts")


def radio_rows(
    radios: Sequence[NodeRadio], medium: Mapping[str, Any], routers: Sequence[Mapping[str, Any]]
) -> list[RadioRow]:
    """Return a row per radio; ``routers`` are the totals of the daemon of each.

    Raises:
        ValueError, LookupError: not what they write.
    """
    if whole(medium["radios"]) != len(radios):
        raise ValueError(f"{medium['radios']} radios instead of {len(radios)}")
    return [
        _row(radio, number, medium, router)
        for number, (radio, router) in enumerate(zip(radios, routers, strict=True))
    ]


def _row(
    radio: NodeRadio, number: int, medium: Mapping[str, Any], router: Mapping[str, Any]
) -> RadioRow:
    def at(name: str) -> int:
        return whole(medium[name][number])

    def of(*names: str) -> int:
        return sum(whole(router[name]) for name in names)

    def all_of(beginning: str) -> int:
        return of(*(name for name in router if name.startswith(beginning)))

    control = of(*(f"sent_{kind}_packets" for kind in CONTROL))
    return RadioRow(
        node=radio.node,
        radio=radio.device,
        frames=at("handed_in"),
        acked_frames=at("acked"),
        given_up_frames=at("given_up"),
        group_frames=at("group_done"),
        queue_dropped_frames=at("dropped_full"),
        waiting_frames=at("waiting_at_end"),
        attempts=at("unicast_attempts") - at("unicast_under_way"),
        delivered_attempts=at("unicast_delivered"),
        repeated_attempts=at("unicast_duplicate"),
        collided_attempts=at("unicast_collided"),
        out_of_range_attempts=at("unicast_out_of_range"),
        deaf_attempts=at("unicast_receiver_sending"),
        protected_attempts=at("protected_attempts"),
        rts_attempts=at("rts_attempts") - at("rts_under_way"),
        rts_delivered_attempts=at("rts_delivered"),
        rts_collided_attempts=at("rts_collided"),
        rts_out_of_range_attempts=at("rts_out_of_range"),
        rts_deaf_attempts=at("rts_receiver_sending"),
        rts_answered_attempts=at("rts_answered"),
        rts_unanswered_attempts=at("cts_timeouts"),
        rts_refused_attempts=at("cts_refused"),
        cts_attempts=at("cts_sent"),
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


def airtime_rows(medium: Mapping[str, Any]) -> list[AirtimeRow]:
    """Return what each kind of frame took of the channel.

    Raises:
        ValueError, LookupError: not what a medium writes.
    """
    ran_ns = whole(medium["ended_ns"]) - whole(medium["began_ns"])
    if ran_ns <= 0:
        raise ValueError(f"a medium that ran for {ran_ns} ns")
    found = []
    for kind in KINDS:
        air_ns = sum(whole(each) for each in medium[f"{kind}_air_ns"])
        found.append(AirtimeRow(kind=kind, air_s=ns_to_seconds(air_ns), air_frac=air_ns / ran_ns))
    return found
