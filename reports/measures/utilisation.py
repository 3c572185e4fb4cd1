"""What a publication may mean by the utilisation of the bottleneck: several readings. Pure.

Each divides bytes of all flows by what the bottleneck's rate, which counts IP packets, carries in
the same time. ``utilisation_pct`` counts what the other metrics call goodput, in the measuring
window, and ``utilisation_link_pct`` what leaves the buffer in it; the other readings count from the
start until the run is to end, not what senders still hold then.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from model.run_files.network_path import PathFlow
from reports.store.sample import NO_BOTTLENECK, NO_PATH, Sample, UnavailableError, ratio, total


def goodput_of_all_bps(sample: Sample) -> float:
    """Return the goodput of all flows together."""
    return total((flow.goodput_bps for flow in sample.flows), "goodput")


def _rate_bps(sample: Sample) -> int:
    if sample.bottleneck_rate_bps is None:
        raise UnavailableError(NO_BOTTLENECK)
    return sample.bottleneck_rate_bps


def utilisation_pct(sample: Sample) -> float:
    """Return the goodput of all flows as percentage of the forward bottleneck's rate."""
    total_bps = goodput_of_all_bps(sample)
    return 100 * ratio(total_bps, _rate_bps(sample), "the bottleneck's rate")


def _of_rate(sample: Sample, sent_bytes: float) -> float:
    carried_bytes = _rate_bps(sample) * sample.duration_s / 8
    return 100 * ratio(sent_bytes, carried_bytes, "what the bottleneck carries in a run")


def _path(sample: Sample) -> dict[str, PathFlow]:
    if sample.path is None:
        raise UnavailableError(NO_PATH)
    return {flow.flow: flow for flow in sample.path.flows}


def sent_pct(sample: Sample) -> float:
    """Return the new user data senders sent: first copies, also of packets that were lost."""
    paths, sent = _path(sample), sample.spans.new_pkts
    if isinstance(sent, str):
        raise UnavailableError(sent)
    return _of_rate(sample, sum(pkts * paths[flow].payload_bytes for flow, pkts in sent.items()))


def _mean_bytes(sample: Sample, size_bytes: Callable[[PathFlow], int]) -> float:
    """Return the size of a packet that came out of the buffer, the mean over all flows."""
    paths = _path(sample)
    pkts = {flow.flow: total([flow.loss_offered_pkts], "packets offered") for flow in sample.flows}
    offered_bytes = math.fsum(size_bytes(paths[flow]) * count for flow, count in pkts.items())
    return ratio(offered_bytes, math.fsum(pkts.values()), "the number of packets offered")


def _out_of_buffer_pct(sample: Sample, size_bytes: Callable[[PathFlow], int]) -> float:
    """Return what left the buffer, its packets as large as those of all flows on average."""
    mean_bytes, left = _mean_bytes(sample, size_bytes), sample.spans.out_of_buffer_pkts
    if isinstance(left, str):
        raise UnavailableError(left)
    return _of_rate(sample, left * mean_bytes)


def link_pct(sample: Sample) -> float:
    """Return the IP packets that left the buffer in the measuring window, headers included."""
    mean_bytes = _mean_bytes(sample, lambda path: path.packet_bytes)
    left_pps = sample.spans.out_of_buffer_pps
    if isinstance(left_pps, str):
        raise UnavailableError(left_pps)
    return 100 * ratio(8 * left_pps * mean_bytes, _rate_bps(sample), "the bottleneck's rate")


def data_pct(sample: Sample) -> float:
    """Return the user data that left the buffer, repeated and lost packets included."""
    return _out_of_buffer_pct(sample, lambda path: path.payload_bytes)


def wire_pct(sample: Sample) -> float:
    """Return the IP packets that left the buffer, headers included."""
    return _out_of_buffer_pct(sample, lambda path: path.packet_bytes)
