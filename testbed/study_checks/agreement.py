"""What several settings of a study must agree on; each check names the sections it reads.

A check runs when its sections are valid by themselves, so that one misspelt key does not hide the
other mistakes of a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from model import units
from model.cell import OF_HOSTS
from model.paths import HEADER_BYTES, MTU_BYTES
from testbed.study.document import Document
from testbed.study.form import StudyFile
from testbed.study.hosts import profile_problems
from testbed.study.problems import MAX_SOUGHT, Loc, Problem
from testbed.study.settings import INTERVAL_S
from testbed.study.vocabulary import (
    EPISODE_VALUES,
    IPERF3_TIMES_S,
    SPANS,
    flow_metric_names,
    metric_names,
    metric_needs,
)
from testbed.study.written_flows import written_out
from testbed.study_checks import figures
from testbed.study_checks.claims import claim_problems
from testbed.study_checks.limits import flow_problems, network_problems
from testbed.study_checks.loss import loss_problems, numbering_problems
from testbed.study_checks.names import duplicates, unknown

Check = Callable[[StudyFile, Document], Iterator[Problem]]

#: Why no congestion control can be chosen.
NO_CHOICE = {"sctp": "the kernel's SCTP has just its own", "udp": "UDP has none"}

_CHECKS: list[tuple[frozenset[str], Check]] = []


def _reads(*sections: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        _CHECKS.append((frozenset(sections), check))
        return check

    return register


_reads("network")(loss_problems)
_reads("network", "flows", "generator")(numbering_problems)
_reads("network")(network_problems)
_reads("flows")(flow_problems)
_reads("figures")(figures.figure_problems)
_reads("figures", "compare")(figures.share_problems)
_reads("figures", "duration_s")(figures.time_problems)


def cross_problems(study: StudyFile, valid: Iterable[str], document: Document) -> list[Problem]:
    """Return the problems between settings, from the sections that are valid by themselves."""
    names = frozenset(valid)
    return [
        problem
        for needed, check in _CHECKS
        if needed <= names
        for problem in itertools.islice(check(study, document), MAX_SOUGHT)
    ]


@_reads("flows")
def _flow_ids(study: StudyFile, document: Document) -> Iterator[Problem]:
    flows = written_out(study.flows)
    places: list[Loc] = [("flows", copy.index, "id") for copy in flows]
    yield from duplicates((copy.id for copy in flows), places, "flow", document)


@_reads("flows")
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


@_reads("flows")
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


@_reads("flows")
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
        if flow.protocol != "udp" and flow.rate_bps != "bulk":
            yield document.problem(
                ("flows", i, "rate"),
                "only a udp flow has it",
                wanted="no such key",
                got=f"protocol {flow.protocol}",
            )


@_reads("flows", "duration_s")
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


@_reads("measure", "duration_s")
def _measure_times(study: StudyFile, document: Document) -> Iterator[Problem]:
    span = study.measure
    end = f"{units.format_time(study.duration_s)} (duration)"
    to_s = study.duration_s if span.measure_to_s == "end" else span.measure_to_s
    if to_s > study.duration_s:
        got, what = units.format_time(to_s), "after the end of the run"
        yield document.problem(("measure", "to"), what, wanted=f"at most {end}", got=got)
    elif span.measure_from_s >= to_s:
        limit = end if span.measure_to_s == "end" else f"{units.format_time(to_s)} (its to)"
        got, what = units.format_time(span.measure_from_s), "ends before it begins"
        yield document.problem(("measure", "from"), what, wanted=f"less than {limit}", got=got)


@_reads("measure", "delivered", "flows", "generator")
def _parts_of_runs(study: StudyFile, document: Document) -> Iterator[Problem]:
    whole = study.measure.measure_from_s == 0 and study.measure.measure_to_s == "end"
    generators = {study.generator if f.generator == "study" else f.generator for f in study.flows}
    for key, is_part in (("measure", not whole), ("delivered", study.delivered is not None)):
        if not is_part or "iperf3" not in generators:
            continue
        yield document.problem(
            (key,),
            "iperf3 cannot count a part of the run",
            wanted="generator probe, or the whole run",
            got="generator iperf3",
            hint="its intervals count from its own start",
        )


@_reads("flows", "duration_s", "generator")
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


@_reads("flows", "groups")
def _flow_groups(study: StudyFile, document: Document) -> Iterator[Problem]:
    for i, flow in enumerate(study.flows):
        yield from unknown(flow.group, study.groups, ("flows", i, "group"), "group", document)
    used = {flow.group for flow in study.flows}
    for group in study.groups:
        if group not in used:
            yield document.problem(("groups", group), "no flow is in this group")


@_reads("drops", "flows", "generator")
def _drops(study: StudyFile, document: Document) -> Iterator[Problem]:
    flows = {flow.id: flow for flow in study.flows}
    for name in study.drops:
        yield from unknown(name, flows, ("drops", name), "flow", document)
        own = flows[name].generator if name in flows else ""
        if (study.generator if own == "study" else own) == "iperf3":
            yield document.problem(
                ("drops", name),
                "cannot number the data packets of iperf3",
                wanted="generator probe",
                got="generator iperf3",
                hint="its control connection has the same port",
            )


@_reads("published", "source")
def _published_somewhere(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.published is not None and study.source is None:
        yield document.problem(
            ("source",),
            "missing key",
            wanted="authors, publication, year, simulator",
            hint="published numbers are somebody's",
        )


@_reads("compare", "groups")
def _compare(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.compare is None:
        return
    yield from unknown(study.compare.of, study.groups, ("compare", "of"), "group", document)
    yield from unknown(study.compare.over, study.groups, ("compare", "over"), "group", document)
    if study.compare.of == study.compare.over:
        yield document.problem(
            ("compare", "over"),
            "a group compared with itself",
            wanted="another group",
            got=units.shown(study.compare.over),
        )


#: What a key that metrics need looks like.
_NEEDED = {
    "compare": "compare: {of, over}",
    "delivered": "delivered: {from, to}",
    "windows": "windows: {from, to}",
    "bins": "bins: {from, to, bin}",
}


def _metric_names(study: StudyFile) -> tuple[str, ...]:
    flows = [copy.id for copy in written_out(study.flows)]
    return (*metric_names(study.groups), *flow_metric_names(flows))


@_reads("metrics", "groups", "flows", *_NEEDED)
def _metrics(study: StudyFile, document: Document) -> Iterator[Problem]:
    names, needs = _metric_names(study), metric_needs(study.groups)
    places: list[Loc] = [("metrics", i) for i in range(len(study.metrics))]
    for name, loc in zip(study.metrics, places, strict=True):
        listed = names if name.startswith("flow_") else metric_names(study.groups)
        yield from unknown(name, listed, loc, "metric", document)
        key = needs.get(name)
        if key and getattr(study, key) is None:
            yield document.problem(loc, f"{name} needs the key '{key}'", wanted=_NEEDED[key])
    yield from duplicates(study.metrics, places, "metric", document)


@_reads("claims", "groups", "flows", *_NEEDED)
def _claims(study: StudyFile, document: Document) -> Iterator[Problem]:
    needs = metric_needs(study.groups).items()
    lacking = {name: _NEEDED[key] for name, key in needs if getattr(study, key) is None}
    yield from claim_problems(study, document, _metric_names(study), lacking)


@_reads("delivered", "duration_s")
def _delivered_times(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.delivered is None:
        return
    times = {"from": study.delivered.from_s, "to": study.delivered.to_s}
    for key, t_s in times.items():
        if t_s % INTERVAL_S:
            got, what = units.format_time(t_s), "not the bound of a receiver's interval"
            wanted = f"a multiple of {units.format_time(INTERVAL_S)}"
            yield document.problem(("delivered", key), what, wanted=wanted, got=got)


@_reads(*SPANS, "duration_s")
def _spans(study: StudyFile, document: Document) -> Iterator[Problem]:
    for name in SPANS:
        span = getattr(study, name)
        if span is None:
            continue
        if span.to_s > study.duration_s:
            wanted = f"at most {units.format_time(study.duration_s)} (duration)"
            got, what = units.format_time(span.to_s), "after the end of the run"
            yield document.problem((name, "to"), what, wanted=wanted, got=got)
        elif span.from_s >= span.to_s:
            wanted = f"less than {units.format_time(span.to_s)} (its to)"
            got, what = units.format_time(span.from_s), "ends before it begins"
            yield document.problem((name, "from"), what, wanted=wanted, got=got)


@_reads("published", "metrics", "groups", "flows")
def _published_values(study: StudyFile, document: Document) -> Iterator[Problem]:
    if not set(study.metrics) <= set(_metric_names(study)):
        return  # said once, where the metrics are listed
    for i, row in enumerate(study.published.rows if study.published else ()):
        for name in row.values:
            loc: Loc = ("published", "rows", i, "values", name)
            yield from unknown(name, study.metrics, loc, "metric", document)


@_reads("published")
def _published_something(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.published and not (study.published.rows or study.published.episodes):
        yield document.problem(
            ("published",), "nothing is published here", wanted="'rows' or 'episodes'"
        )


@_reads("published", "flows")
def _published_episodes(study: StudyFile, document: Document) -> Iterator[Problem]:
    flows = [copy.id for copy in written_out(study.flows) if copy.flow.protocol != "udp"]
    for i, entry in enumerate(study.published.episodes if study.published else ()):
        place: Loc = ("published", "episodes", i)
        yield from unknown(entry.flow, flows, (*place, "flow"), "flow", document)
        for name in entry.values:
            loc: Loc = (*place, "values", name)
            yield from unknown(name, EPISODE_VALUES, loc, "column", document)
            if name.startswith("cwnd_grown") and entry.grown_s is None:
                yield document.problem(loc, "grown until when?", wanted="the key 'grown' beside")


@_reads("assumptions")
def _assumption_ids(study: StudyFile, document: Document) -> Iterator[Problem]:
    places: list[Loc] = [("assumptions", i, "id") for i in range(len(study.assumptions))]
    yield from duplicates((a.id for a in study.assumptions), places, "assumption", document)


@_reads("replication", "metrics")
def _replication(study: StudyFile, document: Document) -> Iterator[Problem]:
    wanted = study.replication
    if wanted is None:
        return
    yield from unknown(wanted.metric, study.metrics, ("replication", "metric"), "metric", document)
    if wanted.at_least > wanted.at_most:
        key = "at_least" if "at_least" in wanted.model_fields_set else "at_most"
        limits = {"at_least": f"at most {wanted.at_most} (at_most)",
                  "at_most": f"at least {wanted.at_least} (at_least)"}  # fmt: skip
        yield document.problem(
            ("replication", key), "no number of seeds is both", wanted=limits[key],
            got=str(getattr(wanted, key)),
        )  # fmt: skip


@_reads("acknowledged")
def _acknowledged_rules(study: StudyFile, document: Document) -> Iterator[Problem]:
    places: list[Loc] = [("acknowledged", i, "rule") for i in range(len(study.acknowledged))]
    yield from duplicates((a.rule for a in study.acknowledged), places, "rule", document)


@_reads("profiles")
def _inline_profiles(study: StudyFile, document: Document) -> Iterator[Problem]:
    for name, profile in study.profiles.items():
        yield from profile_problems(profile, document, ("profiles", name))
