"""The metrics of what became of each group when a link went down. Pure.

Invariant: as all metrics, null with a reason where a cell does not tell, never 0.
"""

from __future__ import annotations

import statistics

from model.run_files.study import Group
from reports.measures.path import GroupFunction
from reports.store.sample import Failover, Sample, UnavailableError


def _longest(name: str) -> GroupFunction:
    """Return the metric that is the largest over the group's flows."""

    def compute(sample: Sample, group: Group) -> float:
        return max(_values(sample, group, name))

    return compute


def _mean(name: str) -> GroupFunction:
    """Return the metric that is the mean over the group's flows."""

    def compute(sample: Sample, group: Group) -> float:
        return statistics.fmean(_values(sample, group, name))

    return compute


def _values(sample: Sample, group: Group, name: str) -> list[float]:
    if isinstance(sample.failovers, str):
        raise UnavailableError(sample.failovers)
    found = []
    for flow in (flow.flow for flow in sample.flows if flow.group == group.id):
        of_flow: Failover = sample.failovers[flow]
        value: float | str = getattr(of_flow, name)
        if isinstance(value, str):
            raise UnavailableError(f"{group.label}: {value}")
        found.append(value)
    if not found:
        raise UnavailableError(f"{group.label} has no flows")
    return found


FAILOVER_FUNCTIONS: dict[str, GroupFunction] = {
    "delivery_gap_{group}_s": _longest("gap_s"),
    "outstanding_{group}_s": _longest("outstanding_s"),
    "other_path_{group}_s": _longest("other_path_s"),
    "failover_{group}_s": _longest("failover_s"),
    "path_timeouts_{group}": _longest("timeouts"),
    "switchover_{group}_s": _longest("switchover_s"),
    "return_{group}_s": _longest("return_s"),
    "returned_{group}_frac": _mean("returned_frac"),
}
