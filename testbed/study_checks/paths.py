"""What several paths and events of links must agree on: topology, flows, each other."""

from __future__ import annotations

from collections.abc import Iterator

from model import units
from model.ad_hoc import AD_HOC
from model.sctp_paths import PF_OFF
from testbed.study.path_form import Event
from testbed.study.problems import Loc, Problem, one_of, suggestion
from testbed.study.study_form import StudyFile
from testbed.study.vocabulary import LINKS_OF_EVENTS
from testbed.study.written_flows import written_out
from testbed.study.yaml_document import Document
from testbed.study_checks.lab_capacity import rate_problems
from testbed.study_checks.loss import by_number
from testbed.study_checks.names import duplicates
from testbed.study_checks.registry import Checks

CHECKS = Checks()
#: What an event may do, by the keys of the file.
DONE_BY = ("set", "rate", "delay", "loss")
MAX_PAIRS = 250
TWO_PATHS = "two-paths"


@CHECKS.reads("network")
def _topology(study: StudyFile, document: Document) -> Iterator[Problem]:
    network = study.network
    if network.topology != TWO_PATHS:
        if network.second_path is not None:
            yield document.problem(
                ("network", "second_path"), "the topology has one path",
                wanted=f"topology {TWO_PATHS}, or no such key", got=f"topology {network.topology}",
            )  # fmt: skip
        return
    if network.pairs > MAX_PAIRS:
        yield document.problem(
            ("network", "pairs"), "more hosts than two paths have addresses for",
            wanted=f"at most {MAX_PAIRS}", got=str(network.pairs),
        )  # fmt: skip
    second = network.second_path.bottleneck if network.second_path else None
    for loc, link in (
        (("bottleneck",), network.bottleneck),
        (("second_path", "bottleneck"), second),
    ):
        if link is not None and (numbered := by_number(link.loss)):
            key, wanted, got = numbered
            yield document.problem(
                ("network", *loc, "loss", key), "packets are numbered on one path only",
                wanted=wanted, got=got,
            )  # fmt: skip


@CHECKS.reads("network")
def _far_sources(study: StudyFile, document: Document) -> Iterator[Problem]:
    network = study.network
    far, access = network.far_sources, network.source_access
    if far is None:
        return
    if network.topology != "dumbbell" or access is None:
        yield document.problem(
            ("network", "far_sources"), "only a dumbbell has far sources",
            wanted="topology dumbbell, or no such key", got=f"topology {network.topology}",
        )  # fmt: skip
        return
    if far.sources >= network.pairs:
        yield document.problem(
            ("network", "far_sources", "count"), "no source is left that is near",
            wanted=f"at most {network.pairs - 1} (pairs: {network.pairs})", got=str(far.sources),
        )  # fmt: skip
    if far.owd_s < access.owd_s:
        yield document.problem(
            ("network", "far_sources", "delay"), "nearer than the others",
            wanted=f"at least {units.format_time(access.owd_s)} (source_access)",
            got=units.format_time(far.owd_s),
        )  # fmt: skip
    if access.reverse.owd_s != "same":
        yield document.problem(
            ("network", "source_access", "reverse", "delay"), "far sources have one delay",
            wanted="same", got=units.format_time(access.reverse.owd_s),
        )  # fmt: skip


