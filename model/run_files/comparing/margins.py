"""How far two labs' means of a metric may be apart and still agree: stated here, by kind, with why.

Invariant: every metric is in exactly one kind; margins are of what studies conclude from, never of
what labs were seen to differ by.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from model.run_files.metrics.every import ALWAYS, ASKED


@dataclass(frozen=True, kw_only=True)
class Margin:
    """The margin of metrics, by the names they are declared with.

    ``bound`` is in the metric's unit or, if ``relative``, a part of the mean of both labs; None:
    labs are compared and not judged.
    """

    metrics: tuple[str, ...]
    bound: float | None = None
    relative: bool = False
    why: str


MARGINS = (
    Margin(
        metrics=("pct_increase",),
        bound=3.0,
        why="as precisely as the studies want it known; the least advantage they tell of is 10 %",
    ),
    Margin(
        metrics=("share_{group}_pct",),
        bound=0.75,
        why="what 3 points of increase make of the shares of two groups",
    ),
    Margin(
        metrics=(
            "goodput_{group}_bps", "flow_goodput_{flow}_bps", "wire_rate_{group}_bps",
            "flow_wire_rate_{flow}_bps", "ack_wire_rate_{group}_bps", "ack_bandwidth_{group}_bps",
            "utilisation_pct",
            "utilisation_sent_pct", "utilisation_data_pct", "utilisation_wire_pct",
            "utilisation_link_pct",
            "delivered_{group}_segments", "sent_{group}_segments",
        ),
        bound=0.03,
        relative=True,
        why="a rate: 3 %, less than a third of the least difference that studies conclude from",
    ),
    Margin(
        metrics=(
            "cwnd_mean_{group}_segments", "owd_mean_{group}_s", "flow_owd_mean_{flow}_s",
            "owd_p95_{group}_s", "connect_to_data_{group}_s", "connect_{group}_s",
            "recover_{group}_s",
            "regrow_{group}_s", "message_delay_mean_{group}_s", "message_delay_p50_{group}_s",
            "message_delay_p95_{group}_s", "stream_delay_max_{group}_s",
            "stream_delay_min_{group}_s",
        ),
        bound=0.03,
        relative=True,
        why="goodput is a window in each round trip: 3 % of either is 3 % of it",
    ),
    Margin(
        metrics=("jain_flows", "jain_protocols"),
        bound=0.01,
        why="publications print and claim fairness with two decimals",
    ),
    Margin(
        metrics=(
            "sends_on_dupack_1_{group}_frac", "sends_on_dupack_2_{group}_frac",
            "sends_on_dupack_3_{group}_frac", "repeats_on_dupack_3_{group}_frac",
            "repeats_on_dupack_4_{group}_frac", "flight_full_{group}_frac",
            "grows_at_recovery_{group}_frac", "cwnd_stays_{group}_frac",
            "timeout_if_lost_again_{group}_frac", "silent_bins_frac", "low_bins_frac",
            "hol_blocked_{group}_frac",
        ),
        bound=0.05,
        why="what happens at one loss in twenty more or less is still the same behaviour",
    ),
    Margin(
        metrics=("loss_{group}_frac",),
        why="drawn from the seed, and every cell's losses are held to the draws, exactly",
    ),
    Margin(
        metrics=(
            "cwnd_min_{group}_segments", "cwnd_max_{group}_segments", "jitter_min_{group}_s",
            "jitter_max_{group}_s", "message_delay_p99_{group}_s", "hol_wait_p99_{group}_s",
            "message_delay_max_{group}_s", "queueing_p99_{group}_s", "delivery_gap_{group}_s",
            "outstanding_{group}_s",
            "other_path_{group}_s", "failover_{group}_s", "path_timeouts_{group}",
            "switchover_{group}_s", "return_{group}_s", "returned_{group}_frac",
        ),
        why="one moment of a run, or few",
    ),
    Margin(
        metrics=("goodput_cv_{group}_pct", "goodput_over_time_{group}_pct"),
        why="how far values are apart: no size of a difference is known to be harmless",
    ),
    Margin(
        metrics=(
            "jitter_{group}_s", "flow_jitter_{flow}_s", "jitter_p50_{group}_s",
            "queueing_{group}_s", "queueing_p95_{group}_s", "hol_wait_mean_{group}_s",
        ),
        why="as small as what labs' clocks differ by",
    ),
    Margin(
        metrics=(
            "queue_dropped_{group}_pkts", "marked_{group}_pkts", "dupacks_{group}_pkts",
            "new_data_on_dupacks_{group}_pkts", "new_data_on_dupack_1_{group}_pkts",
            "new_data_on_dupack_2_{group}_pkts", "new_data_on_dupack_3_{group}_pkts",
            "first_new_on_dupack_{group}", "acks_to_new_data_{group}_pkts", "timeouts_{group}",
            "retransmitted_{group}_pkts", "unconnected_{group}", "sack_bandwidth_{group}_bps",
        ),
        why="a few packets or events each: no size of a difference is known to be harmless",
    ),
    Margin(
        metrics=(
            "link_breaks", "routes_broken", "discoveries", "routing_rate_bps", "frames_given_up",
            "packets_given_up",
            "frames_queue_dropped", "attempts_collided_frac", "rts_unanswered_frac",
            "air_data_frac", "air_broadcast_frac", "air_management_frac", "air_ack_frac",
            "air_rts_cts_frac",
        ),
        why="only one lab has radios",
    ),
)  # fmt: skip


def margins(groups: Iterable[str], flows: Iterable[str]) -> dict[str, Margin]:
    """Return the margin of every metric of a study with these groups and flows, by its name."""
    groups, flows = list(groups), list(flows)
    of = {name: margin for margin in MARGINS for name in margin.metrics}
    return {
        name: of[declared.name]
        for declared in (*ALWAYS, *ASKED)
        for name, _ in declared.each(groups, flows)
    }
