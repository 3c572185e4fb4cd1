"""The metrics there are, each declared once: what a study may ask for and a report computes.

Names carry the unit and, in braces, the group or flow that each is of. ``reports/measures`` has a
function for every one of them; docs/metrics.md gives formulas and sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from model.run_files.quantity import (
    BIT_PER_S,
    COUNT,
    FRACTION,
    INDEX,
    KBIT_PER_S,
    MILLISECONDS,
    PACKETS,
    PERCENT,
    SECONDS,
    SEGMENTS,
    SHARE,
    Quantity,
)


@dataclass(frozen=True)
class Bounds:
    """What a metric can be at least and at most, in its own unit."""

    least: float = 0.0
    most: float = math.inf

    @property
    def words(self) -> str:
        """What messages want."""
        if self.most == math.inf:
            return f"{self.least:g} or more"
        return f"{self.least:g} to {self.most:g}"


#: Parts of a whole, by what a metric's name ends in; fairness is an index (Jain, DEC-TR-301, 1984).
_PARTS = {"share_{group}_pct": 100.0, "jain_flows": 1.0, "jain_protocols": 1.0}


#: What networks are made of.
Made = Literal["links", "radios"]


@dataclass(frozen=True)
class Declared:
    """A metric: its name, what readers see, how it is shown, and what it means in words.

    ``needs`` is the key of a study without which it cannot be computed, ``only`` what a network is
    of that has it: packets are followed over links, frames and their routes over radios.
    """

    name: str
    label: str
    quantity: Quantity
    meaning: str
    needs: str | None = None
    only: Made | None = None

    @property
    def bounds(self) -> Bounds:
        """What it can be: only an increase may be negative, and is no fall by more than all.

        Air times of signals that are sent at once, far apart or on two channels, add up.
        """
        if self.name == "pct_increase":
            return Bounds(least=-100.0)
        is_part = self.name.endswith("_frac") and not self.name.startswith("air_")
        whole = 1.0 if is_part else math.inf
        return Bounds(most=_PARTS.get(self.name, whole))

    def each(self, groups: Iterable[str], flows: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield its name for every group or flow, with that; once, with "", if it is of neither."""
        many = groups if "{group}" in self.name else flows if "{flow}" in self.name else ("",)
        for one in many:
            yield self.name.format(group=one, flow=one), one


