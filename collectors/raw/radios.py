"""What a medium counted, beside what routed for each radio, read strictly into rows. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from collectors.raw.files import whole
from collectors.raw.routers import RouterCounts
from model.ad_hoc import NodeRadio
from model.run_files.path_tables import AirtimeRow, RadioRow
from model.units import ns_to_seconds

KINDS = ("data", "broadcast", "management", "ack", "rts", "cts")
#: What is sent as long as a medium is there: beacons; some protocols' messages are, too.
BEACONS = "management"


def radio_rows(
    radios: Sequence[NodeRadio], medium: Mapping[str, Any], routers: Sequence[RouterCounts]
) -> list[RadioRow]:
    """Return a row per radio; ``routers`` are what routed for each.

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
    radio: NodeRadio, number: int, medium: Mapping[str, Any], router: RouterCounts
) -> RadioRow:
    def at(name: str) -> int:
        return whole(medium[name][number])

    return RadioRow(
        node=radio.node,
        radio=radio.device,
        frames=at("handed_in"),
        acked_frames=at("acked"),
        given_up_frames=at("given_up"),
        given_up_management_frames=at("given_up_management"),
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
        **dataclasses.asdict(router),
    )


def airtime_rows(
    medium: Mapping[str, Any], duration_s: float, *, routed_all_along: bool
) -> list[AirtimeRow]:
    """Return what each kind of frame took of the channel, over the time in which it is sent.

    A medium has totals from its start, many seconds before the run's, to its end, some after.
    Flows send in the run alone, and what routes on demand does; beacons are sent all the time.

    Args:
        medium: what it counted.
        duration_s: the length of the run.
        routed_all_along: what routes sends whether packets want to go anywhere or not.

    Raises:
        ValueError, LookupError: not what a medium writes.
    """
    ran_s = ns_to_seconds(whole(medium["ended_ns"]) - whole(medium["began_ns"]))
    if ran_s < duration_s:
        raise ValueError(f"a medium that ran for {ran_s} s of a run of {duration_s} s")
    always = {BEACONS, "broadcast"} if routed_all_along else {BEACONS}
    found = []
    for kind in KINDS:
        air_s = ns_to_seconds(sum(whole(each) for each in medium[f"{kind}_air_ns"]))
        over_s = ran_s if kind in always else duration_s
        found.append(AirtimeRow(kind=kind, air_s=air_s, over_s=over_s, air_frac=air_s / over_s))
    return found
