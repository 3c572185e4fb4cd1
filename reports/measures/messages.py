"""The metrics of how long each group's messages took, from one application to the other. Pure.

Invariant: as all metrics, null with a reason where a cell does not tell, never 0. A message that
was never delivered has no delay, and the others would be a selection: then there is none either.
"""

from __future__ import annotations

from model.run_files.study import Group
from reports.measures.path import GroupFunction
from reports.store.sample import Sample, UnavailableError, total


def _statistics(sample: Sample, group: Group, kind: str, statistic: str) -> list[float]:
    """Return a statistic of each flow's messages.

    Raises:
        UnavailableError: there are no messages of one, or not all are known of.
    """
    if isinstance(sample.messages, str):
        raise UnavailableError(sample.messages)
    values = []
    for flow in (flow.flow for flow in sample.flows if flow.group == group.id):
        spread = sample.messages.get((flow, kind))
        if spread is None or not spread.messages:
            raise UnavailableError(f"{group.label} has no messages in the measuring window")
        if spread.unknown:
            what = "delivered" if kind == "delay_s" else "seen to arrive (captures) and read"
            raise UnavailableError(
                f"{spread.unknown} of {spread.messages} messages of {group.label} were not"
                f" {what}, or clocks do not tell"
            )
        values.append(spread.statistics[statistic])
    return values


def _over_flows(kind: str, statistic: str) -> GroupFunction:
    """Return the metric that is the mean over a group's flows of a statistic of their messages."""

    def compute(sample: Sample, group: Group) -> float:
        values = _statistics(sample, group, kind, statistic)
        return total(values, f"times of messages of {group.label}") / len(values)

    return compute


def _longest_delay(sample: Sample, group: Group) -> float:
    """Return the longest time any message of the group's flows took."""
    return max(_statistics(sample, group, "delay_s", "max"))


MESSAGE_FUNCTIONS: dict[str, GroupFunction] = {
    "message_delay_mean_{group}_s": _over_flows("delay_s", "mean"),
    "message_delay_p50_{group}_s": _over_flows("delay_s", "p50"),
    "message_delay_p95_{group}_s": _over_flows("delay_s", "p95"),
    "message_delay_p99_{group}_s": _over_flows("delay_s", "p99"),
    "message_delay_max_{group}_s": _longest_delay,
    "stream_delay_max_{group}_s": _over_flows("delay_s", "stream_max"),
    "stream_delay_min_{group}_s": _over_flows("delay_s", "stream_min"),
    "hol_blocked_{group}_frac": _over_flows("wait_s", "blocked"),
    "hol_wait_mean_{group}_s": _over_flows("wait_s", "mean"),
    "hol_wait_p99_{group}_s": _over_flows("wait_s", "p99"),
}
