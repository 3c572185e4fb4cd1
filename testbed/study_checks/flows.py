"""What the flows of a study must agree on, with each other and with what generates them."""

from __future__ import annotations

from collections.abc import Iterator

from model import units
from model.cell import OF_HOSTS
from model.network_path import HEADER_BYTES, MTU_BYTES
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import StudyFile
from testbed.study.vocabulary import IPERF3_TIMES_S
from testbed.study.written_flows import written_out
from testbed.study.yaml_document import Document
from testbed.study_checks.names import duplicates, unknown
from testbed.study_checks.registry import Checks

#: Why no congestion control can be chosen.
NO_CHOICE = {"sctp": "the kernel's SCTP has just its own", "udp": "UDP has none"}

CHECKS = Checks()


@CHECKS.reads("flows")
def _flow_ids(study: StudyFile, document: Document) -> Iterator[Problem]:
    flows = written_out(study.flows)
    places: list[Loc] = [("flows", copy.index, "id") for copy in flows]
    yield from duplicates((copy.id for copy in flows), places, "flow", document)


@CHECKS.reads("flows")
def _flow_pairs(study: StudyFile, document: Document) -> Iterator[Problem]:
    network = document.data.get("network")  # as written: another key of it may be wrong
    pairs = network.get("pairs") if isinstance(network, dict) else None
    if not isinstance(pairs, int) or pairs < 1:
        return
    # By flow of the file: of its copies the last has the highest pair.
    last = {copy.index: copy for copy in written_out(study.flows)}
    for i, copy in last.items():
        if copy.pair > pairs:
            yield document.problem(
                ("flows", i, "pair"),
                "no such pair",
                wanted=f"at most {pairs} (network.pairs)",
                got=f"{copy.pair} ({copy.id})" if copy.flow.copies > 1 else str(copy.pair),
            )


@CHECKS.reads("flows")
def _udp_in_one_packet(study: StudyFile, document: Document) -> Iterator[Problem]:
    """IP would cut it: fragments but the first carry no port, so no counter tells their flow."""
    most_bytes = MTU_BYTES - HEADER_BYTES["udp"]
    for i, flow in enumerate(study.flows):
        if flow.protocol == "udp" and flow.message_bytes > most_bytes:
            yield document.problem(
                ("flows", i, "message"),
                "more than a udp packet holds",
                wanted=f"at most {most_bytes} bytes",
                got=units.shown(f"{flow.message_bytes} bytes"),
            )


@CHECKS.reads("flows")
def _flow_protocols(study: StudyFile, document: Document) -> Iterator[Problem]:
    for i, flow in enumerate(study.flows):
        given = flow.model_fields_set
        if flow.protocol != "sctp":
            for name in ("streams", "ordered"):
                if name in given:
                    yield document.problem(
                        ("flows", i, name),
                        "only an sctp flow has it",
                        wanted="no such key",
                        got=f"protocol {flow.protocol}",
                    )
        if flow.protocol != "tcp" and flow.congestion_control != OF_HOSTS:
            yield document.problem(
                ("flows", i, "congestion_control"),
                "only a tcp flow has it",
                wanted=f"{OF_HOSTS}, or no such key",
                got=f"protocol {flow.protocol}",
                hint=NO_CHOICE[flow.protocol],
            )
        if flow.protocol == "udp" and flow.rate_bps == "bulk":
            yield document.problem(
                ("flows", i), "missing key 'rate'", wanted="a rate such as '16 kbit/s' for udp"
            )


@CHECKS.reads("flows", "duration_s")
def _flow_times(study: StudyFile, document: Document) -> Iterator[Problem]:
    end = f"{units.format_time(study.duration_s)} (duration)"
    for i, flow in enumerate(study.flows):
        stop_s = study.duration_s if flow.stop_s == "end" else flow.stop_s
        if stop_s > study.duration_s:
            yield document.problem(
                ("flows", i, "stop"),
                "after the end of the run",
                wanted=f"at most {end}",
                got=units.format_time(stop_s),
            )
        latest_s = flow.start_s + flow.start_spread_s
        if latest_s >= stop_s:
            key = "start_spread" if flow.start_s < stop_s else "start"
            limit = end if flow.stop_s == "end" else f"{units.format_time(stop_s)} (its stop)"
            yield document.problem(
                ("flows", i, key),
                "starts when it has already ended",
                wanted=f"less than {limit}",
                got=units.format_time(latest_s),
            )


@CHECKS.reads("flows", "duration_s", "generator")
def _whole_seconds(study: StudyFile, document: Document) -> Iterator[Problem]:
    for i, flow in enumerate(study.flows):
        if (study.generator if flow.generator == "study" else flow.generator) != "iperf3":
            continue
        stop_s = study.duration_s if flow.stop_s == "end" else flow.stop_s
        lasts_s = round(stop_s - flow.start_s, 9)
        if flow.start_spread_s or lasts_s not in IPERF3_TIMES_S:
            yield document.problem(
                ("flows", i),
                "iperf3 cannot send so long",
                wanted=f"whole seconds from start to stop, 1 s to {IPERF3_TIMES_S[-1]} s",
                got="starts spread over a time" if flow.start_spread_s
                else units.format_time(lasts_s),
                hint="generator probe sends for any time",
            )  # fmt: skip


@CHECKS.reads("flows", "generator")
def _paced_by_probes(study: StudyFile, document: Document) -> Iterator[Problem]:
    """iperf3 paces by bursts of its own: nobody could say when a message was due."""
    for i, flow in enumerate(study.flows):
        generator = study.generator if flow.generator == "study" else flow.generator
        if flow.protocol != "udp" and flow.rate_bps != "bulk" and generator == "iperf3":
            yield document.problem(
                ("flows", i, "rate"),
                f"iperf3 hands over no {flow.protocol} messages at a rate",
                wanted="no such key, or generator probe",
                got="generator iperf3",
            )


@CHECKS.reads("flows", "collect", "generator")
def _recorded_messages(study: StudyFile, document: Document) -> Iterator[Problem]:
    generators = {study.generator if f.generator == "study" else f.generator for f in study.flows}
    if study.collect.messages and (
        generators == {"iperf3"} or all(flow.protocol == "udp" for flow in study.flows)
    ):
        yield document.problem(
            ("collect", "messages"),
            "no flow has messages that could be recorded",
            wanted="a tcp or sctp flow of generator probe",
        )


@CHECKS.reads("flows", "collect", "generator")
def _counted_acknowledgements(study: StudyFile, document: Document) -> Iterator[Problem]:
    generators = {study.generator if f.generator == "study" else f.generator for f in study.flows}
    if study.collect.acknowledgements and (
        generators == {"iperf3"} or all(flow.protocol == "udp" for flow in study.flows)
    ):
        yield document.problem(
            ("collect", "acknowledgements"),
            "no flow has acknowledgements that could be counted",
            wanted="a tcp or sctp flow of generator probe",
        )


@CHECKS.reads("flows", "groups")
def _flow_groups(study: StudyFile, document: Document) -> Iterator[Problem]:
    for i, flow in enumerate(study.flows):
        yield from unknown(flow.group, study.groups, ("flows", i, "group"), "group", document)
    used = {flow.group for flow in study.flows}
    for group in study.groups:
        if group not in used:
            yield document.problem(("groups", group), "no flow is in this group")
