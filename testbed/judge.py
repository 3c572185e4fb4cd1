"""Judge a calibration: what the probes measured against what the network was asked to be. Pure.

Delay, rate and buffer are deterministic in virtual time and must be met to within the resolution
stated here; loss is random and must lie inside the interval of its exact distribution: binomial, or
where packets are lost in bursts that of :mod:`testbed.loss_counts`, for losses and for bursts.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import binom

from testbed import loss_counts
from testbed.calibration import WAYS, Way, other_pairs, stages
from testbed.cell import BurstLoss, Direction, Network
from testbed.check import Check
from testbed.errors import ParseError
from testbed.units import NS_PER_S

#: Largest accepted error of a one-way delay: netem's clock ticks are 64 ns, a few stages each.
DELAY_TOLERANCE_S = 20e-6
RATE_TOLERANCE_FRAC = 0.001
#: A right network fails this check once in a million calibrations.
LOSS_CONFIDENCE = 1 - 1e-6
LOG_HEADER = "seq\tsend_ns\trecv_ns"
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


def judge_delay(
    network: Network, found: Mapping[str, Any], logs: Mapping[str, list[Packet]], pair: int = 1
) -> Check:
    """Round-trip time of a small packet on one pair's idle path; pairs count from 1."""
    wanted_s = got_s = 0.0
    missing = []
    for way in WAYS:
        run = f"delay_{way}" if pair == 1 else f"delay_{way}_{pair}"
        wanted_s += delay_s(stages(network, way), found[run]["ip_bytes"])
        delays = [p.recv_ns - p.send_ns for p in logs[run]]
        if delays:
            got_s += statistics.median(delays) / NS_PER_S
        else:
            missing.append(way)
    agrees = not missing and abs(wanted_s - got_s) <= DELAY_TOLERANCE_S
    return Check(
        check="rtt",
        where=f"src{pair} to dst{min(pair, network.destinations)} and back",
        wanted=f"{wanted_s * 1000:.3f} ms within {DELAY_TOLERANCE_S * 1000:.3f} ms",
        got=f"no packet arrived ({', '.join(missing)})" if missing else f"{got_s * 1000:.3f} ms",
        agrees=agrees,
    )


def judge_loss(
    network: Network, way: Way, found: Mapping[str, Any], logs: Mapping[str, list[Packet]]
) -> Check:
    """Packets lost on the way against the binomial interval of the loss asked for."""
    run = f"loss_{way}"
    sent = int(found[run]["packets"])
    lost = sent - len({p.seq for p in logs[run]})
    passed_frac = math.prod(1 - stage.loss.loss_frac for stage in stages(network, way))
    bursts = _bursts(network, way)
    if bursts:
        low, high = loss_counts.interval(loss_counts.losses(*bursts.given(sent)), LOSS_CONFIDENCE)
    else:
        low, high = binom.interval(LOSS_CONFIDENCE, sent, 1 - passed_frac)
    return Check(
        check=f"loss {way}",
        where=_where(way),
        wanted=f"{(1 - passed_frac) * 100:.4g} %: {low:.0f} to {high:.0f} of {sent} packets",
        got=f"{lost} ({lost / sent * 100:.3g} %)",
        agrees=bool(low <= lost <= high),
    )


@dataclass(frozen=True, kw_only=True)
class _Bursts:
    """Loss in bursts, and the probability of a loss before and after it on the path."""

    loss: BurstLoss
    before_frac: float
    after_frac: float

    def given(self, packets: int) -> tuple[BurstLoss, int, float, float]:
        """Return the arguments of the distributions of counts."""
        return self.loss, packets, self.before_frac, self.after_frac


def _bursts(network: Network, way: Way) -> _Bursts | None:
    """Return the loss in bursts on the way, if there is any: the bottleneck's alone may be."""
    before, middle, after = stages(network, way)
    if not isinstance(middle.loss, BurstLoss):
        return None
    return _Bursts(
        loss=middle.loss, before_frac=before.loss.loss_frac, after_frac=after.loss.loss_frac
    )


def _where(way: Way) -> str:
    return "bottleneck" if way == "forward" else "bottleneck, acknowledgements"


