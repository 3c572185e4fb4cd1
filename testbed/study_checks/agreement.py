"""What several settings of a study must agree on; each check names the sections it reads.

A check runs when its sections are valid by themselves, so that one misspelt key does not hide the
other mistakes of a file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from model import units
from model.run_files.metrics.every import metric_names, metric_needs
from testbed.study.host_profile_form import profile_problems
from testbed.study.problems import MAX_SOUGHT, Loc, Problem
from testbed.study.setting_types import INTERVAL_S
from testbed.study.study_form import Bins, StudyFile
from testbed.study.vocabulary import (
    EPISODE_VALUES,
    SPANS,
)
from testbed.study.written_flows import written_out
from testbed.study.yaml_document import Document
from testbed.study_checks import figures, flows, networks, paths, queues
from testbed.study_checks.claims import claim_problems
from testbed.study_checks.hypotheses import explanation_problems, hypothesis_problems
from testbed.study_checks.lab_capacity import flow_problems, network_problems
from testbed.study_checks.loss import loss_problems, numbering_problems
from testbed.study_checks.names import duplicates, unknown
from testbed.study_checks.networks import of_links
from testbed.study_checks.registry import Checks

CHECKS = Checks([*flows.CHECKS, *paths.CHECKS, *networks.CHECKS, *queues.CHECKS])
CHECKS.reads("network")(of_links(loss_problems))
CHECKS.reads("network", "flows", "generator")(of_links(numbering_problems))
CHECKS.reads("network")(of_links(network_problems))
CHECKS.reads("flows")(flow_problems)
CHECKS.reads("figures")(figures.figure_problems)
CHECKS.reads("hypotheses")(hypothesis_problems)
CHECKS.reads("figures", "compare")(figures.share_problems)
CHECKS.reads("figures", "flows")(figures.path_problems)
CHECKS.reads("figures", "duration_s")(figures.time_problems)


def cross_problems(study: StudyFile, valid: Iterable[str], document: Document) -> list[Problem]:
    """Return the problems between settings, from the sections that are valid by themselves."""
    names = frozenset(valid)
    lacking = list(networks.key_problems(study, document)) if "network" in names else []
    if lacking:
        names -= {"network"}
    return lacking + [
        problem
        for needed, check in CHECKS
        if needed <= names
        for problem in itertools.islice(check(study, document), MAX_SOUGHT)
    ]


@CHECKS.reads("measure", "duration_s")
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


@CHECKS.reads("measure", "delivered", "flows", "generator")
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


@CHECKS.reads("drops", "flows", "generator")
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


@CHECKS.reads("published", "source")
def _published_somewhere(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.published is not None and study.source is None:
        yield document.problem(
            ("source",),
            "missing key",
            wanted="authors, publication, year, simulator",
            hint="published numbers are somebody's",
        )


@CHECKS.reads("compare", "groups")
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
    "events": "events: a list",
}


def _metric_names(study: StudyFile) -> tuple[str, ...]:
    flows = [copy.id for copy in written_out(study.flows)]
    return metric_names(study.groups, flows)


@CHECKS.reads("metrics", "groups", "flows", *_NEEDED)
def _metrics(study: StudyFile, document: Document) -> Iterator[Problem]:
    names, needs = _metric_names(study), metric_needs(study.groups)
    places: list[Loc] = [("metrics", i) for i in range(len(study.metrics))]
    for name, loc in zip(study.metrics, places, strict=True):
        listed = names if name.startswith("flow_") else metric_names(study.groups)
        yield from unknown(name, listed, loc, "metric", document)
        key = needs.get(name)
        if key and not getattr(study, key):
            yield document.problem(loc, f"{name} needs the key '{key}'", wanted=_NEEDED[key])
    yield from duplicates(study.metrics, places, "metric", document)


@CHECKS.reads("claims", "groups", "flows", *_NEEDED)
def _claims(study: StudyFile, document: Document) -> Iterator[Problem]:
    needs = metric_needs(study.groups).items()
    lacking = {name: _NEEDED[key] for name, key in needs if not getattr(study, key)}
    yield from claim_problems(study, document, _metric_names(study), lacking)


@CHECKS.reads("explanations", "hypotheses", "claims", "groups", "flows")
def _explanations(study: StudyFile, document: Document) -> Iterator[Problem]:
    yield from explanation_problems(study, document, _metric_names(study))


@CHECKS.reads("delivered", "duration_s")
def _delivered_times(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.delivered is None:
        return
    times = {"from": study.delivered.from_s, "to": study.delivered.to_s}
    for key, t_s in times.items():
        if t_s % INTERVAL_S:
            got, what = units.format_time(t_s), "not the bound of a receiver's interval"
            wanted = f"a multiple of {units.format_time(INTERVAL_S)}"
            yield document.problem(("delivered", key), what, wanted=wanted, got=got)


@CHECKS.reads(*SPANS, "duration_s")
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
        elif isinstance(span, Bins) and span.to_s - span.from_s < span.bin_s:
            wanted = f"at most {units.format_time(span.to_s - span.from_s)} (from 'from' to 'to')"
            got, what = units.format_time(span.bin_s), "longer than what is counted"
            yield document.problem((name, "bin"), what, wanted=wanted, got=got)


@CHECKS.reads("published", "metrics", "groups", "flows")
def _published_values(study: StudyFile, document: Document) -> Iterator[Problem]:
    if not set(study.metrics) <= set(_metric_names(study)):
        return  # said once, where the metrics are listed
    for i, row in enumerate(study.published.rows if study.published else ()):
        for name in row.values:
            loc: Loc = ("published", "rows", i, "values", name)
            yield from unknown(name, study.metrics, loc, "metric", document)


@CHECKS.reads("published")
def _published_something(study: StudyFile, document: Document) -> Iterator[Problem]:
    if study.published and not (study.published.rows or study.published.episodes):
        yield document.problem(
            ("published",), "nothing is published here", wanted="'rows' or 'episodes'"
        )


@CHECKS.reads("published", "flows")
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


@CHECKS.reads("assumptions")
def _assumption_ids(study: StudyFile, document: Document) -> Iterator[Problem]:
    places: list[Loc] = [("assumptions", i, "id") for i in range(len(study.assumptions))]
    yield from duplicates((a.id for a in study.assumptions), places, "assumption", document)


@CHECKS.reads("replication", "metrics")
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


@CHECKS.reads("acknowledged")
def _acknowledged_rules(study: StudyFile, document: Document) -> Iterator[Problem]:
    places: list[Loc] = [("acknowledged", i, "rule") for i in range(len(study.acknowledged))]
    yield from duplicates((a.rule for a in study.acknowledged), places, "rule", document)


@CHECKS.reads("profiles")
def _inline_profiles(study: StudyFile, document: Document) -> Iterator[Problem]:
    for name, profile in study.profiles.items():
        yield from profile_problems(profile, document, ("profiles", name))
