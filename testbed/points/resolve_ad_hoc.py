"""A study's network of radios in base units, with no defaults. Pure.

Invariant: what nodes follow, if they follow a file, is not there until :func:`following` adds it.
"""

from __future__ import annotations

import dataclasses

from mininet_topos.aodv.driver import NS235
from model import units
from model.ad_hoc import AdHoc, Mobility, RadioSettings, Routing
from model.movement.stationary import Stationary
from testbed.points.movement_files import Followed
from testbed.study import ad_hoc_form, mobility_form, study_form


def resolve_ad_hoc(network: study_form.Network) -> AdHoc:
    """Return the network of a valid study whose topology is ad-hoc."""
    radio, routing, mobility = network.radio, network.routing, network.mobility
    if network.nodes is None or radio is None or routing is None or mobility is None:
        raise TypeError(f"no radios in a network of topology {network.topology}")
    threshold_bytes = radio.rts_threshold_bytes
    return AdHoc(
        topology="ad-hoc",
        nodes=network.nodes,
        pairs=network.pairs,
        radio=RadioSettings(
            rate_bps=radio.rate_bps, basic_rate_bps=radio.basic_rate_bps, range_m=radio.range_m,
            carrier_sense_m=radio.carrier_sense_m, queue_pkts=radio.queue_pkts,
            capture_db=radio.capture_db, retry_limit=radio.attempts,
            rts_threshold_bytes=None if threshold_bytes == "none" else threshold_bytes,
            long_retry_limit=radio.long_attempts,
        ),
        routing=_routing(routing),
        mobility=_mobility(mobility),
        warm_up_s=network.warm_up_s,
        multihoming=network.multihoming,
    )  # fmt: skip


def _routing(routing: ad_hoc_form.Routing) -> Routing:
    """Return who routes, without what the keys of another protocol say."""
    own = ad_hoc_form.ROUTING_KEYS[routing.protocol]
    options = dict(NS235) if "constants" in own and routing.constants == "ns-2.35" else {}
    return Routing(
        protocol=routing.protocol, options=options,
        link_breaks=routing.link_breaks if "link_breaks" in own else "none",
    )  # fmt: skip


def following(network: AdHoc, file: Followed) -> AdHoc:
    """Return a network whose nodes follow a file."""
    mobility = dataclasses.replace(
        network.mobility, trace_sha256=file.trace_sha256, movement_sha256=file.movement_sha256,
        trace_ends_s=file.ends_s,
    )  # fmt: skip
    return dataclasses.replace(network, mobility=mobility)


def _mobility(block: mobility_form.Mobility) -> Mobility:
    if block.model == "trace":
        field = mobility_form.field_of(block)
        return Mobility(
            model="trace", width_mm=field.width_mm, height_mm=field.height_mm, min_speed_mps=0.0,
            max_speed_mps=0.0, pause_s=0.0, start=mobility_form.DEFAULT_START, ends="move",
        )  # fmt: skip
    model = mobility_form.drawn_by(block)
    if isinstance(model, Stationary):
        return Mobility(
            model="stationary", width_mm=model.field.width_mm, height_mm=model.field.height_mm,
            min_speed_mps=0.0, max_speed_mps=0.0, pause_s=0.0,
            start=mobility_form.DEFAULT_START, ends="stay",
        )  # fmt: skip
    return Mobility(
        model="random-waypoint", width_mm=model.field.width_mm, height_mm=model.field.height_mm,
        min_speed_mps=model.min_speed_mps, max_speed_mps=model.max_speed_mps,
        pause_s=units.ns_to_seconds(model.pause_ns), start=model.start, ends=block.ends,
    )  # fmt: skip