#: How the metrics begin for which acknowledgements are counted at the receivers.
COUNTED_ACKS = ("ack_bandwidth_", "sack_bandwidth_")
#: What every study has.
ALWAYS = (
    Declared(
        "share_{group}_pct", "Share of goodput, {label}", PERCENT,
        "percentage throughput: the group's goodput of all groups' goodput",
    ),
    Declared(
        "goodput_{group}_bps", "Goodput, {label}", KBIT_PER_S,
        "new application bytes of the group per second, in bits",
    ),
    Declared(
        "loss_{group}_frac", "Realised loss, {label}", FRACTION,
        "realised loss: packets lost of packets offered to the loss model", only="links",
    ),
    Declared(
        "cwnd_mean_{group}_segments", "Mean congestion window, {label}", SEGMENTS,
        "congestion window, mean over time and over the group's flows",
    ),
    Declared(
        "pct_increase", "Increase in goodput of {of} over {over}", PERCENT,
        "percentage increase of goodput, compare.of over compare.over", needs="compare",
    ),
    Declared(
        "utilisation_pct", "Link utilisation", PERCENT,
        "all groups' goodput as a percentage of the bottleneck's rate", only="links",
    ),
    Declared(
        "jain_flows", "Jain fairness over the flows", INDEX,
        "Jain's fairness index over the single flows",
    ),
    Declared(
        "jain_protocols", "Jain fairness over the protocol totals", INDEX,
        "Jain's fairness index over the groups' totals",
    ),
    Declared(
        "owd_mean_{group}_s", "One-way delay, mean, {label}", MILLISECONDS,
        "mean one-way delay of packets with data, over the group's flows", only="links",
    ),
    Declared(
        "owd_p95_{group}_s", "One-way delay, 95th percentile, {label}", MILLISECONDS,
        "95th percentile of the same, mean over the group's flows", only="links",
    ),
    Declared(
        "jitter_{group}_s", "Jitter, {label}", MILLISECONDS,
        "mean difference of the delays of consecutive arrivals", only="links",
    ),
    Declared(
        "queueing_{group}_s", "Time in the bottleneck's buffer, {label}", MILLISECONDS,
        "mean time in the bottleneck's buffer, being sent included", only="links",
    ),
    Declared(
        "connect_to_data_{group}_s", "Time to first data, {label}", SECONDS,
        "from a flow's first packet until its first data arrived", only="links",
    ),
    Declared(
        "wire_rate_{group}_bps", "Wire rate of data, {label}", KBIT_PER_S,
        "IP packets of the group's data out of the buffer, bits per second", only="links",
    ),
    Declared(
        "ack_wire_rate_{group}_bps", "Bandwidth of acknowledgements, {label}", KBIT_PER_S,
        "IP packets of the group's acknowledgements, bits per second", only="links",
    ),
    Declared(
        "queue_dropped_{group}_pkts", "Dropped by the buffer, {label}", PACKETS,
        "data packets of the group the bottleneck's buffer dropped", only="links",
    ),
)  # fmt: skip
#: What a study has only where it asks for it.
ASKED = (
    Declared(
        "flow_goodput_{flow}_bps", "Goodput of flow {flow}", KBIT_PER_S,
        "new application bytes of the flow per second, in bits",
    ),
    Declared(
        "flow_owd_mean_{flow}_s", "One-way delay, mean, of flow {flow}", MILLISECONDS,
        "mean one-way delay of the flow's packets with data", only="links",
    ),
    Declared(
        "flow_jitter_{flow}_s", "Jitter of flow {flow}", MILLISECONDS,
        "mean difference of the delays of its consecutive arrivals", only="links",
    ),
    Declared(
        "flow_wire_rate_{flow}_bps", "Wire rate of flow {flow}", KBIT_PER_S,
        "IP packets of its data out of the buffer, bits per second", only="links",
    ),
    Declared(
        "utilisation_sent_pct", "Link utilisation, new data sent", PERCENT,
        "the same of new data sent, over the whole run", only="links",
    ),
    Declared(
        "utilisation_data_pct", "Link utilisation, all data", PERCENT,
        "the same of data out of the buffer, repeated or not", only="links",
    ),
    Declared(
        "utilisation_wire_pct", "Link utilisation, packets", PERCENT,
        "the same with headers", only="links",
    ),
    Declared(
        "silent_bins_frac", "Time without an arrival", SHARE,
        "bins of time between two times in which no data arrived", needs="bins", only="links",
    ),
    Declared(
        "low_bins_frac", "Time with less than half of the rate", SHARE,
        "bins in which data took less than half of the bottleneck's rate", needs="bins",
        only="links",
    ),
    Declared(
        "delivered_{group}_segments", "Segments delivered, {label}", SEGMENTS,
        "the group's goodput between two times, in messages", needs="delivered",
    ),
    Declared(
        "goodput_cv_{group}_pct", "Spread of goodput over the flows, {label}", PERCENT,
        "spread of goodput over the group's flows, in % of their mean",
    ),
    Declared(
        "goodput_over_time_{group}_pct", "Variation of goodput over time, {label}", PERCENT,
        "variation of goodput over 10 s bins, in % of its mean",
    ),
    Declared(
        "sent_{group}_segments", "Segments sent, {label}", SEGMENTS,
        "new data the group sent between these times, in packets", needs="delivered", only="links",
    ),
    Declared(
        "cwnd_min_{group}_segments", "Smallest congestion window, {label}", SEGMENTS,
        "smallest congestion window between two times, of any flow", needs="windows",
    ),
    Declared(
        "cwnd_max_{group}_segments", "Largest congestion window, {label}", SEGMENTS,
        "largest congestion window between these times, of any flow", needs="windows",
    ),
    Declared(
        "jitter_min_{group}_s", "Least jitter, {label}", MILLISECONDS,
        "the least of these differences, mean over the group's flows", only="links",
    ),
    Declared(
        "jitter_p50_{group}_s", "Median jitter, {label}", MILLISECONDS,
        "their median", only="links",
    ),
    Declared(
        "jitter_max_{group}_s", "Largest jitter, {label}", MILLISECONDS,
        "the largest", only="links",
    ),
    Declared(
        "dupacks_{group}_pkts", "Duplicates before {label} repeats a lost packet", PACKETS,
        "duplicates that had come when a lost packet was repeated, mean",
    ),
    Declared(
        "new_data_on_dupacks_{group}_pkts", "New packets {label} sends on duplicates", PACKETS,
        "new packets sent on those duplicates, mean over losses",
    ),
    Declared(
        "new_data_on_dupack_1_{group}_pkts", "New packets {label} sends on duplicate 1", PACKETS,
        "new packets sent on duplicate 1 alone, mean",
    ),
    Declared(
        "new_data_on_dupack_2_{group}_pkts", "New packets {label} sends on duplicate 2", PACKETS,
        "new packets sent on duplicate 2 alone, mean",
    ),
    Declared(
        "new_data_on_dupack_3_{group}_pkts", "New packets {label} sends on duplicate 3", PACKETS,
        "new packets sent on duplicate 3 alone, mean",
    ),
    Declared(
        "sends_on_dupack_1_{group}_frac",
        "Losses on whose duplicate 1 {label} sends new data", SHARE,
        "losses on whose duplicate 1 new data was sent",
    ),
    Declared(
        "sends_on_dupack_2_{group}_frac",
        "Losses on whose duplicate 2 {label} sends new data", SHARE,
        "losses on whose duplicate 2 new data was sent",
    ),
    Declared(
        "sends_on_dupack_3_{group}_frac",
        "Losses on whose duplicate 3 {label} sends new data", SHARE,
        "losses on whose duplicate 3 new data was sent",
    ),
    Declared(
        "repeats_on_dupack_3_{group}_frac", "Losses {label} repeats on duplicate 3", SHARE,
        "losses repeated on duplicate 3 exactly",
    ),
    Declared(
        "repeats_on_dupack_4_{group}_frac", "Losses {label} repeats on duplicate 4", SHARE,
        "losses repeated on duplicate 4 exactly",
    ),
    Declared(
        "first_new_on_dupack_{group}", "Duplicate on which {label} first sends new data", COUNT,
        "duplicate on which new data first left, mean over losses",
    ),
    Declared(
        "acks_to_new_data_{group}_pkts",
        "Acknowledgements until {label} sends new data again", PACKETS,
        "acknowledgements from the repeat to the first new data, mean",
    ),
    Declared(
        "flight_full_{group}_frac", "Losses {label} repeats with a full window in flight", SHARE,
        "losses repeated though the window had no room for another packet",
    ),
    Declared(
        "regrow_{group}_s", "Time until the window has grown again, {label}", SECONDS,
        "from acting on a loss until the window grew by a message, mean",
    ),
    Declared(
        "grows_at_recovery_{group}_frac", "Losses that end with a larger window, {label}", SHARE,
        "losses at whose last acknowledgement the window grew",
    ),
    Declared(
        "cwnd_stays_{group}_frac",
        "Losses through which the window stays as it was cut, {label}", SHARE,
        "losses through which the window stayed as it was cut",
    ),
    Declared(
        "timeouts_{group}", "Timeouts, {label}", COUNT,
        "expiries of the group's retransmission timers",
    ),
    Declared(
        "timeout_if_lost_again_{group}_frac", "Repeated in vain, then a timeout, {label}", SHARE,
        "losses repeated in vain that ended in a timeout",
    ),
    Declared(
        "recover_{group}_s", "Time to recover from a loss, {label}", SECONDS,
        "from acting on a loss until all was acknowledged, mean over losses",
    ),
    Declared(
        "message_delay_mean_{group}_s", "Message delay, mean, {label}", MILLISECONDS,
        "from the application's handing over a message to its delivery, mean",
    ),
    Declared(
        "message_delay_p50_{group}_s", "Message delay, median, {label}", MILLISECONDS,
        "median of the same, mean over the group's flows",
    ),
    Declared(
        "message_delay_p95_{group}_s", "Message delay, 95th percentile, {label}", MILLISECONDS,
        "95th percentile of the same, mean over the group's flows",
    ),
    Declared(
        "message_delay_p99_{group}_s", "Message delay, 99th percentile, {label}", MILLISECONDS,
        "99th percentile of the same, mean over the group's flows",
    ),
    Declared(
        "message_delay_max_{group}_s", "Message delay, longest, {label}", MILLISECONDS,
        "longest of the same, of any of the group's flows",
    ),
    Declared(
        "stream_delay_max_{group}_s", "Message delay of the slowest stream, {label}", MILLISECONDS,
        "mean message delay of the stream whose is longest, mean over the group's flows",
    ),
    Declared(
        "stream_delay_min_{group}_s", "Message delay of the fastest stream, {label}", MILLISECONDS,
        "mean message delay of the stream whose is shortest, mean over the group's flows",
    ),
    Declared(
        "connect_{group}_s", "Connect time, {label}", SECONDS,
        "from the application's asking for a connection until it is up, mean over flows",
    ),
    Declared(
        "unconnected_{group}", "Flows never connected, {label}", COUNT,
        "flows of the group whose connection was never set up",
    ),
    Declared(
        "retransmitted_{group}_pkts", "Retransmissions, {label}", PACKETS,
        "segments or chunks with data the group sent again, by its kernels",
    ),
    Declared(
        "ack_bandwidth_{group}_bps", "Bandwidth of packets that acknowledge, {label}", KBIT_PER_S,
        "IP packets that acknowledge and carry no data, counted where they leave, bits per second",
    ),
    Declared(
        "sack_bandwidth_{group}_bps", "Bandwidth of selective acknowledgements, {label}",
        BIT_PER_S,
        "SACK options or chunks alone of the same packets, bits per second",
    ),
    Declared(
        "delivery_gap_{group}_s", "Longest gap in delivery, {label}", SECONDS,
        "longest time without a delivery, from the first link down on", needs="events",
    ),
    Declared(
        "outstanding_{group}_s", "Until all that was outstanding is delivered, {label}", SECONDS,
        "from the first link down until all handed over before is delivered", needs="events",
    ),
    Declared(
        "other_path_{group}_s", "Until data comes over the other path, {label}", SECONDS,
        "from the first link down until data first comes over another path", needs="events",
    ),
    Declared(
        "failover_{group}_s", "Until the path is given up, {label}", SECONDS,
        "from the first link down until the sender's kernel gives up the path", needs="events",
    ),
    Declared(
        "path_timeouts_{group}", "Timeouts until the path is given up, {label}", COUNT,
        "times its timeout grew from the first link down until then", needs="events",
    ),
    Declared(
        "switchover_{group}_s", "Until another path is the primary, {label}", SECONDS,
        "from the first link down until the sender's kernel makes another path the primary",
        needs="events",
    ),
    Declared(
        "return_{group}_s", "Until data comes over the path again, {label}", SECONDS,
        "from the link's being up again until data comes over its path", needs="events",
    ),
    Declared(
        "link_breaks", "Links that broke", COUNT,
        "next hops that routing daemons took for gone, over all nodes", only="radios",
    ),
    Declared(
        "routes_broken", "Routes that broke", COUNT,
        "routes given up because a link broke or an error said so, over all nodes", only="radios",
    ),
    Declared(
        "discoveries", "Route discoveries", COUNT,
        "searches for a destination that routing daemons began, over all nodes", only="radios",
    ),
    Declared(
        "routing_rate_bps", "Bandwidth of routing messages", KBIT_PER_S,
        "packets of routing as radios get them, each hop counted, bits per second of the run",
        only="radios",
    ),
    Declared(
        "frames_given_up", "Frames given up by radios", COUNT,
        "frames to one radio that were sent as often as may be and not acknowledged", only="radios",
    ),
    Declared(
        "packets_given_up", "Packets given up by radios", COUNT,
        "of the frames given up those with a packet, or of ARP; the others are of 802.11 itself",
        only="radios",
    ),
    Declared(
        "frames_queue_dropped", "Frames dropped by radios' queues", COUNT,
        "frames that found as many waiting as a radio holds", only="radios",
    ),
    Declared(
        "attempts_collided_frac", "Attempts that collided", SHARE,
        "attempts to reach one radio, by RTS or without, that another signal destroyed there",
        only="radios",
    ),
    Declared(
        "rts_unanswered_frac", "RTS without CTS", SHARE,
        "RTS whose CTS did not come, of all", only="radios",
    ),
    Declared(
        "air_data_frac", "Air time of data frames", SHARE,
        "time of all radios' data frames to one other, over the length of the run", only="radios",
    ),
    Declared(
        "air_broadcast_frac", "Air time of frames to all", SHARE,
        "the same of frames to all, of routing or for ARP; where babel or batman-adv routes, whose"
        " messages begin before a run, over the life of the medium", only="radios",
    ),
    Declared(
        "air_management_frac", "Air time of beacons", SHARE,
        "the same of management frames, beacons, over the life of the medium", only="radios",
    ),
    Declared(
        "air_ack_frac", "Air time of radios' ACKs", SHARE,
        "the same of the radios' own acknowledgements", only="radios",
    ),
    Declared(
        "air_rts_cts_frac", "Air time of RTS and CTS", SHARE, "the same of RTS and CTS together",
        only="radios",
    ),
    Declared(
        "returned_{group}_frac", "Flows that return to the path, {label}", SHARE,
        "flows whose data comes over the path again once its link is up, of all", needs="events",
    ),
    Declared(
        "hol_wait_mean_{group}_s", "Head-of-line wait, mean, {label}", MILLISECONDS,
        "time a message that had arrived waited for others, mean over all", only="links",
    ),
    Declared(
        "hol_wait_p99_{group}_s", "Head-of-line wait, 99th percentile, {label}", MILLISECONDS,
        "99th percentile of the same, mean over the group's flows", only="links",
    ),
    Declared(
        "hol_blocked_{group}_frac", "Messages that waited for others, {label}", SHARE,
        "messages that had arrived and waited a millisecond or more for others", only="links",
    ),
)  # fmt: skip


