"""The words a study file may use: one line adds one. Each table maps a name to what it means."""

from __future__ import annotations

import re
from collections.abc import Iterable

TOPOLOGIES = {
    "dumbbell": "sources, two routers with one bottleneck between them, destinations",
}

#: The kernel of hosts whose profile names none: the fastest (benchmarks/README.md).
DEFAULT_KERNEL = "7.3"
#: A kernel's version as Debian's source packages have it.
KERNEL_VERSION = re.compile(r"[0-9]{1,2}\.[0-9]{1,3}")

#: Congestion controls of TCP that the lab's kernels have, by the kernel's names.
CONGESTION_CONTROLS = {
    "bbr": "BBR version 1",
    "bic": "BIC",
    "cubic": "CUBIC",
    "highspeed": "HighSpeed TCP",
    "htcp": "H-TCP",
    "hybla": "TCP Hybla",
    "illinois": "TCP Illinois",
    "reno": "Reno",
    "scalable": "Scalable TCP",
    "vegas": "TCP Vegas",
    "veno": "TCP Veno",
    "westwood": "TCP Westwood+",
}
#: What a publication may say of one loss episode: columns of episodes.parquet, or in segments.
EPISODE_VALUES = (
    "dupacks", "new_data_pkts", "new_data_on_dupack_1_pkts", "new_data_on_dupack_2_pkts",
    "new_data_on_dupack_3_pkts", "first_new_on_dupack", "first_new_segment",
    "acks_to_new_data_pkts", "lost_pkts",
    "retransmitted_pkts", "lost_again_pkts", "timeouts", "cwnd_changes", "cwnd_at_recovery_bytes",
    "cwnd_at_recovery_segments", "cwnd_after_recovery_bytes", "cwnd_after_recovery_segments",
    "first_lost_segment", "cwnd_before_bytes", "cwnd_before_segments", "cwnd_after_bytes",
    "cwnd_after_segments", "ssthresh_after_bytes", "ssthresh_after_segments",
    "cwnd_grown_bytes", "cwnd_grown_segments", "flight_before_bytes", "flight_before_segments",
    "flight_at_act_bytes", "flight_at_act_segments",
    "lost_s", "detected_s", "recovered_s", "detect_s", "recover_s", "regrow_s",
)  # fmt: skip
#: Metrics a study may ask for and print published values of; ``{group}`` is one of its groups.
METRICS = {
    "share_{group}_pct": "percentage throughput: the group's goodput of all groups' goodput",
    "goodput_{group}_bps": "new application bytes of the group per second, in bits",
    "pct_increase": "percentage increase of goodput, compare.of over compare.over",
    "utilisation_pct": "all groups' goodput as a percentage of the bottleneck's rate",
    "utilisation_sent_pct": "the same of new data sent, over the whole run",
    "utilisation_data_pct": "the same of data out of the buffer, repeated or not",
    "utilisation_wire_pct": "the same with headers",
    "silent_bins_frac": "bins of time between two times in which no data arrived",
    "low_bins_frac": "bins in which data took less than half of the bottleneck's rate",
    "loss_{group}_frac": "realised loss: packets lost of packets offered to the loss model",
    "owd_mean_{group}_s": "mean one-way delay of packets with data, over the group's flows",
    "owd_p95_{group}_s": "95th percentile of the same, mean over the group's flows",
    "jitter_{group}_s": "mean difference of the delays of consecutive arrivals",
    "jitter_min_{group}_s": "the least of these differences, mean over the group's flows",
    "jitter_p50_{group}_s": "their median",
    "jitter_max_{group}_s": "the largest",
    "queueing_{group}_s": "mean time in the bottleneck's buffer, being sent included",
    "connect_to_data_{group}_s": "from a flow's first packet until its first data arrived",
    "cwnd_mean_{group}_segments": "congestion window, mean over time and over the group's flows",
    "delivered_{group}_segments": "the group's goodput between two times, in messages",
    "sent_{group}_segments": "new data the group sent between these times, in packets",
    "cwnd_min_{group}_segments": "smallest congestion window between two times, of any flow",
    "cwnd_max_{group}_segments": "largest congestion window between these times, of any flow",
    "goodput_cv_{group}_pct": "spread of goodput over the group's flows, in % of their mean",
    "goodput_over_time_{group}_pct": "variation of goodput over 10 s bins, in % of its mean",
    "dupacks_{group}_pkts": "duplicates that had come when a lost packet was repeated, mean",
    "new_data_on_dupacks_{group}_pkts": "new packets sent on those duplicates, mean over losses",
    **{
        f"new_data_on_dupack_{k}_{{group}}_pkts": f"new packets sent on duplicate {k} alone, mean"
        for k in (1, 2, 3)
    },
    **{
        f"sends_on_dupack_{k}_{{group}}_frac": f"losses on whose duplicate {k} new data was sent"
        for k in (1, 2, 3)
    },
    **{
        f"repeats_on_dupack_{k}_{{group}}_frac": f"losses repeated on duplicate {k} exactly"
        for k in (3, 4)
    },
    "first_new_on_dupack_{group}": "duplicate on which new data first left, mean over losses",
    "acks_to_new_data_{group}_pkts": "acknowledgements from the repeat to the first new data, mean",
    "flight_full_{group}_frac": "losses repeated though the window had no room for another packet",
    "regrow_{group}_s": "from acting on a loss until the window grew by a message, mean",
    "grows_at_recovery_{group}_frac": "losses at whose last acknowledgement the window grew",
    "cwnd_stays_{group}_frac": "losses through which the window stayed as it was cut",
    "timeouts_{group}": "expiries of the group's retransmission timers",
    "timeout_if_lost_again_{group}_frac": "losses repeated in vain that ended in a timeout",
    "recover_{group}_s": "from acting on a loss until all was acknowledged, mean over losses",
    "wire_rate_{group}_bps": "IP packets of the group's data out of the buffer, bits per second",
    "ack_wire_rate_{group}_bps": "IP packets of the group's acknowledgements, bits per second",
    "queue_dropped_{group}_pkts": "data packets of the group the bottleneck's buffer dropped",
    "jain_flows": "Jain's fairness index over the single flows",
    "jain_protocols": "Jain's fairness index over the groups' totals",
}
#: Metrics of one flow; ``{flow}`` is one that runs at every point.
FLOW_METRICS = {
    "flow_goodput_{flow}_bps": "new application bytes of the flow per second, in bits",
    "flow_owd_mean_{flow}_s": "mean one-way delay of the flow's packets with data",
    "flow_jitter_{flow}_s": "mean difference of the delays of its consecutive arrivals",
    "flow_wire_rate_{flow}_bps": "IP packets of its data out of the buffer, bits per second",
}
#: Keys of a study that say between which times something is counted or looked at.
SPANS = ("delivered", "windows", "bins")
#: Metrics that need another key of the study: name as above, and the key.
METRIC_NEEDS = {
    "pct_increase": "compare",
    "delivered_{group}_segments": "delivered",
    "sent_{group}_segments": "delivered",
    "cwnd_min_{group}_segments": "windows",
    "cwnd_max_{group}_segments": "windows",
    "silent_bins_frac": "bins",
    "low_bins_frac": "bins",
}

