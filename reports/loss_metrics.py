"""The metrics of how a group's flows recovered from loss: means over their loss episodes. Pure.

Invariant: as all metrics, null with a reason where an episode does not tell, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reports.display import PACKETS, SECONDS, Quantity
from reports.path_metrics import GroupFunction, GroupMetric
from reports.records import Group
from reports.sample import Sample, UnavailableError, total

#: A loss an acknowledgement told of: duplicates, or fewer and time.
_TOLD = ("dupacks", "rack")
#: A share of losses.
SHARE = Quantity("%", 100, 1)


def _episodes(sample: Sample, group: Group) -> list[Mapping[str, Any]]:
    if sample.episodes is None:
        raise UnavailableError("neither captured (--pcap) nor told by the kernel's events")
    flows = {flow.flow for flow in sample.flows if flow.group == group.id}
    return [row for row in sample.episodes if row["flow"] in flows]


def _told(sample: Sample, group: Group) -> list[Mapping[str, Any]]:
    told = [row for row in _episodes(sample, group) if row["detected_by"] in _TOLD]
    if not told:
        raise UnavailableError(f"no acknowledgement told {group.label} of a loss")
    return told


def _known(rows: Sequence[Mapping[str, Any]], column: str, what: str, group: Group) -> list[int]:
    """Return a column of some episodes; raise :class:`UnavailableError` if one does not tell."""
    values = [row[column] for row in rows if row[column] is not None]
    if len(values) < len(rows):
        raise UnavailableError(
            f"{what} not known in {len(rows) - len(values)} of {len(rows)} loss episodes of "
            f"{group.label}: captures tell (--pcap)"
        )
    return values


def _mean_when_told(column: str, what: str) -> GroupFunction:
    """Return the metric that averages a column over the losses acknowledgements told of."""

    def compute(sample: Sample, group: Group) -> float:
        values = _known(_told(sample, group), column, what, group)
        return total(values, what) / len(values)

    return compute


def _on_duplicate(number: int, counted: Callable[[int], int]) -> GroupFunction:
    """Return the metric that averages what is counted of the packets sent on one duplicate.

    Over the losses that had so many duplicates before the sender acted, or as it did.
    """

    def compute(sample: Sample, group: Group) -> float:
        told = _told(sample, group)
        what = f"new packets sent on duplicate {number}"
        had = [row for row in told if row["dupacks"] is None or row["dupacks"] >= number]
        if not had:
            plural = "" if number == 1 else "s"
            raise UnavailableError(
                f"no loss of {group.label} had {number} duplicate{plural} before it was repeated"
            )
        values = _known(had, f"new_data_on_dupack_{number}_pkts", what, group)
        return math.fsum(map(counted, values)) / len(values)

    return compute


def _repeats_on(number: int) -> GroupFunction:
    """Return the metric that is the share of losses the sender acted on at one duplicate."""

    def compute(sample: Sample, group: Group) -> float:
        values = _known(_told(sample, group), "dupacks", "duplicates", group)
        return values.count(number) / len(values)

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
    *(
        (
            f"new_data_on_dupack_{k}_{{group}}_pkts",
            f"New packets {{label}} sends on duplicate {k}", PACKETS, _on_duplicate(k, int),
        )
        for k in (1, 2, 3)
    ),
    *(
        (
            f"sends_on_dupack_{k}_{{group}}_frac",
            f"Losses on whose duplicate {k} {{label}} sends new data", SHARE,
            _on_duplicate(k, lambda packets: int(packets > 0)),
        )
        for k in (1, 2, 3)
    ),
    *(
        (
            f"repeats_on_dupack_{k}_{{group}}_frac",
            f"Losses {{label}} repeats on duplicate {k}", SHARE, _repeats_on(k),
        )
        for k in (3, 4)
    ),
    ("recover_{group}_s", "Time to recover from a loss, {label}", SECONDS, recover_s),
)  # fmt: skip
