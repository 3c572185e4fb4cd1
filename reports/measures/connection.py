"""The metrics of a group's connections as their own hosts tell of them, without captures. Pure.

How long they took to set up, what was sent again, and what acknowledging them took. Invariant: as
all metrics, null with a reason where a cell does not tell, never 0.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from model.run_files.study import Group
from model.run_files.traffic_tables import AcknowledgementRow, FlowRow
from reports.measures.path import GroupFunction
from reports.store.sample import Sample, UnavailableError, total

NOT_COUNTED = "acknowledgements were not counted (collect: acknowledgements)"


def _flows(sample: Sample, group: Group) -> list[FlowRow]:
    """Return the group's flows, which all told when they were connected, or that they never were.

    Raises:
        UnavailableError: one is of a kind that does not tell.
    """
    found = [flow for flow in sample.flows if flow.group == group.id]
    if any(flow.protocol == "udp" for flow in found):
        raise UnavailableError(f"{group.label} has flows of UDP, which connects nothing")
    if any(flow.generator != "probe" for flow in found):
        raise UnavailableError(f"{group.label} has flows of a generator that does not tell")
    return found


def connect_s(sample: Sample, group: Group) -> float:
    """Return how long connections took to set up, mean over the flows that were ever connected."""
    times = [flow.connect_s for flow in _flows(sample, group) if flow.connect_s is not None]
    if not times:
        raise UnavailableError(f"no flow of {group.label} was ever connected")
    return statistics.fmean(times)


def unconnected(sample: Sample, group: Group) -> float:
    """Return how many of the group's flows were never connected."""
    return float(sum(flow.connect_s is None for flow in _flows(sample, group)))


def retransmitted_pkts(sample: Sample, group: Group) -> float:
    """Return how many segments or chunks with data were sent again, summed over the flows."""
    counts = (flow.retransmitted_pkts for flow in _flows(sample, group))
    return total(counts, f"number of retransmissions of {group.label}")


def _rate(of: Callable[[AcknowledgementRow], float]) -> GroupFunction:
    """Return the metric that sums a rate of acknowledgements over a group's flows."""

    def compute(sample: Sample, group: Group) -> float:
        if not sample.acknowledgements:
            raise UnavailableError(NOT_COUNTED)
        counted = {row.flow: of(row) for row in sample.acknowledgements}
        flows = [flow.flow for flow in sample.flows if flow.group == group.id]
        return total(
            (counted.get(flow) for flow in flows), f"bandwidth of {group.label}'s acknowledgements"
        )

    return compute


CONNECTION_FUNCTIONS: dict[str, GroupFunction] = {
    "connect_{group}_s": connect_s,
    "unconnected_{group}": unconnected,
    "retransmitted_{group}_pkts": retransmitted_pkts,
    "ack_bandwidth_{group}_bps": _rate(lambda row: row.ack_rate_bps),
    "sack_bandwidth_{group}_bps": _rate(lambda row: row.sack_rate_bps),
}