def metric_names(groups: Iterable[str], flows: Iterable[str] = ()) -> tuple[str, ...]:
    """Return every metric's name for a study with these groups and flows."""
    groups, flows = list(groups), list(flows)
    return tuple(name for one in (*ALWAYS, *ASKED) for name, _ in one.each(groups, flows))


def metric_bounds(groups: Iterable[str], flows: Iterable[str] = ()) -> dict[str, Bounds]:
    """Return what each metric of a study with these groups and flows can be."""
    groups, flows = list(groups), list(flows)
    return {name: one.bounds for one in (*ALWAYS, *ASKED) for name, _ in one.each(groups, flows)}


def metric_needs(groups: Iterable[str]) -> dict[str, str]:
    """Return the key of the study that a metric needs, by the metric's name."""
    groups = list(groups)
    return {
        name: one.needs
        for one in (*ALWAYS, *ASKED)
        if one.needs
        for name, _ in one.each(groups, ())
    }


def metric_made_of(groups: Iterable[str], flows: Iterable[str]) -> dict[str, Made]:
    """Return what a network is made of that alone has a metric, by the metric's name."""
    groups, flows = list(groups), list(flows)
    return {
        name: one.only
        for one in (*ALWAYS, *ASKED)
        if one.only
        for name, _ in one.each(groups, flows)
    }
