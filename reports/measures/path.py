"""The metrics of what the path did to each group's packets: captures and the audit. Pure.

Invariant: as all metrics, null with a reason where a cell has no captures, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from model.run_files.study import Group
from model.run_files.traffic_tables import AuditRow, PathRow
from reports.store.sample import Quotient, Sample, Share, UnavailableError, total

GroupFunction = Callable[[Sample, Group], float | Quotient | Share]


def no_captures(sample: Sample) -> UnavailableError:
    """Return why there is nothing that is told from captures at a bottleneck."""
    if sample.radios:
        return UnavailableError("a network of radios has no bottleneck to capture packets at")
    return UnavailableError("packets were not captured (--pcap)")


def _paths(sample: Sample, group: Group) -> Iterator[PathRow]:
    if not sample.paths:
        raise no_captures(sample)
    flows = {flow.flow for flow in sample.flows if flow.group == group.id}
    return (path for path in sample.paths if path.flow in flows)


def _mean_over_flows(column: str, what: str) -> GroupFunction:
    """Return the metric that averages a column of ``path.parquet`` over a group's flows."""

    def compute(sample: Sample, group: Group) -> float:
        values = [getattr(path, column) for path in _paths(sample, group)]
        return total(values, f"{what} of {group.label}") / len(values)

    return compute


def wire_rate_bps(sample: Sample, group: Group) -> float:
    """Return the bottleneck's bandwidth the group's data takes, IP headers included, summed."""
    rates = (path.bottleneck_wire_rate_bps for path in _paths(sample, group))
    return total(rates, f"data of {group.label}")


def ack_wire_rate_bps(sample: Sample, group: Group) -> float:
    """Return the bandwidth the group's acknowledgements take, IP headers included, summed."""
    rates = (path.ack_wire_rate_bps for path in _paths(sample, group))
    return total(rates, f"acknowledgements of {group.label}")


def queue_dropped_pkts(sample: Sample, group: Group) -> float:
    """Return how many of the group's data packets the bottleneck's buffer dropped."""
    if sample.radios:
        raise UnavailableError("a network of radios has no bottleneck")
    if not sample.audit:
        raise UnavailableError("the cell has no audit (groundtruth parse makes one)")
    flows = {flow.flow for flow in sample.flows if flow.group == group.id}

    def mine(row: AuditRow) -> bool:
        return row.flow in flows and row.direction == "data"

    drops = (row.queue_dropped_pkts for row in sample.audit if mine(row))
    return total(drops, f"buffer's drops of {group.label}")


def marked_pkts(sample: Sample, group: Group) -> float:
    """Return how many packets came to the group's receivers with Congestion Experienced."""
    if sample.radios:
        raise UnavailableError("a network of radios has no bottleneck")
    marks = (flow.marked_pkts for flow in sample.flows if flow.group == group.id)
    return total(marks, f"marked packets of {group.label}")


PATH_FUNCTIONS: dict[str, GroupFunction] = {
    "owd_mean_{group}_s": _mean_over_flows("owd_mean_s", "one-way delay"),
    "owd_p95_{group}_s": _mean_over_flows("owd_p95_s", "one-way delay"),
    "jitter_{group}_s": _mean_over_flows("jitter_mean_s", "jitter"),
    "jitter_min_{group}_s": _mean_over_flows("jitter_min_s", "jitter"),
    "jitter_p50_{group}_s": _mean_over_flows("jitter_p50_s", "jitter"),
    "jitter_max_{group}_s": _mean_over_flows("jitter_max_s", "jitter"),
    "queueing_{group}_s": _mean_over_flows("queue_mean_s", "time in the buffer"),
    "queueing_p95_{group}_s": _mean_over_flows("queue_p95_s", "time in the buffer"),
    "queueing_p99_{group}_s": _mean_over_flows("queue_p99_s", "time in the buffer"),
    "connect_to_data_{group}_s": _mean_over_flows("connect_to_data_s", "time to first data"),
    "wire_rate_{group}_bps": wire_rate_bps,
    "ack_wire_rate_{group}_bps": ack_wire_rate_bps,
    "queue_dropped_{group}_pkts": queue_dropped_pkts,
    "marked_{group}_pkts": marked_pkts,
}
