"""Judge a calibration: what the probes measured against what the network was asked to be. Pure.

Delay, rate and buffer must be met to within the tolerances of the lab. Losses are random but drawn
from a known seed, or periodic: exactly the packets must be lost that :mod:`model.netem_draws`
tells, and enough were sent that each setting of the loss model, were it a twentieth lower or
higher, would have lost another one; where not, that is said.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model import netem_draws, path_names
from model.check import Check
from model.errors import ParseError
from model.links import Direction, Network
from model.tolerances import Tolerances
from model.units import NS_PER_S
from testbed.campaign import queue_checks
from testbed.guest.calibration import WAYS, Way, chances, other_pairs, run_name, stages
from testbed.guest.link_fill import LOG_HEADER, Fill, fills

#: A whole number of 64 bits; str.isdigit() would also take superscripts.
COUNT = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, kw_only=True)
class Packet:
    """One arrived calibration packet."""

    seq: int
    send_ns: int
    recv_ns: int


def read_log(text: str, where: str) -> list[Packet]:
    """Parse a receiver's packet log; raise :class:`ParseError` naming the line."""
    lines = text.splitlines()
    if not lines or lines[0] != LOG_HEADER:
        raise ParseError("not a packet log", where=where, wanted=repr(LOG_HEADER))
    packets = []
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != 3 or not all(map(COUNT.fullmatch, fields)):
            raise ParseError("not a packet log line", where=f"{where}:{number}", got=line[:80])
        seq, send_ns, recv_ns = (int(field) for field in fields)
        packets.append(Packet(seq=seq, send_ns=send_ns, recv_ns=recv_ns))
    return packets


def delay_s(passed: Sequence[Direction], ip_bytes: int) -> float:
    """Return the one-way delay of a packet that meets no queue: propagation and serialisation."""
    return sum(stage.owd_s + ip_bytes * 8 / stage.rate_bps for stage in passed)


def check_delay(
    network: Network,
    found: Mapping[str, Any],
    logs: Mapping[str, list[Packet]],
    tolerances: Tolerances,
    pair: int = 1,
    path: int = 1,
) -> Check:
    """Round-trip time of a small packet on one pair's idle path; pairs and paths count from 1."""
    alone = network.paths()[path - 1]
    wanted_s = got_s = 0.0
    missing = []
    for way in WAYS:
        run = run_name("delay", way, path, pair)
        wanted_s += delay_s(stages(alone, way, pair), found[run]["ip_bytes"])
        delays = [p.recv_ns - p.send_ns for p in logs[run]]
        if delays:
            got_s += statistics.median(delays) / NS_PER_S
        else:
            missing.append(way)
    agrees = not missing and abs(wanted_s - got_s) <= tolerances.delay_s
    return Check(
        check="rtt",
        where=f"src{pair} to dst{min(pair, network.destinations)} and back" + path_names.said(path),
        wanted=f"{wanted_s * 1000:.3f} ms within {tolerances.delay_s * 1000:.3f} ms",
        got=f"no packet arrived ({', '.join(missing)})" if missing else f"{got_s * 1000:.3f} ms",
        agrees=agrees,
    )


def check_loss(
    network: Network,
    seed: int,
    way: Way,
    found: Mapping[str, Any],
    logs: Mapping[str, list[Packet]],
    path: int = 1,
) -> Check:
    """Each packet lost on the way against what the draws of the loss models' seeds say."""
    drawn_at = chances(network, seed, way, path)
    told = netem_draws.Foretold(drawn_at)
    wanted = lost = others = 0
    names = [run_name(what, way, path) for what in ("delay", "loss")]
    for run in names:  # in the order in which they were sent
        arrived = {packet.seq for packet in logs[run]}
        fates = [(told.lost(), seq not in arrived) for seq in range(found[run]["packets"])]
        others += sum(foretold != seen for foretold, seen in fates)
        wanted += sum(foretold for foretold, _ in fates)
        lost += sum(seen for _, seen in fates)
    sent = sum(int(found[name]["packets"]) for name in names)
    same = f"{lost} ({lost / sent * 100:.3g} %)"
    loss = _loss_words(network.paths()[path - 1], way)
    drawn = any(chance.loss.model != "periodic" for chance in drawn_at)
    decided = "its seed draws" if drawn or not drawn_at else "its period takes"
    words = f"{loss}: the {wanted} of {sent} packets that {decided}"
    if drawn_at:
        percent = f"{netem_draws.RESOLUTION_FRAC * 100:g} % more or less"
        words += f"; {'cannot tell' if told.untold else 'others with'} {percent}"
    agrees = None if told.untold else True
    return Check(
        check=f"loss {way}",
        where=("bottleneck" if way == "forward" else "bottleneck, acknowledgements")
        + path_names.said(path),
        wanted=words,
        got=f"{same}, {others} packets with another fate" if others else f"{same}, the same",
        agrees=False if others else agrees,
    )


