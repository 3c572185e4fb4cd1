"""The words a study file may use: one line adds one. Each table maps a name to what it means."""

from __future__ import annotations

import re

from model import path_names

TOPOLOGIES = {
    "dumbbell": "sources, two routers with one bottleneck between them, destinations",
    "two-paths": "two dumbbells between the same hosts, which have an address on each",
    "ad-hoc": "nodes with radios that move and pass each other's packets on",
}
#: Links that something may happen to, by topology; each is a link's name in the layout.
LINKS_OF_EVENTS: dict[str, tuple[str, ...]] = {
    "dumbbell": (path_names.bottleneck(1),),
    "two-paths": (path_names.bottleneck(1), path_names.bottleneck(2)),
    "ad-hoc": (),
}

#: The kernel of hosts whose profile names none: the fastest (benchmarks/README.md).
DEFAULT_KERNEL = "7.3"
#: A kernel's version as Debian's source packages have it, and that of a package or a machine.
SOURCE_VERSION = re.compile(r"[0-9]{1,2}\.[0-9]{1,3}")
KERNEL_VERSION = re.compile(rf"({SOURCE_VERSION.pattern})([.+-][0-9a-z.+-]{{1,200}})?")


def source_version(version: str) -> str:
    """Return the version of its source, of any kernel's: ``6.12`` of ``6.12.117+deb13``."""
    found = KERNEL_VERSION.fullmatch(version)
    return found[1] if found else version


#: Patches of the lab's kernel, each of which restores one mechanism; docs/kernels.md says what.
KERNEL_PATCHES = (
    "sctp-4th-duplicate", "sctp-first-window-2", "sctp-no-fast-recovery", "sctp-ssthresh-2-mtu",
    "tcp-growth-by-fractions", "tcp-no-limited-transmit", "tcp-window-halved-at-once",
)  # fmt: skip

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
#: Those that other people's trees are known to have; kernel-tree.config switches them on.
CONTROLS_OF_TREES = ("bbr1", "bbr2", "bbr3", "dctcp", "prague")
#: What a kernel of somebody's own can call one (TCP_CA_NAME_MAX, and the end of the string).
CONTROL_NAME = re.compile(r"[a-z][a-z0-9_-]{0,14}")
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
#: Keys of a study that say between which times something is counted or looked at.
SPANS = ("delivered", "windows", "bins")

#: Figures a study may ask for, and the keys of its own that each has besides `at` and `where`.
FIGURES = {
    "cwnd": ("from", "to"),
    "time_sequence": ("from", "to", "modulo", "together"),
    "single_loss": ("before", "after", "episode", "published"),
    "single_loss_cwnd": ("before", "after", "episode", "published"),
    "goodput_bins": ("from", "to", "bin", "count"),
    "over_time": ("from", "to", "bin", "of", "together", "overlay"),
    "cdf": ("from", "to", "of", "overlay"),
    "paths": ("from", "to"),
    "share": (),
}
#: When a bin of goodput counts data: see docs/figures.md.
COUNTED = {
    "handed_on": "as it could be handed to the application",
    "arrivals": "as it first came out of the bottleneck",
    "sent": "as it was first sent",
}
#: What of a flow is drawn.
DRAWN_OF = {
    "goodput": "data that came out of the bottleneck, each once",
    "delay": "one-way delay of packets with data",
    "jitter": "difference of the delays of consecutive arrivals",
    "message_delay": "from when a message was ready until its receiver had it",
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
    "seeds-alike": "several seeds where nothing is left to chance",
    "sender-shaped": "the sender's own link is the bottleneck",
    "short-run": "the run is over before slow start matters little",
    "short-warm-up": "packets are sent before babeld has found ways for them",
    "too-few-losses": "chance decides the outcome of one run",
    "trace-ends-early": "the nodes' file of movements is shorter than a run",
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
