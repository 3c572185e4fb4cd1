"""Measure a built path with traffic: delay, loss, rate, buffer. Judging is another module's job.

Runs inside a lab. Everything is measured end to end with UDP probes through the same stages the
flows will use: all properties between the first source and the first destination, the delay
between every pair. Buffers of access links are read back, not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from probes.driver import BIN
from probes.process import Host, start, start_ready
from testbed.cell import Direction, Network

PORT = 4999
IP_UDP_BYTES = 28
DELAY_PACKETS = 200
#: For the other pairs, whose access links alone have not been seen yet. Enough to survive loss.
DELAY_PACKETS_OTHER = 30
DELAY_RATE_BPS = 12_000
LOSS_MESSAGE_BYTES = 100
LOSSES_WANTED = 100
#: Packets sent at once while measuring loss, where the bottleneck's buffer holds twice as many.
LOSS_BURST_PACKETS = 8
LOSS_PACKETS_MIN = 1_000
LOSS_PACKETS_MAX = 40_000
FILL_MESSAGE_BYTES = 1472
FILL_PACKETS_OVER = 400
#: Offered over bottleneck rate while filling the buffer.
FILL_OVERLOAD = 1.5
TIMEOUT_S = 4000.0


def loss_packets(loss_frac: float) -> int:
    """Return how many packets tell a loss rate apart from a wrong one."""
    wanted = LOSSES_WANTED / loss_frac if loss_frac > 0 else LOSS_PACKETS_MIN
    return round(min(max(wanted, LOSS_PACKETS_MIN), LOSS_PACKETS_MAX))


def burst_packets(queue_pkts: int) -> int:
    """Return how many packets may be sent at once without a chance of filling the buffer."""
    return max(1, min(LOSS_BURST_PACKETS, queue_pkts // 2))


def loss_rate_bps(network: Network, link: Direction) -> int:
    """Return a rate that no stage of the path can mistake for overload."""
    return round(0.5 * min(link.rate_bps, path_rate_bps(network)))


def path_rate_bps(network: Network) -> int:
    """Return the slowest access rate in the data direction."""
    return min(network.source_access.forward.rate_bps, network.destination_access.forward.rate_bps)


def other_pairs(network: Network) -> range:
    """Return the pairs whose delay is measured besides the first one's, counted from 1."""
    return range(2, network.sources + 1)


def fill_rate_bps(network: Network) -> int | None:
    """Return the rate that overloads the bottleneck, or null where an access link is slower."""
    wanted = FILL_OVERLOAD * network.bottleneck.forward.rate_bps
    if wanted > path_rate_bps(network):
        wanted = float(path_rate_bps(network))
    if wanted <= 1.05 * network.bottleneck.forward.rate_bps:
        return None
    return round(wanted)


def fill_packets(link: Direction, rate_bps: int) -> int:
    """Return how many packets at that rate fill the buffer and then keep it full for a while."""
    filling = link.queue_pkts * rate_bps / (rate_bps - link.rate_bps)
    return round(filling) + FILL_PACKETS_OVER


def measure(
    network: Network,
    hosts: Mapping[str, Host],
    addresses: Mapping[str, str],
    folder: Path,
) -> dict[str, Any]:
    """Run all measurements; return raw numbers, and leave each probe's own output in ``folder``."""
    forward = ("src1", "dst1")
    reverse = ("dst1", "src1")
    found: dict[str, Any] = {}
    for name, (source, target), link in (
        ("forward", forward, network.bottleneck.forward),
        ("reverse", reverse, network.bottleneck.reverse),
    ):
        way = (hosts[source], hosts[target], addresses[target])
        found[f"delay_{name}"] = _send(
            way, folder, f"delay_{name}", DELAY_RATE_BPS, LOSS_MESSAGE_BYTES, DELAY_PACKETS
        )
        found[f"loss_{name}"] = _send(
            way,
            folder,
            f"loss_{name}",
            loss_rate_bps(network, link),
            LOSS_MESSAGE_BYTES,
            loss_packets(link.loss.loss_frac),
            burst_packets(link.queue_pkts),
        )
    for pair in other_pairs(network):
        ends = (f"src{pair}", f"dst{min(pair, network.destinations)}")
        for name, (source, target) in (("forward", ends), ("reverse", ends[::-1])):
            run = f"delay_{name}_{pair}"
            found[run] = _send(
                (hosts[source], hosts[target], addresses[target]),
                folder, run, DELAY_RATE_BPS, LOSS_MESSAGE_BYTES, DELAY_PACKETS_OTHER,
            )  # fmt: skip
    rate_bps = fill_rate_bps(network)
    if rate_bps is not None:
        way = (hosts["src1"], hosts["dst1"], addresses["dst1"])
        found["fill_forward"] = _send(
            way, folder, "fill_forward", rate_bps, FILL_MESSAGE_BYTES,
            fill_packets(network.bottleneck.forward, rate_bps),
        )  # fmt: skip
    return found


def _send(
    way: tuple[Host, Host, str],
    folder: Path,
    name: str,
    rate_bps: int,
    message_bytes: int,
    packets: int,
    burst_packets: int = 1,
) -> dict[str, Any]:
    source, target, address = way
    receiver = start_ready(
        target,
        [
            str(BIN / "udp_recv"), "--port", str(PORT), "--idle-s", "10",
            "--interval-s", "3600", "--log-packets", str(folder / f"{name}.tsv"),
        ],
        folder / f"{name}.receiver",
        TIMEOUT_S,
    )  # fmt: skip
    sender = start(
        source,
        [
            str(BIN / "udp_send"), "--host", address, "--port", str(PORT),
            "--rate-bps", str(rate_bps), "--message-bytes", str(message_bytes),
            "--count", str(packets), "--burst-packets", str(burst_packets),
        ],
        folder / f"{name}.sender",
    )  # fmt: skip
    sender.finish(TIMEOUT_S)
    receiver.finish(TIMEOUT_S)
    return {
        "packets": packets,
        "ip_bytes": message_bytes + IP_UDP_BYTES,
        "rate_bps": rate_bps,
        "log": f"{name}.tsv",
    }