def _loss_words(network: Network, way: Way) -> str:
    passed_frac = math.prod(1 - stage.loss.loss_frac for stage in stages(network, way))
    return f"{(1 - passed_frac) * 100:.4g} %"


def _back_to_back_s(packets: Sequence[Packet], link: Direction) -> float:
    """Return the mean gap of packets that left one after the other.

    Such a packet was sent before the one ahead had left. Where the loss model took packets between,
    the gap is twice the usual one or more; behind a packet that was late it is shorter. As packets
    are lost no more often than asked, the usual one is the middle of the shortest so many. The
    mean, because on a fast link a gap is few ticks of the lab's clock.
    """
    owd_ns = link.owd_s * NS_PER_S
    pairs = list(itertools.pairwise(packets))
    waited = [(a, b) for a, b in pairs if b.send_ns < a.recv_ns - owd_ns] or pairs
    gaps_s = sorted((b.recv_ns - a.recv_ns) / NS_PER_S for a, b in waited)
    usual_s = gaps_s[int(len(gaps_s) * (1 - link.loss.loss_frac) / 2)]
    return statistics.fmean(
        gap_s for gap_s in gaps_s if usual_s / 2 < gap_s < 1.5 * usual_s or gap_s == usual_s
    )


def check_fill(fill: Fill, ip_bytes: int, log: list[Packet], tolerances: Tolerances) -> list[Check]:
    """Rate and buffer of one direction of a link while it is overloaded.

    Back-to-back packets leave the shaper one serialisation time apart, so their gap is the rate.
    Where nothing can wait the link falls idle in between, and the stay of a packet is its own
    serialisation. The longest stay of an accepted packet is at most ``queue_pkts`` serialisation
    times, and just under where the one being sent is partly gone; but for as many as may be late.
    """
    link, where = fill.direction, f"{fill.what}, {fill.source} to {fill.target}"
    packets = sorted(log, key=lambda p: p.recv_ns)
    if len(packets) < 10:
        got = f"only {len(packets)} packets arrived"
        return [
            Check(check=check, where=where, wanted=wanted, got=got, agrees=False)
            for check, wanted in (
                ("rate", f"{link.rate_bps} bit/s"), ("buffer", f"{link.queue_pkts} packets"),
            )
        ]  # fmt: skip
    send_s = ip_bytes * 8 / link.rate_bps
    stays_s = sorted((p.recv_ns - p.send_ns) / NS_PER_S - link.owd_s for p in packets)
    longest_s = stays_s[-1 - int(tolerances.late_frac * len(stays_s))]
    if link.queue_pkts > 1:
        sending_s, tolerance_frac = _back_to_back_s(packets, link), tolerances.rate_frac
    else:
        sending_s = statistics.median(stays_s)
        tolerance_frac = max(tolerances.rate_frac, tolerances.delay_s / send_s)
    rate_bps = ip_bytes * 8 / sending_s if sending_s > 0 else math.inf
    # Late clock ticks must not make one packet more; a real one stays a good part of send_s longer.
    slack_s = min(tolerances.delay_s, send_s / 4)
    held = math.ceil((longest_s - slack_s) / send_s)
    rate = Check(
        check="rate",
        where=where,
        wanted=f"{link.rate_bps} bit/s within {tolerance_frac * 100:.1f} %",
        got=f"{rate_bps:.0f} bit/s",
        agrees=abs(rate_bps / link.rate_bps - 1) <= tolerance_frac,
    )
    if fill.manages:
        return [rate, *queue_checks.checks(fill, where, send_s, log, tolerances)]
    return [
        rate,
        Check(
            check="buffer",
            where=where,
            wanted=f"{link.queue_pkts} packets",
            got=f"{held} packets",
            agrees=held == link.queue_pkts,
        ),
    ]


def checks(
    network: Network,
    seed: int,
    found: Mapping[str, Any],
    logs: Mapping[str, list[Packet]],
    tolerances: Tolerances,
) -> list[Check]:
    """Check all measurements of one calibration, made with this seed."""
    made = []
    for path in range(1, len(network.paths()) + 1):
        made += [
            check_delay(network, found, logs, tolerances, pair, path)
            for pair in (1, *other_pairs(network))
        ]
        made += [check_loss(network, seed, way, found, logs, path) for way in WAYS]
    for fill in fills(network):
        made += check_fill(fill, found[fill.name]["ip_bytes"], logs[fill.name], tolerances)
    return made