#: Figures a study may ask for, and the keys of its own that each has besides `at` and `where`.
FIGURES = {
    "cwnd": ("from", "to"),
    "time_sequence": ("from", "to", "modulo", "together"),
    "single_loss": ("before", "after", "episode", "published"),
    "single_loss_cwnd": ("before", "after", "episode", "published"),
    "goodput_bins": ("from", "to", "bin", "count"),
    "over_time": ("from", "to", "bin", "of", "together", "overlay"),
    "share": (),
}
#: When a bin of goodput counts data: see docs/figures.md.
COUNTED = {
    "handed_on": "as it could be handed to the application",
    "arrivals": "as it first came out of the bottleneck",
    "sent": "as it was first sent",
}
#: What of a flow is drawn over time.
OVER_TIME = {
    "goodput": "data that came out of the bottleneck, each once",
    "delay": "one-way delay of packets with data",
    "jitter": "difference of the delays of consecutive arrivals",
}

#: Rules about settings that are legal but misleading; a study may acknowledge them with a reason.
RULES = {
    "ack-loss": "acknowledgements are lost too",
    "another-kernel": "the kernel is not the one that stands for the hosts best",
    "channel-limit-below-path": "the delay stage drops packets the path should hold",
    "control-held-back": "the hosts hold a younger congestion control back",
    "equal-seeds": "two replicates are the same run",
    "heavy-loss": "timeouts and handshakes are what is measured",
    "iperf3-cannot-set": "iperf3 cannot apply what the flow or its host profile asks for",
    "message-not-one-packet": "a message is not one packet",
    "needless-acknowledgement": "a rule is acknowledged that does not fire",
    "one-seed": "one run has no confidence interval",
    "saved-tcp-metrics": "TCP starts from what earlier connections left behind",
    "sender-shaped": "the sender's own link is the bottleneck",
    "short-run": "the run is over before slow start matters little",
    "too-few-losses": "chance decides the outcome of one run",
    "window-below-path": "the receiver's window limits the flow, not the network",
}

