"""A user's readings as the study's metrics, by the functions that compute the run's own. Pure.

Invariants: what a reading does not tell is left out, never 0; a metric of all flows is not computed
of some; a group has as many flows as in the study.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from model.cell import Cell
from model.errors import ParseError
from model.run_files.comparing.brought import GroupFlow, Reading, SummaryReading
from model.run_files.metrics.every import ALWAYS, ASKED
from model.run_files.point import Point
from model.run_files.study import Study
from model.run_files.traffic_tables import AuditRow, FlowRow, PathRow
from reports.measures.metrics import evaluate, metrics_of, study_metrics_of
from reports.store.sample import Sample

#: Sums of what is larger, no float may hold.
LARGEST = 1e120
#: A replicate, and its metrics by name.
Row = tuple[Reading, dict[str, float]]
#: How many flows a message names.
MOST_NAMED = 6

#: Of a group, and yet of all flows.
_OF_ALL = "share_{group}_pct"
#: What goodputs of all groups, each as a whole, are enough for.
_OF_GROUPS = ("pct_increase", "utilisation_pct", "jain_protocols")
#: What stands for a column that tables always have and results of others may not.
_UNKNOWN = cast(float, None)


def values(
    one: Reading, study: Study, cell: Cell, summaries: Mapping[str, SummaryReading]
) -> dict[str, float]:
    """Return a replicate's metrics by name.

    Args:
        one: what files tell of it.
        study: the study.
        cell: one of the run's cells at that point, for its flows and its bottleneck.
        summaries: what is told of that point by means alone, by metric.

    Raises:
        ParseError: a group has other flows than in the study, or flows and numbers of files both
            give a metric.
    """
    made: dict[str, float] = {}
    if one.flows:
        made = _of_flows(one, study, cell)
        _check_one_way(one, made, summaries)
    goodputs = {group.id: one.metrics.get(f"goodput_{group.id}_bps") for group in study.groups}
    if all(value is not None for value in goodputs.values()):
        rows = tuple(_row(group, group, bps, cell) for group, bps in goodputs.items())
        derived = _evaluated(_sample(study, cell, rows, (), ()), study)
        names = (*_OF_GROUPS, *(_OF_ALL.format(group=group.id) for group in study.groups))
        made = {name: derived[name] for name in names if name in derived} | made
    made |= one.metrics
    for name, value in made.items():
        if not abs(value) <= LARGEST:
            raise ParseError(f"{name} is too large", where=one.where, got=f"{value:g}",
                             wanted=f"at most {LARGEST:g}", hint="computed of others")  # fmt: skip
    return made


def _check_one_way(
    one: Reading, of_flows: Mapping[str, float], summaries: Mapping[str, SummaryReading]
) -> None:
    """Raise if numbers of files are of what flows give, too: which is right is not ours to say."""
    both = sorted(of_flows.keys() & (one.metrics.keys() | summaries.keys()))
    if both:
        elsewhere = (
            summaries[both[0]].where if both[0] in summaries else f"replicate {one.replicate[:60]}"
        )
        raise ParseError(
            f"{both[0]} from flows and from values", where=one.where, wanted="one of the two",
            got=f"flows from {one.flows[0].found.where}, values of {elsewhere}",
            hint="leave it out of values: in the mapping",
        )  # fmt: skip


def _of_flows(one: Reading, study: Study, cell: Cell) -> dict[str, float]:
    there = _counted(one, cell)
    named = _named(one.flows, cell)
    rows = tuple(
        _row(name, flow.group, flow.found.goodput_bps, cell, flow) for name, flow in named.items()
    )
    paths = tuple(_path(name, flow) for name, flow in named.items())
    audit = tuple(_audit(name, flow) for name, flow in named.items())
    found = _evaluated(_sample(study, cell, rows, paths, audit), study)
    if there >= {group.id for group in study.groups}:
        return found
    single = _single(study)
    return {name: value for name, value in found.items() if name in single}


def _counted(one: Reading, cell: Cell) -> set[str]:
    """Return the groups that have flows; raise if they are not as many as in the study."""
    planned = Counter(flow.group for flow in cell.flows)
    for group, got in Counter(flow.group for flow in one.flows).items():
        wanted = planned[group]
        if got != wanted:
            words = [flow.found.words for flow in one.flows if flow.group == group]
            named = "; ".join(words[:MOST_NAMED]) + ("; ..." if got > MOST_NAMED else "")
            raise ParseError(
                f"other flows than the study has in group {group}", where=one.where,
                wanted=str(wanted), got=f"{got} in replicate {one.replicate[:60]}: {named}",
                hint="groups: in the mapping",
            )  # fmt: skip
    return {flow.group for flow in one.flows}


def _named(flows: Sequence[GroupFlow], cell: Cell) -> dict[str, GroupFlow]:
    """Return flows by the study's names; where several of a group are alike, by numbers."""
    of_group: dict[str, list[str]] = {}
    for planned in cell.flows:
        of_group.setdefault(planned.group, []).append(planned.id)
    made: dict[str, GroupFlow] = {}
    for flow in flows:
        alone = of_group.get(flow.group, [])
        name = flow.flow or (alone[0] if len(alone) == 1 else f"{flow.group} {len(made) + 1}")
        if name in made:
            raise ParseError(
                f"two flows for flow {name} of the study", where=flow.found.where, wanted="one",
                got=f"{made[name].found.words}; {flow.found.words}", hint="flows: in the mapping",
            )  # fmt: skip
        made[name] = flow
    return made


