"""The metrics of how a group's flows recovered from loss: means over their loss episodes. Pure.

Invariant: as all metrics, null with a reason where an episode does not tell, never 0.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from model.run_files.study import Group
from reports.measures.path import GroupFunction
from reports.store.sample import Sample, Share, UnavailableError, total

#: A loss an acknowledgement told of: duplicates, or fewer and time.
_TOLD = ("dupacks", "rack")


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


def _share(true: Iterable[bool]) -> Share:
    found = [bool(one) for one in true]
    return Share(sum(found), len(found))


def _mean_when_told(column: str, what: str) -> GroupFunction:
    """Return the metric that averages a column over the losses acknowledgements told of."""

    def compute(sample: Sample, group: Group) -> float:
        values = _known(_told(sample, group), column, what, group)
        return total(values, what) / len(values)

    return compute


def _on_duplicate(number: int, found: Callable[[list[int]], float | Share]) -> GroupFunction:
    """Return the metric of how many new packets were sent on one duplicate.

    Of the losses that had so many duplicates before the sender acted, or as it did.
    """

    def compute(sample: Sample, group: Group) -> float | Share:
        told = _told(sample, group)
        what = f"new packets sent on duplicate {number}"
        had = [row for row in told if row["dupacks"] is None or row["dupacks"] >= number]
        if not had:
            plural = "" if number == 1 else "s"
            raise UnavailableError(
                f"no loss of {group.label} had {number} duplicate{plural} before it was repeated"
            )
        values = _known(had, f"new_data_on_dupack_{number}_pkts", what, group)
        return found(values)

    return compute


def _repeats_on(number: int) -> GroupFunction:
    """Return the metric that is the share of losses the sender acted on at one duplicate."""

    def compute(sample: Sample, group: Group) -> Share:
        values = _known(_told(sample, group), "dupacks", "duplicates", group)
        return _share(value == number for value in values)

    return compute


def recover_s(sample: Sample, group: Group) -> float:
    """Return the mean time from when the sender acted until all was acknowledged.

    An episode that was not over when the run ended is left out.
    """
    over = [row for row in _episodes(sample, group) if row["recovered_s"] is not None]
    values = [row["recover_s"] for row in over]
    return total(values, f"loss of {group.label} that was recovered from") / len(values)


def flight_full_frac(sample: Sample, group: Group) -> Share:
    """Return the share of losses repeated though the window had no room for another packet.

    The window as it was before it was cut. Of the losses an acknowledgement told of whose flight
    and window are known.
    """
    if sample.path is None:
        raise UnavailableError("the run is of an older version, which did not write packets' sizes")
    size = {flow.flow: flow.payload_bytes for flow in sample.path.flows}
    told = _told(sample, group)
    flight = _known(told, "flight_at_act_bytes", "what was in flight", group)
    cwnd = _known(told, "cwnd_before_bytes", "the window before it", group)
    return _share(f + size[row["flow"]] > c for row, f, c in zip(told, flight, cwnd, strict=True))


def _mean_where_known(column: str, what: str) -> GroupFunction:
    """Return the metric that averages a column over the told losses that have it."""

    def compute(sample: Sample, group: Group) -> float:
        values = [row[column] for row in _told(sample, group) if row[column] is not None]
        return total(values, f"{what} of {group.label}") / len(values)

    return compute


def grows_at_recovery_frac(sample: Sample, group: Group) -> Share:
    """Return the share of losses, over without a timeout, whose last acknowledgement opened it.

    The congestion window, that is.
    An episode whose window at its end is not known is left out.
    """
    pairs = [
        (row["cwnd_at_recovery_bytes"], row["cwnd_after_recovery_bytes"])
        for row in _told(sample, group)
        if row["timeouts"] == 0
    ]
    known = [(met, left) for met, left in pairs if met is not None and left is not None]
    if not known:
        raise UnavailableError(f"no window of {group.label} is known at the end of a loss")
    return _share(left > met for met, left in known)


def cwnd_stays_frac(sample: Sample, group: Group) -> Share:
    """Return the share of losses, over without a timeout, through which the window stayed.

    As it was when the first acknowledgement after the sender acted came, until they were over. An
    episode of which that is not known is left out.
    """
    told = [row for row in _told(sample, group) if row["timeouts"] == 0]
    known = [row["cwnd_changes"] for row in told if row["cwnd_changes"] is not None]
    if not known:
        raise UnavailableError(f"no window of {group.label} is known from a loss to its end")
    return _share(changes == 0 for changes in known)


def timeouts(sample: Sample, group: Group) -> float:
    """Return how often a retransmission timer of the group expired.

    Captures tell each; the kernel's events tell at most one between two acknowledgements, so
    without captures the hosts' own counters are asked.
    """
    if sample.paths:
        return total((row["timeouts"] for row in _episodes(sample, group)), "timeouts", none=0.0)
    flows = [flow for flow in sample.flows if flow.group == group.id]
    if any(flow.timeouts is None for flow in flows):
        raise UnavailableError(
            f"not captured (--pcap), and the hosts' counters (collect: counters_s) do not tell it "
            f"of every flow of {group.label}"
        )
    return total((flow.timeouts for flow in flows), "timeouts")


def timeout_if_lost_again_frac(sample: Sample, group: Group) -> Share:
    """Return the share of episodes in which a retransmission was lost that had a timeout."""
    rows = _episodes(sample, group)
    lost = _known(rows, "lost_again_pkts", "lost retransmissions", group)
    vain = [row["timeouts"] for row, again in zip(rows, lost, strict=True) if again]
    if not vain:
        raise UnavailableError(f"no retransmission of {group.label} was lost")
    return _share(expired > 0 for expired in vain)


LOSS_FUNCTIONS: dict[str, GroupFunction] = {
    "dupacks_{group}_pkts": _mean_when_told("dupacks", "duplicates"),
    "new_data_on_dupacks_{group}_pkts": _mean_when_told("new_data_pkts", "new packets sent"),
    **{
        f"new_data_on_dupack_{k}_{{group}}_pkts": _on_duplicate(k, statistics.fmean)
        for k in (1, 2, 3)
    },
    **{
        f"sends_on_dupack_{k}_{{group}}_frac": _on_duplicate(
            k, lambda packets: _share(n > 0 for n in packets)
        )
        for k in (1, 2, 3)
    },
    **{f"repeats_on_dupack_{k}_{{group}}_frac": _repeats_on(k) for k in (3, 4)},
    "first_new_on_dupack_{group}": _mean_where_known(
        "first_new_on_dupack", "new data on a duplicate"
    ),
    "acks_to_new_data_{group}_pkts": _mean_where_known(
        "acks_to_new_data_pkts", "new data after a repeat"
    ),
    "flight_full_{group}_frac": flight_full_frac,
    "regrow_{group}_s": _mean_where_known("regrow_s", "window that had grown again"),
    "grows_at_recovery_{group}_frac": grows_at_recovery_frac,
    "cwnd_stays_{group}_frac": cwnd_stays_frac,
    "timeouts_{group}": timeouts,
    "timeout_if_lost_again_{group}_frac": timeout_if_lost_again_frac,
    "recover_{group}_s": recover_s,
}
