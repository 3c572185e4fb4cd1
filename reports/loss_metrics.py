"""The metrics of how a group's flows recovered from loss: means over their loss episodes. Pure.

Invariant: as all metrics, null with a reason where an episode does not tell, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.display import PACKETS, SECONDS
from reports.path_metrics import GroupFunction, GroupMetric
from reports.records import Group
from reports.sample import Sample, UnavailableError, total

#: A loss an acknowledgement told of: duplicates, or fewer and time.
_TOLD = ("dupacks", "rack")


def _episodes(sample: Sample, group: Group) -> list[Mapping[str, Any]]:
    if sample.episodes is None:
        raise UnavailableError("neither captured (--pcap) nor told by the kernel's events")
    flows = {flow.flow for flow in sample.flows if flow.group == group.id}
    return [row for row in sample.episodes if row["flow"] in flows]


def _mean_when_told(column: str, what: str) -> GroupFunction:
    """Return the metric that averages a column over the losses acknowledgements told of."""

    def compute(sample: Sample, group: Group) -> float:
        told = [row for row in _episodes(sample, group) if row["detected_by"] in _TOLD]
        if not told:
            raise UnavailableError(f"no acknowledgement told {group.label} of a loss")
        values = [row[column] for row in told]
        unknown = sum(value is None for value in values)
        if unknown:
            raise UnavailableError(
                f"{what} not known in {unknown} of {len(told)} loss episodes of {group.label}: "
                "captures tell (--pcap)"
            )
        return total(values, what) / len(values)

    return compute


def recover_s(sample: Sample, group: Group) -> float:
    """Return the mean time from when the sender acted until all was acknowledged.

    An episode that was not over when the run ended is left out.
    """
    over = [row for row in _episodes(sample, group) if row["recovered_s"] is not None]
    values = [row["recover_s"] for row in over]
    return total(values, f"loss of {group.label} that was recovered from") / len(values)


LOSS_METRICS: tuple[GroupMetric, ...] = (
    (
        "dupacks_{group}_pkts", "Duplicates before {label} repeats a lost packet",
        PACKETS, _mean_when_told("dupacks", "duplicates"),
    ),
    (
        "new_data_on_dupacks_{group}_pkts", "New packets {label} sends on duplicates", PACKETS,
        _mean_when_told("new_data_pkts", "new packets sent"),
    ),
    ("recover_{group}_s", "Time to recover from a loss, {label}", SECONDS, recover_s),
)  # fmt: skip
