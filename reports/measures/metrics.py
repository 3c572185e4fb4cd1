"""The metrics of one finished cell, from its flows and its bottleneck. Pure.

Invariant: a metric that cannot be computed is null with a reason, never 0. To add a metric, declare
it in :mod:`model.run_files.metrics` and name the function that computes it in the table of its
subject, here or in a file beside; docs/metrics.md gives every formula and its source.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from model.run_files.metrics.declared import Declared
from model.run_files.metrics.every import ALWAYS, ASKED
from model.run_files.quantity import Quantity
from model.run_files.study import Compare, Group
from reports.measures.connection import CONNECTION_FUNCTIONS
from reports.measures.failover import FAILOVER_FUNCTIONS
from reports.measures.flow import FLOW_FUNCTIONS
from reports.measures.loss import LOSS_FUNCTIONS
from reports.measures.messages import MESSAGE_FUNCTIONS
from reports.measures.path import PATH_FUNCTIONS, GroupFunction
from reports.measures.radio import RADIO_FUNCTIONS
from reports.measures.span import SPAN_FUNCTIONS, low_bins_frac, silent_bins_frac
from reports.measures.utilisation import (
    data_pct,
    goodput_of_all_bps,
    link_pct,
    sent_pct,
    utilisation_pct,
    wire_pct,
)
from reports.store.sample import (
    VARIATION,
    Quotient,
    Sample,
    Share,
    UnavailableError,
    quotient,
    ratio,
    total,
)


@dataclass(frozen=True)
class Value:
    """A metric's value, or None and the reason why there is none.

    ``parts`` if it is a quotient, ``share`` if it is a share of things counted.
    """

    value: float | None
    reason: str | None
    parts: Quotient | None = None
    share: Share | None = None


@dataclass(frozen=True)
class Metric:
    """A metric: its name with unit, what readers see, and how it is computed and shown."""

    name: str
    label: str
    quantity: Quantity
    compute: Callable[[Sample], float | Quotient | Share]


def goodput_bps(sample: Sample, group: Group) -> float:
    """Return the group's goodput: new data bits its flows delivered per second, summed."""
    flows = (flow.goodput_bps for flow in sample.flows if flow.group == group.id)
    return total(flows, f"goodput of {group.label}")


def share_pct(sample: Sample, group: Group) -> Quotient:
    """Return the group's goodput as percentage of that of all flows."""
    total_bps = goodput_of_all_bps(sample)
    return quotient(goodput_bps(sample, group), total_bps, "the goodput of all flows", 100)


def loss_frac(sample: Sample, group: Group) -> Quotient:
    """Return the group's realised loss: packets the loss model dropped per packet offered to it."""
    flows = [flow for flow in sample.flows if flow.group == group.id]
    dropped = total((f.loss_dropped_pkts for f in flows), f"loss of {group.label}")
    offered = total((f.loss_offered_pkts for f in flows), f"packets of {group.label}")
    what = f"the number of {group.label} packets offered to the loss model"
    return quotient(dropped, offered, what)


def cwnd_mean_segments(sample: Sample, group: Group) -> float:
    """Return the group's congestion window: each flow's mean over time, each of equal weight."""
    means = [flow.cwnd_mean_segments for flow in sample.flows if flow.group == group.id]
    what = f"congestion window of {group.label} (the kernel's telemetry tells TCP's and SCTP's)"
    return total(means, what) / len(means)


def delivered_segments(sample: Sample, group: Group) -> float:
    """Return the messages' worth of new data the group delivered between the study's times."""
    if not sample.delivered_segments:
        raise UnavailableError("the study has no times for it (delivered)")
    flows = [flow.flow for flow in sample.flows if flow.group == group.id]
    delivered = (sample.delivered_segments.get(flow) for flow in flows)
    return total(delivered, f"delivered segments of {group.label}")


def goodput_cv_pct(sample: Sample, group: Group) -> float:
    """Return how the group's flows differ: standard deviation (n - 1) in % of the mean goodput."""
    flows = [flow.goodput_bps for flow in sample.flows if flow.group == group.id]
    if len(flows) < 2:
        raise UnavailableError(f"{group.label} has one flow")
    mean_bps = goodput_bps(sample, group) / len(flows)
    known = [flow_bps for flow_bps in flows if flow_bps is not None]
    return 100 * ratio(statistics.stdev(known), mean_bps, f"the goodput of {group.label}")


def goodput_variation_pct(sample: Sample, group: Group) -> float:
    """Return how the goodput of the group's flows together varies over time, in % of its mean."""
    found = sample.variation_pct.get(group.id)
    return total([found], f"variation of {group.label}'s goodput over time")