def judge_bursts(
    network: Network, way: Way, found: Mapping[str, Any], logs: Mapping[str, list[Packet]]
) -> list[Check]:
    """Runs of packets lost in a row, where they are lost in bursts: as many as they should be."""
    bursts = _bursts(network, way)
    if bursts is None:
        return []
    run = f"loss_{way}"
    sent = int(found[run]["packets"])
    arrived = {p.seq for p in logs[run]}
    lost = sum(seq not in arrived for seq in range(sent))
    began = sum(seq not in arrived and (seq - 1 in arrived or seq == 0) for seq in range(sent))
    counts = loss_counts.bursts(*bursts.given(sent))
    low, high = loss_counts.interval(counts, LOSS_CONFIDENCE)
    mean_pkts = loss_counts.mean(loss_counts.losses(*bursts.given(sent)))
    mean_pkts /= loss_counts.mean(counts) or math.inf
    got = f"{began} bursts of {lost / began:.3g} packets on average" if began else "no burst"
    return [
        Check(
            check=f"bursts {way}",
            where=_where(way),
            wanted=f"bursts of {mean_pkts:.3g} packets: {low} to {high} of them",
            got=got,
            agrees=low <= began <= high,
        )
    ]


def _back_to_back_s(gaps_s: Sequence[float]) -> float:
    """Return the mean gap of packets that left one after the other.

    Where the loss model took packets between, the gap is twice the least one or more. The mean,
    because on a fast link a gap is few ticks of the lab's clock.
    """
    least_s = min(gaps_s)
    return statistics.fmean(gap_s for gap_s in gaps_s if gap_s < 1.5 * least_s or gap_s == least_s)


def judge_fill(
    network: Network, found: Mapping[str, Any], logs: Mapping[str, list[Packet]]
) -> list[Check]:
    """Rate and buffer of the bottleneck while it is overloaded.

    Back-to-back packets leave the shaper one serialisation time apart, so their gap is the rate.
    Where nothing can wait the link falls idle in between, and the stay of a packet is its own
    serialisation. The longest stay of an accepted packet is just under ``queue_pkts``
    serialisation times, because the one being sent is partly gone.
    """
    bottleneck = network.bottleneck.forward
    where = "bottleneck"
    if "fill_forward" not in found:
        unmeasured = "not measured: an access link is not faster than the bottleneck"
        return [
            Check(check=check, where=where, wanted=wanted, got=unmeasured, agrees=True)
            for check, wanted in (
                ("rate", f"{bottleneck.rate_bps} bit/s"),
                ("buffer", f"{bottleneck.queue_pkts} packets"),
            )
        ]
    ip_bytes = int(found["fill_forward"]["ip_bytes"])
    packets = sorted(logs["fill_forward"], key=lambda p: p.recv_ns)
    if len(packets) < 10:
        got = f"only {len(packets)} packets arrived"
        return [
            Check(check=check, where=where, wanted=wanted, got=got, agrees=False)
            for check, wanted in (
                ("rate", f"{bottleneck.rate_bps} bit/s"),
                ("buffer", f"{bottleneck.queue_pkts} packets"),
            )
        ]
    send_s = ip_bytes * 8 / bottleneck.rate_bps
    idle_s = delay_s(stages(network, "forward"), ip_bytes) - send_s
    stays_s = [(p.recv_ns - p.send_ns) / NS_PER_S - idle_s for p in packets]
    gaps_s = [(b.recv_ns - a.recv_ns) / NS_PER_S for a, b in itertools.pairwise(packets)]
    if bottleneck.queue_pkts > 1:
        sending_s, tolerance_frac = _back_to_back_s(gaps_s), RATE_TOLERANCE_FRAC
    else:
        sending_s = statistics.median(stays_s)
        tolerance_frac = max(RATE_TOLERANCE_FRAC, DELAY_TOLERANCE_S / send_s)
    rate_bps = ip_bytes * 8 / sending_s if sending_s > 0 else math.inf
    # Late clock ticks must not make one packet more; a real one stays a good part of send_s longer.
    slack_s = min(DELAY_TOLERANCE_S, send_s / 4)
    held = math.ceil((max(stays_s) - slack_s) / send_s)
    return [
        Check(
            check="rate",
            where=where,
            wanted=f"{bottleneck.rate_bps} bit/s within {tolerance_frac * 100:.1f} %",
            got=f"{rate_bps:.0f} bit/s",
            agrees=abs(rate_bps / bottleneck.rate_bps - 1) <= tolerance_frac,
        ),
        Check(
            check="buffer",
            where=where,
            wanted=f"{bottleneck.queue_pkts} packets",
            got=f"{held} packets",
            agrees=held == bottleneck.queue_pkts,
        ),
    ]


def judge(
    network: Network, found: Mapping[str, Any], logs: Mapping[str, list[Packet]]
) -> list[Check]:
    """Judge all measurements of one calibration."""
    return [
        judge_delay(network, found, logs),
        *(judge_delay(network, found, logs, pair) for pair in other_pairs(network)),
        judge_loss(network, "forward", found, logs),
        judge_loss(network, "reverse", found, logs),
        *judge_bursts(network, "forward", found, logs),
        *judge_fill(network, found, logs),
    ]
