"""What radios and their routers do: routes, frames, attempts, time on the air."""

from __future__ import annotations

from model.run_files.metrics.declared import Declared
from model.run_files.quantity import COUNT, KBIT_PER_S, SHARE

#: Of the whole network.
RADIOS = (
    Declared(
        "link_breaks", "Links that broke", COUNT,
        "next hops that routing daemons took for gone, over all nodes", only="radios",
    ),
    Declared(
        "routes_broken", "Routes that broke", COUNT,
        "routes given up because a link broke or an error said so, over all nodes", only="radios",
    ),
    Declared(
        "discoveries", "Route discoveries", COUNT,
        "searches for a destination that routing daemons began, over all nodes", only="radios",
    ),
    Declared(
        "routing_rate_bps", "Bandwidth of routing messages", KBIT_PER_S,
        "packets of routing as radios get them, each hop counted, bits per second of the run",
        only="radios",
    ),
    Declared(
        "frames_given_up", "Frames given up by radios", COUNT,
        "frames to one radio that were sent as often as may be and not acknowledged", only="radios",
    ),
    Declared(
        "packets_given_up", "Packets given up by radios", COUNT,
        "of the frames given up those with a packet, or of ARP; the others are of 802.11 itself",
        only="radios",
    ),
    Declared(
        "frames_queue_dropped", "Frames dropped by radios' queues", COUNT,
        "frames that found as many waiting as a radio holds", only="radios",
    ),
    Declared(
        "attempts_collided_frac", "Attempts that collided", SHARE,
        "attempts to reach one radio, by RTS or without, that another signal destroyed there",
        only="radios",
    ),
    Declared(
        "rts_unanswered_frac", "RTS without CTS", SHARE,
        "RTS whose CTS did not come, of all", only="radios",
    ),
    Declared(
        "air_data_frac", "Air time of data frames", SHARE,
        "time of all radios' data frames to one other, over the length of the run", only="radios",
    ),
    Declared(
        "air_broadcast_frac", "Air time of frames to all", SHARE,
        "the same of frames to all, of routing or for ARP; where babel or batman-adv routes, whose"
        " messages begin before a run, over the life of the medium", only="radios",
    ),
    Declared(
        "air_management_frac", "Air time of beacons", SHARE,
        "the same of management frames, beacons, over the life of the medium", only="radios",
    ),
    Declared(
        "air_ack_frac", "Air time of radios' ACKs", SHARE,
        "the same of the radios' own acknowledgements", only="radios",
    ),
    Declared(
        "air_rts_cts_frac", "Air time of RTS and CTS", SHARE, "the same of RTS and CTS together",
        only="radios",
    ),
)  # fmt: skip
