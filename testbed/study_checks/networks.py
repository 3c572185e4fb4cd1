"""Which keys the network of each topology has, and what those of radios must agree on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from model import units
from model.ad_hoc import AD_HOC, RoutingProtocol
from model.errors import StudyError
from model.movement.random_waypoint import RandomWaypoint, check_rows
from model.run_files.metrics.every import metric_made_of
from testbed.study.ad_hoc_form import ROUTING_KEYS
from testbed.study.mobility_form import drawn_by, mobility_problems
from testbed.study.problems import Loc, Problem, one_of
from testbed.study.study_form import Network, StudyFile
from testbed.study.vocabulary import TOPOLOGIES
from testbed.study.written_flows import written_out
from testbed.study.yaml_document import Document
from testbed.study_checks.claims import metric_places
from testbed.study_checks.registry import Check, Checks

CHECKS = Checks()
#: Keys that networks of links have and others have not, and the other way round.
OF_LINKS = ("shared_destination", "source_access", "bottleneck", "destination_access")
OF_RADIOS = ("nodes", "radio", "routing", "mobility")
#: Keys with a default that only radios have.
ALSO_OF_RADIOS = ("warm_up", "multihoming")
#: Radios that the medium has at most (MAX_RADIOS of probes/radio/medium.h).
MOST_RADIOS = 128
_MOBILITY: Loc = ("network", "mobility")
_NAMES = {(field.alias or name): name for name, field in Network.model_fields.items()}


def of_links(check: Check) -> Check:
    """Return a check that looks at networks of links alone."""

    def checked(study: StudyFile, document: Document) -> Iterator[Problem]:
        if study.network.topology != AD_HOC:
            yield from check(study, document)

    return checked


def key_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield the keys that a network of its topology lacks, and those it cannot have."""
    network = study.network
    own, other = (OF_RADIOS, OF_LINKS) if network.topology == AD_HOC else (OF_LINKS, OF_RADIOS)
    for key in own:
        if getattr(network, _NAMES[key]) is None:
            wanted = Network.model_fields[_NAMES[key]].description or ""
            yield document.problem(("network", key), "missing key", wanted=wanted)
    refused = [key for key in other if getattr(network, _NAMES[key]) is not None]
    if network.topology != AD_HOC:
        refused += [key for key in ALSO_OF_RADIOS if _NAMES[key] in network.model_fields_set]
    for key in refused:
        fitting = [name for name in TOPOLOGIES if (name == AD_HOC) == (key not in OF_LINKS)]
        yield document.problem(
            ("network", key), f"a network of topology {network.topology} has no such key",
            wanted=f"no such key, or topology: {' or '.join(fitting)}",
        )  # fmt: skip


@CHECKS.reads("network")
def _nodes(study: StudyFile, document: Document) -> Iterator[Problem]:
    network = study.network
    if network.nodes is not None and 2 * network.pairs > network.nodes:
        yield document.problem(
            ("network", "pairs"), "more pairs than there are nodes for",
            wanted=f"at most {network.nodes // 2} ({network.nodes} nodes)", got=str(network.pairs),
        )  # fmt: skip


@CHECKS.reads("network")
def _second_radios(study: StudyFile, document: Document) -> Iterator[Problem]:
    network = study.network
    if network.multihoming == "two-networks" and 2 * (network.nodes or 0) > MOST_RADIOS:
        yield document.problem(
            ("network", "multihoming"), "more radios than the medium has",
            wanted=f"at most {MOST_RADIOS // 2} nodes of two radios, or same-channel",
            got=f"two-networks of {network.nodes} nodes",
        )  # fmt: skip


@CHECKS.reads("network")
def _radio(study: StudyFile, document: Document) -> Iterator[Problem]:
    radio = study.network.radio
    if radio is None:
        return
    if radio.carrier_sense_m < radio.range_m:
        yield document.problem(
            ("network", "radio", "carrier_sense"), "less than the range",
            wanted=f"at least {units.format_length(radio.range_m)} (range)",
            got=units.format_length(radio.carrier_sense_m),
        )  # fmt: skip
    if radio.basic_rate_bps > radio.rate_bps:
        yield document.problem(
            ("network", "radio", "basic_rate"), "more than the rate of data",
            wanted=f"at most {units.format_rate(radio.rate_bps)} (rate)",
            got=units.format_rate(radio.basic_rate_bps),
        )  # fmt: skip


@CHECKS.reads("network")
def _mobility(study: StudyFile, document: Document) -> Iterator[Problem]:
    mobility = study.network.mobility
    if mobility is not None:
        yield from mobility_problems(mobility, _MOBILITY, document)


