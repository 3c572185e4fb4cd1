"""What a publication may mean by the utilisation of the bottleneck: several readings. Pure.

Each divides bytes of all flows by what the bottleneck's rate, which counts IP packets, carries in
the same time. ``utilisation_pct`` counts what the other metrics call goodput, in the measuring
window; the other readings count the whole run, and everything that a buffer let through.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from reports.point_paths import PathFlow
from reports.records import FlowRow
from reports.sample import NO_PATH, Sample, UnavailableError, ratio, total


def goodput_of_all_bps(sample: Sample) -> float:
    """Return the goodput of all flows together."""
    return total((flow.goodput_bps for flow in sample.flows), "goodput")


def utilisation_pct(sample: Sample) -> float:
    """Return the goodput of all flows as percentage of the forward bottleneck's rate."""
    total_bps = goodput_of_all_bps(sample)
    return 100 * ratio(total_bps, sample.bottleneck_rate_bps, "the bottleneck's rate")


def _pct(sample: Sample, size_bytes: Callable[[FlowRow, PathFlow], float]) -> float:
    if sample.path is None:
        raise UnavailableError(NO_PATH)
    paths = {flow.flow: flow for flow in sample.path.flows}
    sent_bytes = math.fsum(size_bytes(flow, paths[flow.flow]) for flow in sample.flows)
    carried_bytes = sample.bottleneck_rate_bps * sample.duration_s / 8
    return 100 * ratio(sent_bytes, carried_bytes, "what the bottleneck carries in a run")


def _out_of_buffer_pkts(flow: FlowRow) -> float:
    return total([flow.loss_offered_pkts], f"packets of {flow.flow}")


def sent_pct(sample: Sample) -> float:
    """Return the new user data senders sent: first copies, also of packets that were lost."""
    if not sample.audit:
        raise UnavailableError("the cell has no audit (groundtruth parse makes one)")
    sent = {row.flow: row.sent_pkts for row in sample.audit if row.direction == "data"}

    def new_bytes(flow: FlowRow, path: PathFlow) -> float:
        first = total([sent.get(flow.flow)], f"packets {flow.flow} sent")
        again = total([flow.retransmitted_pkts], f"retransmissions of {flow.flow}")
        return (first - again) * path.payload_bytes

    return _pct(sample, new_bytes)


def data_pct(sample: Sample) -> float:
    """Return the user data that left the buffer, repeated and lost packets included."""
    return _pct(sample, lambda flow, path: _out_of_buffer_pkts(flow) * path.payload_bytes)


def wire_pct(sample: Sample) -> float:
    """Return the IP packets that left the buffer, headers included."""
    return _pct(sample, lambda flow, path: _out_of_buffer_pkts(flow) * path.packet_bytes)
