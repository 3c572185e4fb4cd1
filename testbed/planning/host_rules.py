"""Rules about hosts that bound a flow or are not what they seem; see testbed.planning.rules.

Pure functions from a cell to hits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from model import units
from model.cell import OF_HOSTS, Cell, KnobKind
from model.network_path import slowest_rate_bps
from testbed.labs.confinement.windows import advertised_window, knob
from testbed.planning.rule_hits import Hit
from testbed.study.vocabulary import IPERF3_SCTP_OPTIONS, IPERF3_TCP_OPTIONS


def window_below_path(cell: Cell) -> Iterator[Hit]:
    """A receive window below the bandwidth-delay product caps the rate whatever the network."""
    rtt_s, rate_bps = cell.wired.base_rtt_s(-1), slowest_rate_bps(cell.wired)
    path_bytes = units.bytes_in_flight(rate_bps, rtt_s)
    for protocol in sorted({flow.protocol for flow in cell.flows} - {"udp"}):
        window = advertised_window(cell, protocol)
        if window.size_bytes < path_bytes:
            cap_bps = units.average_rate_bps(window.size_bytes, rtt_s)
            yield Hit(
                subject=protocol,
                loc=("hosts",),
                text=f"{protocol}'s advertised window is at most {window.size_bytes} bytes"
                f" ({window.source}), less than the bandwidth-delay product of"
                f" {math.ceil(path_bytes)} bytes ({units.format_rate(rate_bps)} x"
                f" {units.format_time(rtt_s)}): no {protocol} flow can exceed"
                f" {units.format_rate(cap_bps, digits=3)}, whatever the network does"
                f"{_idle_words(cell, rtt_s)}",
                severity=path_bytes / window.size_bytes,
            )


def _idle_words(cell: Cell, rtt_s: float) -> str:
    """Return how much of the bottleneck all flows together can use, if it is not all."""
    rate_bps = cell.wired.bottleneck.forward.rate_bps
    most_bps = sum(
        flow.rate_bps
        or units.average_rate_bps(advertised_window(cell, flow.protocol).size_bytes, rtt_s)
        for flow in cell.flows
    )
    if most_bps >= rate_bps:
        return ""
    return f"; all flows together fill at most {100 * most_bps / rate_bps:.0f} % of the bottleneck"


#: What a congestion control of today counts on, and older hosts were published without: what the
#: kernel calls it, the value that takes it away, and how to say so.
HOLDS_BACK: tuple[tuple[KnobKind, str, str, str], ...] = (
    ("sysctl", "net.ipv4.tcp_window_scaling", "0", "no window scaling"),
    ("sysctl", "net.ipv4.tcp_timestamps", "0", "no time stamps"),
    ("sysctl", "net.ipv4.tcp_sack", "0", "no selective acknowledgements"),
    ("sysctl", "net.ipv4.tcp_recovery", "0", "no RACK"),
    ("route", "ssthresh", "", "an initial slow-start threshold"),
    ("tcp_socket", "window_clamp_bytes", "", "a clamped window"),
)
#: Congestion controls of the time such hosts are of.
CONTROLS_OF_OLD = ("reno",)


def control_held_back(cell: Cell) -> Iterator[Hit]:
    """Hosts of a publication hold back a congestion control that is younger than they are."""
    taken = [
        words
        for kind, name, value, words in HOLDS_BACK
        if any(
            found and value in ("", found)
            for found in (knob(cell, kind, name, "sender"), knob(cell, kind, name, "receiver"))
        )
    ]
    for index, flow in enumerate(cell.flows):
        control = flow.congestion_control
        if flow.protocol != "tcp" or control in (OF_HOSTS, *CONTROLS_OF_OLD) or not taken:
            continue
        yield Hit(
            subject=flow.id,
            loc=("flows", index, "congestion_control"),
            text=f"flow {flow.id} asks for {control}, but host profile '{cell.hosts.id}' has"
            f" {', '.join(taken)}: this is {control} held back by other hosts' settings, not"
            f" {control} as it is used (hosts: roomy)",
            severity=len(taken),
        )


def saved_tcp_metrics(cell: Cell) -> Iterator[Hit]:
    """Linux remembers ssthresh and round trip of a destination between connections."""
    has_tcp = any(flow.protocol == "tcp" for flow in cell.flows)
    if has_tcp and knob(cell, "sysctl", "net.ipv4.tcp_no_metrics_save", "sender") != "1":
        yield Hit(
            subject="",
            loc=("hosts",),
            text=f"host profile '{cell.hosts.id}' does not set net.ipv4.tcp_no_metrics_save to 1:"
            " a TCP connection starts from the ssthresh and round trip an earlier one to the"
            " same destination left behind",
            severity=1,
        )


def iperf3_cannot_set(cell: Cell) -> Iterator[Hit]:
    """Iperf3 has no option for most of what the project's own programs can set."""
    for index, flow in enumerate(cell.flows):
        if flow.generator != "iperf3" or flow.protocol == "udp":
            continue
        kind = "tcp_socket" if flow.protocol == "tcp" else "sctp_socket"
        can = IPERF3_TCP_OPTIONS if flow.protocol == "tcp" else IPERF3_SCTP_OPTIONS
        knobs = (k for entry in cell.hosts.entries for k in entry.knobs)
        cannot = {k.name for k in knobs if k.kind == kind and k.name not in can}
        cannot |= {"streams"} if flow.streams > 1 else set()
        cannot |= {"ordered: false"} if not flow.ordered else set()
        if cannot:
            yield Hit(
                subject=flow.id,
                loc=("flows", index),
                text=f"flow {flow.id} runs over iperf3, which cannot apply"
                f" {', '.join(sorted(cannot))}: its hosts are not those of the profile",
                severity=len(cannot),
            )