@CHECKS.reads("network", "drops")
def _listed(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.network.topology == TWO_PATHS and study.drops:
        yield document.problem(
            ("drops",), "packets are numbered on one path only", wanted="no drops by number",
            got=f"topology {TWO_PATHS}",
        )  # fmt: skip


@CHECKS.reads("network", "flows", "generator")
def _flows(study: StudyFile, document: Document) -> Iterator[Problem]:
    for i, flow in enumerate(study.flows):
        place: Loc = ("flows", i, "addresses")
        asked = flow.paths.model_fields_set
        if asked and flow.protocol != "sctp":
            yield document.problem(
                ("flows", i, "paths"), "only an sctp flow has it", wanted="no such key",
                got=f"protocol {flow.protocol}",
            )  # fmt: skip
        generator = study.generator if flow.generator == "study" else flow.generator
        if asked and generator != "probe":
            yield document.problem(
                ("flows", i, "paths"), "iperf3 cannot set it", wanted="generator probe",
                got=f"generator {generator}",
            )  # fmt: skip
        pf, ps = flow.paths.pf_max_retransmissions, flow.paths.ps_max_retransmissions
        if isinstance(pf, int) and isinstance(ps, int) and ps < pf:
            yield document.problem(
                ("flows", i, "paths", "ps_max_retransmissions"),
                "the primary would change before it is potentially failed",
                wanted="off" if pf == PF_OFF else f"{pf} or more (pf_max_retransmissions), or off",
                got=str(ps),
            )  # fmt: skip
        if flow.addresses == "first":
            if flow.paths.primary != "first":
                yield document.problem(
                    ("flows", i, "paths", "primary"), "the flow has no second path",
                    wanted="addresses: both", got="addresses: first",
                )  # fmt: skip
            continue
        if study.network.topology == AD_HOC and study.network.multihoming == "none":
            yield document.problem(
                place, "nodes have one radio",
                wanted="multihoming same-channel or two-networks of the network, or first",
                got="multihoming none",
            )  # fmt: skip
        elif study.network.topology not in (TWO_PATHS, AD_HOC):
            yield document.problem(
                place, "hosts have one address", wanted=f"topology {TWO_PATHS}",
                got=f"topology {study.network.topology}",
            )  # fmt: skip
        elif flow.protocol != "sctp" or generator != "probe":
            yield document.problem(
                place, "only an sctp flow of the probes has several addresses",
                wanted="addresses: first", got=f"protocol {flow.protocol}, generator {generator}",
            )  # fmt: skip


@CHECKS.reads("network", "flows")
def _ends(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield flows over two radios of nodes that have one: only the first pair has a second."""
    if study.network.multihoming != "same-channel":
        return
    for copy in written_out(study.flows):
        if copy.flow.addresses == "both" and copy.pair != 1:
            yield document.problem(
                ("flows", copy.index, "addresses"), "the pair's nodes have one radio",
                wanted="a flow of pair 1, or multihoming two-networks",
                got=f"pair {copy.pair}, multihoming same-channel",
            )  # fmt: skip
            return


@CHECKS.reads("events")
def _event_ids(study: StudyFile, document: Document) -> Iterator[Problem]:
    places: list[Loc] = [("events", i, "id") for i in range(len(study.events))]
    yield from duplicates((event.id for event in study.events), places, "event", document)


def _does(event: Event) -> list[str]:
    """Return what an event does, by the keys of the file."""
    values = (event.set_, event.rate_bps, event.owd_s, event.loss_frac)
    return [key for key, value in zip(DONE_BY, values, strict=True) if value is not None]


@CHECKS.reads("events", "network", "duration_s")
def _events(study: StudyFile, document: Document) -> Iterator[Problem]:
    links = LINKS_OF_EVENTS[study.network.topology]
    for i, event in enumerate(study.events):
        place: Loc = ("events", i)
        does = _does(event)
        if len(does) != 1:
            yield document.problem(
                place, "an event does one thing", wanted=f"one of {', '.join(DONE_BY)}",
                got=", ".join(does) or "none",
            )  # fmt: skip
        if links and event.link not in links:
            yield document.problem(
                (*place, "link"), "no such link", wanted=one_of(links), got=units.shown(event.link),
                hint=suggestion(event.link, links),
            )  # fmt: skip
        if not 0 < event.at_s < study.duration_s:
            yield document.problem(
                (*place, "at"), "not while flows run",
                wanted=f"after 0 s and before {units.format_time(study.duration_s)} (duration)",
                got=units.format_time(event.at_s),
            )  # fmt: skip
        if event.set_ is not None and event.way != "both":
            yield document.problem(
                (*place, "way"), "a link goes down and up both ways", wanted="no such key",
                got=event.way,
            )  # fmt: skip
        yield from rate_problems(event.rate_bps or 0, (*place, "rate"), document)
        bottleneck = study.network.bottleneck
        numbered = by_number(bottleneck.loss) if bottleneck else None
        if event.loss_frac is not None and numbered:
            key, wanted, got = numbered
            yield document.problem(
                (*place, "loss"), "losses by number do not change while flows run",
                wanted=f"loss.{key}: {wanted}", got=got,
            )  # fmt: skip


@CHECKS.reads("events")
def _at_odds(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield two events that set one thing at one time, and states that a link is in already."""
    ways = {"both": {"data", "acknowledgements"}}
    for i, event in enumerate(study.events):
        for other in study.events[:i]:
            same = event.link == other.link and event.at_s == other.at_s
            shared = ways.get(event.way, {event.way}) & ways.get(other.way, {other.way})
            if same and shared and _does(event) == _does(other):
                yield document.problem(
                    ("events", i, "at"), f"at odds with event {other.id}",
                    wanted="another time, or one event",
                    got=f"{units.format_time(event.at_s)}, {event.link}, {', '.join(_does(event))}",
                )  # fmt: skip
    state: dict[str, str] = {}
    order = sorted(range(len(study.events)), key=lambda i: study.events[i].at_s)
    for i in order:
        event = study.events[i]
        if event.set_ is None:
            continue
        if state.get(event.link, "up") == event.set_:
            yield document.problem(
                ("events", i, "set"), f"the link is {event.set_} already at that time",
                wanted="down" if event.set_ == "up" else "up", got=event.set_,
            )  # fmt: skip
        state[event.link] = event.set_