def pct_increase(sample: Sample) -> Quotient:
    """Return by how many per cent the goodput of one group exceeds that of the other."""
    if sample.compare is None:
        raise UnavailableError("the study compares no groups")
    of, over = (
        next(group for group in sample.groups if group.id == group_id)
        for group_id in (sample.compare.of, sample.compare.over)
    )
    of_bps, over_bps = goodput_bps(sample, of), goodput_bps(sample, over)
    return quotient(of_bps - over_bps, over_bps, f"the goodput of {over.label}", 100)


def _jain(values: list[float]) -> float:
    # The index does not change with scale: dividing by the largest keeps the squares in range.
    largest = max(values, default=0.0)
    scaled = [ratio(value, largest, "the largest goodput") for value in values]
    if not scaled:
        raise UnavailableError("there is no goodput")
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(v * v for v in scaled))


def jain_flows(sample: Sample) -> float:
    """Return Jain's fairness index over the goodputs of the single flows."""
    goodput_of_all_bps(sample)
    return _jain([flow.goodput_bps for flow in sample.flows if flow.goodput_bps is not None])


def jain_protocols(sample: Sample) -> float:
    """Return Jain's fairness index over the groups' total goodputs."""
    return _jain([goodput_bps(sample, group) for group in sample.groups])


CELL_FUNCTIONS: dict[str, Callable[[Sample], float | Quotient | Share]] = {
    "pct_increase": pct_increase,
    "utilisation_pct": utilisation_pct,
    "utilisation_sent_pct": sent_pct,
    "utilisation_data_pct": data_pct,
    "utilisation_wire_pct": wire_pct,
    "utilisation_link_pct": link_pct,
    **RADIO_FUNCTIONS,
    "jain_flows": jain_flows,
    "jain_protocols": jain_protocols,
    "silent_bins_frac": silent_bins_frac,
    "low_bins_frac": low_bins_frac,
}
GROUP_FUNCTIONS: dict[str, GroupFunction] = {
    "share_{group}_pct": share_pct,
    "goodput_{group}_bps": goodput_bps,
    "loss_{group}_frac": loss_frac,
    "cwnd_mean_{group}_segments": cwnd_mean_segments,
    "delivered_{group}_segments": delivered_segments,
    "goodput_cv_{group}_pct": goodput_cv_pct,
    VARIATION + "_{group}_pct": goodput_variation_pct,
    **SPAN_FUNCTIONS,
    **PATH_FUNCTIONS,
    **LOSS_FUNCTIONS,
    **MESSAGE_FUNCTIONS,
    **CONNECTION_FUNCTIONS,
    **FAILOVER_FUNCTIONS,
}


def metrics_of(groups: tuple[Group, ...], compare: Compare | None) -> dict[str, Metric]:
    """Return every metric each study with these groups has, by name, in a stable order."""
    return {metric.name: metric for one in ALWAYS for metric in _expanded(one, groups, (), compare)}


def study_metrics_of(groups: tuple[Group, ...], flows: tuple[str, ...]) -> dict[str, Metric]:
    """Return the metrics a study has only if it asks for them, by name, in a stable order."""
    return {metric.name: metric for one in ASKED for metric in _expanded(one, groups, flows, None)}


def _expanded(
    declared: Declared, groups: tuple[Group, ...], flows: tuple[str, ...], compare: Compare | None
) -> Iterator[Metric]:
    """Yield the metric for each group or flow it is of."""
    by_id = {group.id: group for group in groups}
    labels = {group.id: group.label for group in groups}
    words = {
        "of": labels.get(compare.of, compare.of) if compare else "one group",
        "over": labels.get(compare.over, compare.over) if compare else "another",
    }
    for name, one in declared.each(by_id, flows):
        label = declared.label.format(**words, label=labels.get(one, ""), flow=one)
        yield Metric(name, label, declared.quantity, _function(declared.name, by_id, one))


def _function(
    name: str, groups: Mapping[str, Group], of: str
) -> Callable[[Sample], float | Quotient | Share]:
    """Return what computes a metric of that group or flow, which may have the same name."""
    if name in CELL_FUNCTIONS:
        return CELL_FUNCTIONS[name]
    if name in FLOW_FUNCTIONS:
        return lambda sample: FLOW_FUNCTIONS[name](sample, of)
    return lambda sample: GROUP_FUNCTIONS[name](sample, groups[of])


def evaluate(metric: Metric, sample: Sample) -> Value:
    """Return the metric's value for a cell, or null and why."""
    try:
        found = metric.compute(sample)
    except UnavailableError as reason:
        return Value(None, str(reason))
    if isinstance(found, Quotient):
        return Value(found.value, None, found)
    if isinstance(found, Share):
        return Value(found.value, None, share=found)
    return Value(found, None)
