"""A point of a study, with a seed and a lab, resolved to a cell: all in base units, no defaults.

Pure, but for a file that nodes follow with a seed that is not among the study's: that is read here.
The same study, point, seed and lab always give the same cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from model import draws
from model.ad_hoc import AD_HOC, AdHoc
from model.cell import SCHEMA, Cell, Collect, Flow, HostProfile, Limits
from model.event import Event, EventWay
from model.links import (
    FIFO,
    AnyLoss,
    BurstLoss,
    Direction,
    Discipline,
    FurtherPath,
    Link,
    Loss,
    Network,
    PeriodicLoss,
)
from model.network_path import derived_channel_limit_pkts
from model.run_files.metrics.every import COUNTED_ACKS
from model.sctp_paths import SctpPaths
from testbed.points.load_study import Study
from testbed.points.resolve_ad_hoc import following, resolve_ad_hoc
from testbed.points.sweep import Point
from testbed.study import path_form, study_form
from testbed.study.host_profile_form import resolve_profile
from testbed.study.setting_types import INTERVAL_S
from testbed.study.written_flows import Copy, written_out
from testbed.study_checks import queues

FIRST_PORT = 5001
TWO_PATHS = "two-paths"
#: Ways of a link by the words of studies.
WAYS: Mapping[str, EventWay] = {"both": "both", "data": "forward", "acknowledgements": "reverse"}
QUEUE_SAMPLES_PER_RUN, QUEUE_MIN_S = 200, 1.0
SOCKET_SAMPLES_PER_RUN, SOCKETS_MIN_S = 100, 1.0
COUNTER_SAMPLES_PER_RUN, COUNTERS_MIN_S = 10, 1.0
#: Virtual time beyond the traffic: set-up, ends of connections, a last retransmission timeout.
VIRTUAL_MARGIN_S = 400.0
WALL_BASE_S, WALL_PER_VIRTUAL = 60.0, 0.1


def resolve_cell(
    study: Study,
    point: Point,
    *,
    seed: int,
    replicate: int,
    lab: Mapping[str, str],
    purpose: Literal["measure", "calibrate"] = "measure",
    pcap: bool = False,
    telemetry: bool = True,
) -> Cell:
    """Return the cell of one point and seed; ``lab`` names the digests of what it runs on.

    Raises:
        StudyFileError: nodes follow a file of the seed's, which is not there or not of the study.
    """
    at = point.settings
    sockets_s = _period_s(
        at.collect.sockets_s, at.duration_s, SOCKET_SAMPLES_PER_RUN, SOCKETS_MIN_S
    )
    counters_s = _period_s(
        at.collect.counters_s, at.duration_s, COUNTER_SAMPLES_PER_RUN, COUNTERS_MIN_S
    )
    network = resolve_network(at.network)
    if isinstance(network, AdHoc) and purpose == "measure":
        file = study.movements.of(point, seed)
        network = following(network, file) if file else network
    has_queues = isinstance(network, Network)  # that are sampled: a radio's are its medium's
    queue_s = max(at.duration_s / QUEUE_SAMPLES_PER_RUN, QUEUE_MIN_S)
    return Cell(
        schema=SCHEMA,
        study=at.study,
        purpose=purpose,
        point=dict(point.values),
        replicate=replicate,
        seed=seed,
        duration_s=at.duration_s,
        measure_from_s=at.measure.measure_from_s,
        measure_to_s=(
            at.duration_s if at.measure.measure_to_s == "end" else at.measure.measure_to_s
        ),
        network=network,
        flows=tuple(
            _flow(at, copy, index, seed) for index, copy in enumerate(written_out(at.flows))
        ),
        hosts=_hosts(study, at.hosts, network),
        collect=Collect(
            interval_s=INTERVAL_S,
            queue_s=queue_s if telemetry and has_queues else 0.0,
            sockets_s=sockets_s if telemetry else 0.0,
            counters_s=counters_s if telemetry else 0.0,
            telemetry=telemetry,
            pcap=pcap or study.captures(point),
            messages=at.collect.messages,
            acknowledgements=purpose == "measure" and _counts_acknowledgements(at),
        ),
        limits=Limits(
            wall_s=WALL_BASE_S + at.duration_s * WALL_PER_VIRTUAL,
            virtual_s=at.duration_s + VIRTUAL_MARGIN_S,
        ),
        lab=dict(lab),
        events=resolve_events(at.events) if purpose == "measure" else (),
    )


def _counts_acknowledgements(at: study_form.StudyFile) -> bool:
    """Return whether a study wants acknowledgements counted: it says so, or a metric needs them."""
    claimed = [name for claim in at.claims for name in (*claim.names, *claim.versus_names)]
    explained = [explanation.metric for explanation in at.explanations]
    wanted = (*at.metrics, *claimed, *explained)
    return at.collect.acknowledgements or any(name.startswith(COUNTED_ACKS) for name in wanted)


def _period_s(
    wanted: float | Literal["derived"], duration_s: float, samples: int, least_s: float
) -> float:
    """Return the time between two samples: a study's own, or so many in a run."""
    return max(duration_s / samples, least_s) if wanted == "derived" else wanted


