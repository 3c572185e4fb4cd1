"""Measure a built path with traffic: delay, loss, rate, buffer. Judging is another module's job.

Runs inside a lab. Delay and loss are measured end to end with UDP through the same stages the flows
will use, on each path: loss between the first source and the first destination, by probes, the
delay between every pair, of the others by the agent itself (:mod:`testbed.guest.pair_delay`). Rate
and buffer are measured link by link (:mod:`testbed.guest.link_fill`).
Invariant: the loss model of a way meets the packets that measure its delay first, then those that
measure its loss.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from model import draws, netem_draws, path_names, units
from model.links import Direction, Network
from probes.driver import BIN
from probes.process import start, start_ready
from testbed.guest import link_fill, topologies
from testbed.guest.team import Team

if TYPE_CHECKING:
    from model.node import Node

#: From the sources to the destinations, and back.
Way = Literal["forward", "reverse"]
WAYS: tuple[Way, ...] = get_args(Way)
#: By path, counted from 1: its routers and its bottleneck.
ROUTERS = {
    path: (*path_names.routers(path), path_names.bottleneck(path))
    for path in range(1, path_names.MOST + 1)
}

PORT = 4999
IP_UDP_BYTES = 28
DELAY_PACKETS = 200
#: For the other pairs, whose access links alone have not been seen yet. Enough to survive loss.
DELAY_PACKETS_OTHER = 30
DELAY_RATE_BPS = 12_000
LOSS_MESSAGE_BYTES = 100
#: Packets sent at once while measuring loss, where the bottleneck's buffer holds twice as many.
LOSS_BURST_PACKETS = 8
#: A sender wakes up 50 us late: at more than this it would send more at once than buffers hold.
LOSS_RATE_MOST_BPS = 500_000_000
LOSS_PACKETS_MIN = 1_000
LOSS_PACKETS_MAX = 200_000
#: With headers as long as a packet can be.
FULL_MESSAGE_BYTES = 1472
#: A probe may take so much longer than its packets take at their rate, and so long in any case.
TIMEOUT_FACTOR, TIMEOUT_MIN_S = 2.0, 200.0
#: A receiver ends when nothing came for this long, or for so many packets' time on a slow link.
IDLE_S, IDLE_PACKETS = 10, 5


def chances(network: Network, seed: int, way: Way, path: int = 1) -> list[netem_draws.Chance]:
    """Return where packets of the first pair are lost, in the order they come by.

    Paths are counted from 1.
    """
    near, far, bottleneck = ROUTERS[path]
    source, target = ("src1", "dst1") if way == "forward" else ("dst1", "src1")
    first, last = (near, far) if way == "forward" else (far, near)
    places = (f"ifb-{source}", f"ifb-{bottleneck}", f"{last}-{target}")
    found = {
        (stage.device, stage.node): stage
        for stage in topologies.lay_out(network, seed).stages
        if stage.role == "channel"
    }
    nodes = (first, last, last)
    made = []
    for device, node in zip(places, nodes, strict=True):
        stage = found[device, node]
        loss = stage.direction.loss
        if loss.model == "paired":
            made.append(netem_draws.Chance(where=node, loss=loss, seed=draws.pairing_seed(seed)))
        elif loss.model in ("equal_drops", "periodic"):
            made.append(netem_draws.Chance(where=node, loss=loss, seed=seed))
        elif loss.model != "none":
            made.append(netem_draws.Chance(where=stage.where(), loss=loss, seed=stage.seed))
    return made


@functools.lru_cache(maxsize=256)
def loss_packets(network: Network, seed: int, way: Way, number: int = 1) -> int:
    """Return how many packets tell the loss asked for from one a little lower or higher.

    At most so many that calibrating stays cheap: then what they cannot tell is said.
    """
    path = netem_draws.Foretold(chances(network, seed, way, number))
    for _ in range(DELAY_PACKETS):
        path.lost()
    packets = 0
    while packets < LOSS_PACKETS_MIN or (path.untold and packets < LOSS_PACKETS_MAX):
        path.lost()
        packets += 1
    return packets


def burst_packets(queue_pkts: int) -> int:
    """Return how many packets may be sent at once without a chance of filling the buffer."""
    return max(1, min(LOSS_BURST_PACKETS, queue_pkts // 2))


def loss_rate_bps(network: Network, way: Way) -> int:
    """Return a rate that no stage of the first path can mistake for overload."""
    slowest_bps = min(stage.rate_bps for stage in stages(network, way))
    return min(LOSS_RATE_MOST_BPS, round(0.5 * slowest_bps))


def stages(network: Network, way: Way, pair: int = 1) -> tuple[Direction, ...]:
    """Return the stages a packet passes from source to destination, or back, on the first path.

    Pairs are counted from 1.
    """
    links = (network.accesses()[pair - 1], network.bottleneck, network.destination_access)
    if way == "forward":
        return tuple(link.forward for link in links)
    return tuple(link.reverse for link in reversed(links))


def everywhere(network: Network) -> list[Direction]:
    """Return the stages of all paths, both ways."""
    return [stage for path in network.paths() for way in WAYS for stage in stages(path, way)]


def delay_rate_bps(network: Network) -> int:
    """Return a rate at which no packet that measures the delay finds another one before it."""
    slowest_bps = min(stage.rate_bps for stage in everywhere(network))
    return min(DELAY_RATE_BPS, round(slowest_bps / 4))


def drain_s(network: Network) -> float:
    """Return how long the slowest of all buffers takes to empty when it is full of full packets."""
    packet_bits = units.bits(FULL_MESSAGE_BYTES + IP_UDP_BYTES)
    return max(stage.queue_pkts * packet_bits / stage.rate_bps for stage in everywhere(network))


def idle_s(network: Network) -> int:
    """Return after how much silence everything that was sent has arrived."""
    slowest_bps = min(stage.rate_bps for stage in everywhere(network))
    packet_s = units.bits(FULL_MESSAGE_BYTES + IP_UDP_BYTES) / slowest_bps
    return max(IDLE_S, math.ceil(IDLE_PACKETS * packet_s))


def other_pairs(network: Network) -> range:
    """Return the pairs whose delay is measured besides the first one's, counted from 1."""
    return range(2, network.sources + 1)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One measurement: UDP packets of one size at one rate from one host to another.

    ``probed``: by programs on both hosts; else by the agent.
    """

    name: str
    source: str
    target: str
    rate_bps: int
    message_bytes: int
    packets: int
    burst_packets: int = 1
    path: int = 1
    probed: bool = True

    def sending_s(self) -> float:
        """Return how long its packets take at its rate."""
        return self.packets * units.bits(self.message_bytes + IP_UDP_BYTES) / self.rate_bps


def runs(network: Network, seed: int) -> tuple[Run, ...]:
    """Return all measurements from end to end, in order: path by path."""
    paths = range(1, len(network.paths()) + 1)
    return tuple(run for path in paths for run in _runs_on(network, seed, path))


def run_name(what: str, way: Way, path: int = 1, pair: int = 1) -> str:
    """Return the name of a measurement: ``delay_forward``, ``delay_forward_2_on_path_2``."""
    of_pair = f"_{pair}" if pair > 1 else ""
    return f"{what}_{way}{of_pair}" + (f"_on_path_{path}" if path > 1 else "")


def _runs_on(network: Network, seed: int, path: int) -> list[Run]:
    found: list[Run] = []
    delay_bps, alone = delay_rate_bps(network), network.paths()[path - 1]
    for way in WAYS:
        source, target = _ends(network, 1, way)
        passed = stages(alone, way)
        found += [
            Run(name=run_name("delay", way, path), source=source, target=target,
                rate_bps=delay_bps, message_bytes=LOSS_MESSAGE_BYTES, packets=DELAY_PACKETS,
                path=path),
            Run(name=run_name("loss", way, path), source=source, target=target,
                rate_bps=loss_rate_bps(alone, way), message_bytes=LOSS_MESSAGE_BYTES,
                packets=loss_packets(network, seed, way, path),
                burst_packets=burst_packets(min(stage.queue_pkts for stage in passed)), path=path),
        ]  # fmt: skip
    for pair in other_pairs(network):
        for way in WAYS:
            source, target = _ends(network, pair, way)
            found.append(
                Run(name=run_name("delay", way, path, pair), source=source, target=target,
                    rate_bps=delay_bps, message_bytes=LOSS_MESSAGE_BYTES,
                    packets=DELAY_PACKETS_OTHER, path=path, probed=False)
            )  # fmt: skip
    return found


def _ends(network: Network, pair: int, way: Way) -> tuple[str, str]:
    """Return the hosts of a pair, counted from 1, from the one that sends on the way."""
    ends = (f"src{pair}", f"dst{min(pair, network.destinations)}")
    return ends if way == "forward" else ends[::-1]


def timeout_s(network: Network, run: Run) -> float:
    """Return the virtual time after which a measurement has failed."""
    return TIMEOUT_FACTOR * run.sending_s() + drain_s(network) + idle_s(network) + TIMEOUT_MIN_S


def virtual_s(network: Network, seed: int) -> float:
    """Return about how much virtual time all measurements of a path take."""
    each_s = network.longest_rtt_s() + drain_s(network) + idle_s(network)
    fills = link_fill.fills(network)
    return sum(run.sending_s() + each_s for run in runs(network, seed)) + sum(
        fill.lasts_s() for fill in fills
    )


def measure(
    network: Network,
    seed: int,
    hosts: Mapping[str, Node],
    addresses: Mapping[str, Sequence[str]],
    folder: Path,
    team: Team,
) -> dict[str, Any]:
    """Run all measurements; return raw numbers, and leave each probe's own output in ``folder``.

    ``addresses`` are those of each host, one on each path.
    Of what ends at no host that is here, this agent returns and leaves nothing.
    """
    # When needed: a module more to read before flows run shifts captured cells by a clock's step.
    from testbed.guest import pair_delay

    found = {}
    for run in runs(network, seed):
        if run.probed:
            _send(network, run, hosts, addresses, folder, team)
        else:
            pair_delay.send(run, hosts, addresses, idle_s(network), folder, team)
        if run.target in hosts:
            found[run.name] = {
                "packets": run.packets,
                "ip_bytes": run.message_bytes + IP_UDP_BYTES,
                "rate_bps": run.rate_bps,
                "log": f"{run.name}.tsv",
            }
    for fill in link_fill.fills(network):
        found |= link_fill.measure(fill, hosts, folder, team)
    return found


def _send(
    network: Network,
    run: Run,
    hosts: Mapping[str, Node],
    addresses: Mapping[str, Sequence[str]],
    folder: Path,
    team: Team,
) -> None:
    limit_s = timeout_s(network, run)
    running = []
    if run.target in hosts:
        running.append(
            start_ready(
                hosts[run.target],
                [
                    str(BIN / "udp_recv"), "--port", str(PORT), "--idle-s", str(idle_s(network)),
                    "--interval-s", "3600", "--log-packets", str(folder / f"{run.name}.tsv"),
                ],
                folder / f"{run.name}.receiver",
                limit_s,
            )
        )  # fmt: skip
    team.meet(f"{run.name}: listening")
    if run.source in hosts:
        sender = start(
            hosts[run.source],
            [
                str(BIN / "udp_send"), "--host", addresses[run.target][run.path - 1],
                *(["--bind", addresses[run.source][run.path - 1]] if run.path > 1 else []),
                "--port", str(PORT), "--rate-bps", str(run.rate_bps), "--message-bytes",
                str(run.message_bytes), "--count", str(run.packets), "--burst-packets",
                str(run.burst_packets),
            ],
            folder / f"{run.name}.sender",
        )  # fmt: skip
        running.insert(0, sender)
    for program in running:
        program.finish(limit_s)
    team.meet(f"{run.name}: ended")