def _single(study: Study) -> set[str]:
    """Return the metrics that are of one group or one flow."""
    ids = [group.id for group in study.groups]
    return {
        name
        for declared in (*ALWAYS, *ASKED)
        if declared.name != _OF_ALL and "{" in declared.name
        for name, _ in declared.each(ids, study.flows)
    }


def _evaluated(sample: Sample, study: Study) -> dict[str, float]:
    known = metrics_of(study.groups, study.compare) | study_metrics_of(study.groups, study.flows)
    found = {name: evaluate(metric, sample).value for name, metric in known.items()}
    return {name: value for name, value in found.items() if value is not None}


def _sample(
    study: Study,
    cell: Cell,
    rows: tuple[FlowRow, ...],
    paths: tuple[PathRow, ...],
    audit: tuple[AuditRow, ...],
) -> Sample:
    return Sample(
        flows=rows, groups=study.groups, compare=study.compare, paths=paths, audit=audit,
        bottleneck_rate_bps=None if cell.ad_hoc else cell.wired.bottleneck.forward.rate_bps,
        duration_s=cell.duration_s,
    )  # fmt: skip


def _row(
    name: str, group: str, goodput_bps: float | None, cell: Cell, flow: GroupFlow | None = None
) -> FlowRow:
    found = flow.found if flow else None
    lost = found.loss_dropped_pkts if found else None
    offered = found.loss_offered_pkts if found else None
    counted_bytes = 0 if goodput_bps is None else round(goodput_bps * cell.measured_s() / 8)
    return FlowRow(
        flow=name, group=group, protocol=found.protocol if found else "", generator="",
        goodput_bytes=counted_bytes, goodput_bps=goodput_bps, total_bytes=counted_bytes,
        connect_s=None, first_byte_s=None, last_byte_s=None, queue_offered_pkts=None,
        queue_dropped_pkts=found.queue_dropped_pkts if found else None, loss_offered_pkts=offered,
        loss_dropped_pkts=lost, loss_frac=lost / offered if lost is not None and offered else None,
        retransmitted_pkts=None,
    )  # fmt: skip


def _path(name: str, flow: GroupFlow) -> PathRow:
    found = flow.found
    return PathRow(
        flow=name, goodput_bytes=found.goodput_bytes, total_bytes=None, connect_to_data_s=None,
        data_wire_rate_bps=_UNKNOWN, bottleneck_wire_rate_bps=_UNKNOWN, ack_pkts=0, ack_ip_bytes=0,
        ack_wire_rate_bps=_UNKNOWN, owd_mean_s=found.owd_mean_s, owd_min_s=None, owd_p50_s=None,
        owd_p95_s=None, owd_p99_s=None, owd_max_s=None, jitter_mean_s=found.jitter_mean_s,
        jitter_min_s=found.jitter_min_s, jitter_p50_s=None, jitter_max_s=found.jitter_max_s,
        jitter_rfc3550_s=None, queue_mean_s=None, queue_max_s=None, ack_owd_mean_s=None,
    )  # fmt: skip


def _audit(name: str, flow: GroupFlow) -> AuditRow:
    return AuditRow(
        flow=name, direction="data", basis="counters", sent_pkts=None, access_dropped_pkts=None,
        queue_dropped_pkts=flow.found.queue_dropped_pkts,
        loss_dropped_pkts=flow.found.loss_dropped_pkts, exit_dropped_pkts=None,
        delivered_pkts=None, in_flight_pkts=None, unexplained_pkts=None, closes=None,
    )  # fmt: skip


def by_point(
    readings: Sequence[Reading],
    summaries: Sequence[SummaryReading],
    study: Study,
    cells: Mapping[Point, Cell],
) -> dict[Point, list[Row]]:
    """Return the replicates at each point with their metrics, in the order they came."""
    means: dict[Point, dict[str, SummaryReading]] = {}
    for told in summaries:
        means.setdefault(told.point, {})[told.metric] = told
    made: dict[Point, list[Row]] = {}
    for one in readings:
        found = values(one, study, cells[one.point], means.get(one.point, {}))
        made.setdefault(one.point, []).append((one, found))
    return made