INTEGER, TEXT = "a whole number", "text"
#: ``ip route`` options (iproute2's names) and the kind of value each takes.
ROUTE_OPTIONS = {
    "advmss": INTEGER, "congctl": TEXT, "cwnd": INTEGER, "features": TEXT,
    "initcwnd": INTEGER, "initrwnd": INTEGER, "mtu": INTEGER, "quickack": INTEGER,
    "reordering": INTEGER, "rto_min": TEXT, "ssthresh": INTEGER, "window": INTEGER,
}  # fmt: skip
#: Options of the probes' TCP sockets: long options with underscores.
TCP_SOCKET_OPTIONS = {
    "congestion_control": TEXT, "maxseg_bytes": INTEGER, "nodelay": INTEGER,
    "rcvbuf_bytes": INTEGER, "sndbuf_bytes": INTEGER, "window_clamp_bytes": INTEGER,
}  # fmt: skip
#: Options of the probes' SCTP sockets.
SCTP_SOCKET_OPTIONS = {
    "hb_disable": INTEGER, "hb_interval_ms": INTEGER, "max_burst_packets": INTEGER,
    "maxseg_bytes": INTEGER, "nodelay": INTEGER, "rcvbuf_bytes": INTEGER,
    "rto_initial_ms": INTEGER, "rto_max_ms": INTEGER, "rto_min_ms": INTEGER,
    "sack_delay_ms": INTEGER, "sack_freq_packets": INTEGER, "sndbuf_bytes": INTEGER,
}  # fmt: skip
KNOB_OPTIONS = {
    "route": ROUTE_OPTIONS,
    "tcp_socket": TCP_SOCKET_OPTIONS,
    "sctp_socket": SCTP_SOCKET_OPTIONS,
}
#: What iperf3 3.18 can set on its sockets (-C, -M, -N, and -w for both buffers at once).
IPERF3_TCP_OPTIONS = frozenset(
    {"congestion_control", "maxseg_bytes", "nodelay", "rcvbuf_bytes", "sndbuf_bytes"}
)
IPERF3_SCTP_OPTIONS = frozenset({"maxseg_bytes", "nodelay", "rcvbuf_bytes", "sndbuf_bytes"})
#: What iperf3 takes for a time: whole seconds; 0 is no end (MAX_TIME of its iperf.h).
IPERF3_TIMES_S = range(1, 86_401)

SYSCTL_NAME = re.compile(r"net\.[a-z0-9_.]+")


def flow_metric_names(flows: Iterable[str]) -> tuple[str, ...]:
    """Return the name of every metric of these flows."""
    names = list(flows)
    return tuple(template.format(flow=flow) for template in FLOW_METRICS for flow in names)


def metric_needs(groups: Iterable[str]) -> dict[str, str]:
    """Return the key of the study that a metric needs, by the metric's name."""
    names = list(groups)
    return {
        template.format(group=group): key
        for template, key in METRIC_NEEDS.items()
        for group in names
    }


def metric_names(groups: Iterable[str]) -> tuple[str, ...]:
    """Return every metric's name for a study with these groups."""
    names = list(groups)
    return tuple(
        template.format(group=group)
        for template in METRICS
        for group in (names if "{group}" in template else ("",))
    )