@CHECKS.reads("network", "duration_s")
def _trips(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield that nodes would make more trips than a lab could be told of."""
    mobility, nodes = study.network.mobility, study.network.nodes
    if nodes is None or mobility is None or mobility.model == "trace":
        return
    if any(mobility_problems(mobility, _MOBILITY, document)):
        return
    model = drawn_by(mobility)
    if not isinstance(model, RandomWaypoint):
        return
    try:
        check_rows(model, nodes, study.network.warm_up_s + study.duration_s)
    except StudyError as error:
        yield document.problem(
            _MOBILITY, error.what, wanted=error.wanted, got=error.got, hint=error.hint
        )


#: The path by which points and alternatives choose another protocol.
ROUTED_BY = "network.routing.protocol"


@CHECKS.reads("network", "sweep", "points", "assumptions")
def _routing(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield the keys of routing that no protocol of the study's has.

    Where it goes from one to the other they are the other's.
    """
    routing = study.network.routing
    if routing is None:
        return
    protocols = _routed_by(study, routing.protocol)
    if not protocols:
        return
    own = frozenset[str]().union(*(ROUTING_KEYS[name] for name in protocols))
    for key in sorted(routing.model_fields_set - {"protocol"} - own):
        others = [name for name, keys in ROUTING_KEYS.items() if key in keys]
        yield document.problem(
            ("network", "routing", key),
            f"routing by {' or '.join(protocols)} has no such key",
            wanted=f"no such key, or protocol: {one_of(others)}",
            got=str(getattr(routing, key)), hint="see docs/guides/routing.md",
        )  # fmt: skip


def _routed_by(study: StudyFile, written: RoutingProtocol) -> list[RoutingProtocol]:
    """Return the protocols of all points and alternatives, each once; empty: not all are known.

    A study that is read with an alternative in place does not tell what the file has there.
    """
    listed = (one[ROUTED_BY] for one in study.points if ROUTED_BY in one)
    chosen = [*study.sweep.get(ROUTED_BY, ()), *listed]
    alternatives = (one for each in study.assumptions for one in each.alternatives)
    others = [one[ROUTED_BY] for one in alternatives if ROUTED_BY in one]
    if not chosen and written in others:
        return []
    known = dict.fromkeys([*(chosen or [written]), *others])
    return [name for name in known if name in ROUTING_KEYS]


#: What to ask a network for instead of what it has not.
_INSTEAD = {
    "links": "air_data_frac and its like say how busy a channel is: docs/guides/manet.md",
    "radios": f"networks of topology {AD_HOC} have it",
}


def _foreign_metrics(
    study: StudyFile, document: Document, named: Iterable[tuple[str, Loc]]
) -> Iterator[Problem]:
    """Yield which metrics a network of the study's topology has never a value of."""
    flows = [copy.id for copy in written_out(study.flows)]
    made_of = metric_made_of(study.groups, flows)
    topology = study.network.topology
    own = "radios" if topology == AD_HOC else "links"
    for name, place in named:
        only = made_of.get(name, own)
        if only != own:
            yield document.problem(
                place, f"a metric of networks of {only} alone", got=name,
                wanted=f"one that a network of topology {topology} has", hint=_INSTEAD[only],
            )  # fmt: skip


@CHECKS.reads("network", "groups", "flows", "metrics")
def _metrics(study: StudyFile, document: Document) -> Iterator[Problem]:
    named = [(name, ("metrics", i)) for i, name in enumerate(study.metrics)]
    yield from _foreign_metrics(study, document, named)


@CHECKS.reads("network", "groups", "flows", "claims")
def _claims(study: StudyFile, document: Document) -> Iterator[Problem]:
    for i, claim in enumerate(study.claims):
        yield from _foreign_metrics(study, document, metric_places(claim, ("claims", i)))


@CHECKS.reads("network", "groups", "flows", "explanations")
def _explanations(study: StudyFile, document: Document) -> Iterator[Problem]:
    listed = enumerate(study.explanations)
    named = [(one.metric, ("explanations", i, "metric")) for i, one in listed]
    yield from _foreign_metrics(study, document, named)


@CHECKS.reads("network", "flows", "generator", "drops", "collect", "events")
def _of_links(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield what of flows and evidence only a network of links has."""
    if study.network.topology != AD_HOC:
        return
    got = f"topology {AD_HOC}"
    if study.drops:
        yield document.problem(
            ("drops",), "packets are numbered on links only", wanted="no drops by number", got=got
        )
    for i in range(len(study.events)):
        yield document.problem(
            ("events", i, "link"), "there are no links to change", wanted="no events", got=got,
            hint="links of the other topologies go down: docs/guides/failover.md",
        )  # fmt: skip
    for key in ("captures", "captures_at"):
        if getattr(study.collect, key):
            yield document.problem(
                ("collect", key), "captures follow packets over links", wanted="none", got=got,
                hint="--pcap of groundtruth run records the medium: "
                "raw/radio/medium.pcap.gz of each cell",
            )  # fmt: skip
    generators: list[tuple[Loc, str]] = [
        (("flows", i, "generator"), flow.generator) for i, flow in enumerate(study.flows)
    ]
    if any(generator == "study" for _, generator in generators):
        generators.append((("generator",), study.generator))
    for place, generator in generators:
        if generator not in ("probe", "study"):
            yield document.problem(
                place, "only probes send from node to node", wanted="generator probe",
                got=f"generator {generator}", hint=f"topology {AD_HOC} has no other",
            )  # fmt: skip
