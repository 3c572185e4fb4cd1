"""The metrics of one flow, for studies that print a row per flow. Pure.

Invariant: as all metrics, null with a reason where a cell has no captures, never 0.
"""

from __future__ import annotations

from collections.abc import Callable

from reports.measures.path import no_captures
from reports.store.sample import Sample, total

FlowFunction = Callable[[Sample, str], float]


def flow_goodput_bps(sample: Sample, flow: str) -> float:
    """Return the flow's goodput."""
    found = (row.goodput_bps for row in sample.flows if row.flow == flow)
    return total(found, f"goodput of {flow}")


def _of_path(column: str, what: str) -> FlowFunction:
    """Return the metric that is a column of ``path.parquet``."""

    def compute(sample: Sample, flow: str) -> float:
        if not sample.paths:
            raise no_captures(sample)
        found = (getattr(path, column) for path in sample.paths if path.flow == flow)
        return total(found, f"{what} of {flow}")

    return compute


FLOW_FUNCTIONS: dict[str, FlowFunction] = {
    "flow_goodput_{flow}_bps": flow_goodput_bps,
    "flow_owd_mean_{flow}_s": _of_path("owd_mean_s", "one-way delay"),
    "flow_jitter_{flow}_s": _of_path("jitter_mean_s", "jitter"),
    "flow_wire_rate_{flow}_bps": _of_path("bottleneck_wire_rate_bps", "wire rate"),
}
