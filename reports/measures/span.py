"""The metrics of what happens between two times of a run that the study gives. Pure.

Invariant: as all metrics, null with a reason where a cell does not tell, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from model.run_files.study import Group
from reports.measures.path import GroupFunction
from reports.store.sample import Sample, UnavailableError, total

_Value = TypeVar("_Value")


def _of_group(
    found: Mapping[str, _Value] | str, sample: Sample, group: Group, what: str
) -> list[_Value]:
    """Return the value of each of the group's flows; raise why one of them has none."""
    if isinstance(found, str):
        raise UnavailableError(found)
    flows = [flow.flow for flow in sample.flows if flow.group == group.id]
    if not flows or not set(flows) <= set(found):
        raise UnavailableError(f"{what} of {group.label} is not known for every flow")
    return [found[flow] for flow in flows]


def sent_segments(sample: Sample, group: Group) -> float:
    """Return how many packets of new data the group's senders sent between the study's times."""
    what = "new data sent"
    return total(_of_group(sample.spans.sent_segments, sample, group, what), what)


def _window(pick: Callable[[list[tuple[float, float]]], float]) -> GroupFunction:
    def compute(sample: Sample, group: Group) -> float:
        known = sample.spans.cwnd_segments
        return pick(_of_group(known, sample, group, "congestion window"))

    return compute


def silent_bins_frac(sample: Sample) -> float:
    """Return the share of the study's bins in which no data arrived at a receiver."""
    return _bins(sample)[0]


def low_bins_frac(sample: Sample) -> float:
    """Return the share of bins in which data took less than half of the bottleneck's rate."""
    return _bins(sample)[1]


def _bins(sample: Sample) -> tuple[float, float]:
    found = sample.spans.bins
    if isinstance(found, str):
        raise UnavailableError(found)
    return found


SPAN_FUNCTIONS: dict[str, GroupFunction] = {
    "sent_{group}_segments": sent_segments,
    "cwnd_min_{group}_segments": _window(lambda ranges: min(low for low, _ in ranges)),
    "cwnd_max_{group}_segments": _window(lambda ranges: max(high for _, high in ranges)),
}