def resolve_network(network: study_form.Network) -> Network | AdHoc:
    """Return the network with both directions of every link written out, or its radios."""
    if network.topology == AD_HOC:
        return resolve_ad_hoc(network)
    source_access, bottleneck, destination_access = network.links()
    return Network(
        topology=network.topology,
        sources=network.pairs,
        destinations=1 if network.shared_destination else network.pairs,
        source_access=_link(source_access),
        bottleneck=_link(bottleneck),
        destination_access=_link(destination_access),
        further_paths=_further_paths(network),
        far_accesses=_far_accesses(network),
    )


def _far_accesses(network: study_form.Network) -> tuple[Link, ...]:
    """Return the links of the far sources: the others' but for the delay, both ways."""
    far, (source_access, _, _) = network.far_sources, network.links()
    if far is None:
        return ()
    return far.sources * (_link(source_access.model_copy(update={"owd_s": far.owd_s})),)


def _further_paths(network: study_form.Network) -> tuple[FurtherPath, ...]:
    """Return the second path; its links that are not given are as the first one's."""
    if network.topology != TWO_PATHS:
        return ()
    own = network.second_path or study_form.SecondPath.model_validate({})
    source_access, bottleneck, destination_access = network.links()
    return (
        FurtherPath(
            source_access=_link(own.source_access or source_access),
            bottleneck=_link(own.bottleneck or bottleneck),
            destination_access=_link(own.destination_access or destination_access),
        ),
    )


def resolve_events(events: Sequence[path_form.Event]) -> tuple[Event, ...]:
    """Return what happens to links, in order of time."""
    found = [
        Event(
            id=event.id, t_s=event.at_s, link=event.link, way=WAYS[event.way],
            state=event.set_ or "", rate_bps=event.rate_bps, owd_s=event.owd_s,
            loss_frac=event.loss_frac,
        )
        for event in events
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda event: event.t_s))


#: RFC 8290, 5.2: FQ-CoDel's queues, and the bytes that each sends in its turn.
QUEUES, QUANTUM_BYTES = 1024, 1514


def resolve_discipline(asked: path_form.QueueDiscipline) -> Discipline:
    """Return what a buffer does besides holding packets, every parameter written out."""
    kind = asked.queue_discipline
    if kind == "fifo":
        return FIFO
    has_queues = kind == "fq_codel"
    count = QUEUES if asked.queues == "default" else asked.queues
    quantum_bytes = QUANTUM_BYTES if asked.quantum_bytes == "default" else asked.quantum_bytes
    return Discipline(
        kind=kind,
        target_s=queues.TARGET_S[kind] if asked.target_s == "default" else asked.target_s,
        interval_s=queues.INTERVAL_S[kind] if asked.interval_s == "default" else asked.interval_s,
        ecn=asked.ecn,
        queues=count if has_queues else 0,
        quantum_bytes=quantum_bytes if has_queues else 0,
    )


def _link(link: study_form.AccessLink) -> Link:
    back = link.reverse
    managed = FIFO
    if isinstance(link, study_form.Bottleneck):
        managed = resolve_discipline(link.queue_discipline)
    return Link(
        forward=_direction(
            link.rate_bps,
            link.owd_s,
            link.queue_pkts,
            link.channel_limit_pkts,
            _data_loss(link.loss),
            managed,
        ),
        reverse=_direction(
            link.rate_bps if back.rate_bps == "same" else back.rate_bps,
            link.owd_s if back.owd_s == "same" else back.owd_s,
            link.queue_pkts if back.queue_pkts == "same" else back.queue_pkts,
            back.channel_limit_pkts,
            _loss("random", link.loss.ack_loss_frac),
            managed,
        ),
    )


def _direction(
    rate_bps: int,
    owd_s: float,
    queue_pkts: int,
    limit_pkts: int | Literal["derived"],
    loss: AnyLoss,
    discipline: Discipline,
) -> Direction:
    return Direction(
        rate_bps=rate_bps,
        queue_pkts=queue_pkts,
        owd_s=owd_s,
        channel_limit_pkts=(
            derived_channel_limit_pkts(rate_bps, owd_s) if limit_pkts == "derived" else limit_pkts
        ),
        loss=loss,
        discipline=discipline,
    )


def _data_loss(loss: study_form.Loss) -> AnyLoss:
    """Return the loss model of data; a valid study gives the keys that its model has."""
    if loss.model == "periodic":
        every_pkts, first_pkt = loss.every_pkts or 0, loss.first_pkt or 0
        return PeriodicLoss(model="periodic", every_pkts=every_pkts, first_pkt=first_pkt)
    if loss.model == "gilbert_elliott":
        fracs = (loss.to_bad_frac, loss.to_good_frac, loss.loss_bad_frac, loss.loss_good_frac)
        to_bad, to_good, loss_bad, loss_good = (frac or 0.0 for frac in fracs)
        return BurstLoss(
            model="gilbert_elliott", to_bad_frac=to_bad, to_good_frac=to_good,
            loss_bad_frac=loss_bad, loss_good_frac=loss_good,
        )  # fmt: skip
    model = "random" if loss.process == "shared" else loss.process
    return _loss(model, loss.loss_frac or 0.0)


def _loss(model: Literal["random", "paired", "equal_drops"], loss_frac: float) -> Loss:
    return Loss(model=model if loss_frac else "none", loss_frac=loss_frac)


def _start_s(flow: study_form.Flow, name: str, seed: int) -> float:
    """Return when a copy of a flow starts, to the nanosecond: drawn from the seed and its name."""
    drawn_s = draws.uniform(seed, f"start {name}") * flow.start_spread_s
    return round(flow.start_s + drawn_s, 9)


def _flow(at: study_form.StudyFile, copy: Copy, index: int, seed: int) -> Flow:
    flow, host = copy.flow, copy.pair - 1
    return Flow(
        id=copy.id,
        group=flow.group,
        protocol=flow.protocol,
        generator=at.generator if flow.generator == "study" else flow.generator,
        source=host,
        destination=0 if at.network.shared_destination else host,
        port=FIRST_PORT + index,
        start_s=_start_s(flow, copy.id, seed),
        start_spread_s=flow.start_spread_s,
        stop_s=at.duration_s if flow.stop_s == "end" else flow.stop_s,
        congestion_control=flow.congestion_control,
        message_bytes=flow.message_bytes,
        streams=flow.streams,
        ordered=flow.ordered,
        rate_bps=0 if flow.rate_bps == "bulk" else flow.rate_bps,
        drop_data_pkts=at.drops[flow.id].drop_data_pkts if flow.id in at.drops else (),
        addresses=flow.addresses,
        paths=_paths(flow.paths),
    )


def _paths(asked: path_form.PathSettings) -> SctpPaths:
    """Return what a flow asks of its paths; nothing where that is the kernel's own."""

    def given(value: int | Literal["kernel"]) -> int | None:
        return None if value == "kernel" else value

    return SctpPaths(
        primary=asked.primary,
        hb_interval_ms=given(asked.heartbeat_interval_ms),
        path_max_retrans=given(asked.path_max_retransmissions),
        assoc_max_retrans=given(asked.association_max_retransmissions),
        pf_max_retrans=given(asked.pf_max_retransmissions),
        ps_max_retrans=given(asked.ps_max_retransmissions),
        rto_initial_ms=given(asked.rto_initial_ms),
        rto_min_ms=given(asked.rto_min_ms),
        rto_max_ms=given(asked.rto_max_ms),
    )


def _hosts(study: Study, name: str, network: Network | AdHoc) -> HostProfile:
    rtt_s = 0.0 if isinstance(network, AdHoc) else network.base_rtt_s()
    return resolve_profile(name, study.profiles[name].profile, rtt_s)
