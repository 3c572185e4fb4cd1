"""Rules for settings that are legal but give numbers that mean something else than they seem.

Each rule is a pure function from a cell to hits: the place of the setting in the study file, and a
sentence with the numbers and the reason. Rules err on the side of speaking: a study that means
it acknowledges the rule and says why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from model import units
from model.cell import Cell, Flow
from model.links import Direction
from model.network_path import (
    HEADER_BYTES,
    MTU_BYTES,
    SMALLEST_PACKET_BYTES,
    data_loss_frac,
    packet_bytes,
    slowest_rate_bps,
)
from testbed.labs.confinement.windows import advertised_window, knob, tcp_payload_bytes
from testbed.planning.host_rules import (
    control_held_back,
    iperf3_cannot_set,
    saved_tcp_metrics,
    window_below_path,
)
from testbed.planning.radio_rules import short_warm_up, trace_ends_early
from testbed.planning.rule_hits import Hit, Rule

#: Below this, the number of losses of one run varies by a fifth or more (one over its root).
MIN_LOSSES_PKTS = 30
MIN_LIFETIME_RTTS = 20
#: Packets and answers that must come through for windows, not timeouts, to decide.
MIN_ROUND_TRIPS_FRAC = 0.8
#: Packets per round trip of a flow at loss p: this over the root of p; Mathis et al. 1997, "The
#: macroscopic behavior of the TCP congestion avoidance algorithm", every packet acknowledged.
MATHIS_CONSTANT = math.sqrt(3 / 2)

LINKS = ("source_access", "bottleneck", "destination_access")


def channel_limit_below_path(cell: Cell) -> Iterator[Hit]:
    """A delay stage that holds fewer packets than the path drops them like a full buffer."""
    size_bytes = min(packet_bytes(flow) for flow in cell.flows)
    data_per_s = slowest_rate_bps(cell.wired) / units.bits(size_bytes)
    for name in LINKS:
        link = getattr(cell.wired, name)
        acks_per_s = min(data_per_s, link.reverse.rate_bps / units.bits(SMALLEST_PACKET_BYTES))
        sides: tuple[tuple[str, Direction, float], ...] = (
            ("data", link.forward, link.forward.rate_bps / units.bits(size_bytes)),
            ("acknowledgements", link.reverse, acks_per_s),
        )
        for what, direction, packets_per_s in sides:
            needed_pkts = math.ceil(packets_per_s * direction.owd_s)
            if direction.channel_limit_pkts < needed_pkts:
                yield Hit(
                    subject=f"{name} {what}",
                    loc=("network", name, "channel_limit"),
                    text=f"the channel of {name} ({what}) holds"
                    f" {units.format_packets(direction.channel_limit_pkts)}, but up to"
                    f" {needed_pkts} are in flight in {units.format_time(direction.owd_s)}:"
                    " it would drop what neither the buffer nor the loss model drops",
                    severity=needed_pkts / direction.channel_limit_pkts,
                )


def ack_loss(cell: Cell) -> Iterator[Hit]:
    """Published simulations lose data only; lost acknowledgements burst TCP and SCTP apart."""
    for name in LINKS:
        loss_frac = getattr(cell.network, name).reverse.loss.loss_frac
        if loss_frac:
            yield Hit(
                subject=name,
                loc=("network", name, "loss", "acknowledgements"),
                text=f"{name} loses {units.format_frac(loss_frac)} of the acknowledgements too;"
                " ns-2 studies put random loss on the data direction only, and a lost"
                " acknowledgement costs TCP and SCTP differently",
                severity=loss_frac,
            )


def expected_losses_pkts(cell: Cell, flow: Flow) -> float:
    """Return about how many packets a flow loses at random in one run.

    Its rate is the least of its own, an equal share of the slowest link, a window per round trip,
    and what a loss-limited flow reaches (Mathis et al. 1997).
    """
    loss_frac, rtt_s = data_loss_frac(cell.wired), cell.wired.base_rtt_s(flow.source)
    packet_bits = units.bits(packet_bytes(flow))
    lifetime_s = flow.stop_s - flow.start_s
    if flow.protocol == "udp":
        return flow.rate_bps / packet_bits * lifetime_s * loss_frac
    rates = [slowest_rate_bps(cell.wired) / len(cell.flows) / packet_bits]
    if flow.rate_bps:
        payload_bytes = packet_bytes(flow) - HEADER_BYTES[flow.protocol]
        rates.append(flow.rate_bps / units.bits(payload_bytes))
    if rtt_s and loss_frac:
        window = advertised_window(cell, flow.protocol)
        rates.append(window.size_bytes / flow.message_bytes / rtt_s)
        rates.append(MATHIS_CONSTANT / math.sqrt(loss_frac) / rtt_s)
    return min(rates) * lifetime_s * loss_frac


def too_few_losses(cell: Cell) -> Iterator[Hit]:
    """With few losses their number, not the protocol, decides the outcome of a run."""
    loss_frac = data_loss_frac(cell.wired)
    for index, flow in enumerate(cell.flows):
        losses_pkts = expected_losses_pkts(cell, flow)
        if 0 < losses_pkts < MIN_LOSSES_PKTS:
            varies = 100 / math.sqrt(losses_pkts)
            yield Hit(
                subject=flow.id,
                loc=("flows", index),
                text=f"flow {flow.id} loses about {losses_pkts:.1f} packets in one run of"
                f" {units.format_time(flow.stop_s - flow.start_s)} at"
                f" {units.format_frac(loss_frac, digits=3)} loss, fewer than {MIN_LOSSES_PKTS}:"
                f" that number alone varies by {varies:.0f} % from run to run"
                " (expected rate: Mathis et al. 1997)",
                severity=1 / losses_pkts,
            )


def heavy_loss(cell: Cell) -> Iterator[Hit]:
    """Where a third of the packets are lost, timeouts and handshakes are what is measured."""
    arrives_frac = 1 - data_loss_frac(cell.wired)
    for direction in (getattr(cell.wired, name).reverse for name in LINKS):
        arrives_frac *= 1 - direction.loss.loss_frac
    if arrives_frac < MIN_ROUND_TRIPS_FRAC:
        yield Hit(
            subject="",
            loc=("network", "bottleneck", "loss", "data"),
            text=f"only {units.format_frac(arrives_frac, digits=3)} of the packets are answered:"
            " retransmission timeouts and handshakes are most of what is measured, and some flows"
            " may never connect",
            severity=1 - arrives_frac,
        )


def sender_shaped(cell: Cell) -> Iterator[Hit]:
    """If the first link is the slowest, the sender's own queue forms, not the bottleneck's."""
    access = cell.wired.source_access.forward.rate_bps
    bottleneck = cell.wired.bottleneck.forward.rate_bps
    if access <= bottleneck:
        yield Hit(
            subject="",
            loc=("network", "source_access", "rate"),
            text=f"each source's own link ({units.format_rate(access)}) is not faster than the"
            f" bottleneck ({units.format_rate(bottleneck)}): it shapes the sender, and the"
            " bottleneck's buffer and drops are not what limits one flow",
            severity=bottleneck / access,
        )


def short_run(cell: Cell) -> Iterator[Hit]:
    """In a run of few round trips the handshake and slow start are the result."""
    for index, flow in enumerate(cell.flows):
        rtt_s = cell.wired.base_rtt_s(flow.source)
        lifetime_s = flow.stop_s - flow.start_s
        if lifetime_s < MIN_LIFETIME_RTTS * rtt_s:
            yield Hit(
                subject=flow.id,
                loc=("flows", index),
                text=f"flow {flow.id} sends for {units.format_time(lifetime_s)}, that is"
                f" {lifetime_s / rtt_s:.1f} round trips of {units.format_time(rtt_s)}, fewer than"
                f" {MIN_LIFETIME_RTTS}: handshake and slow start are most of what is measured",
                severity=rtt_s / lifetime_s,
            )


def message_not_one_packet(cell: Cell) -> Iterator[Hit]:
    """Messages that are split or share a packet: loss of packets is not loss of messages."""
    for index, flow in enumerate(cell.flows):
        reason = _packing(cell, flow)
        if reason:
            yield Hit(
                subject=flow.id,
                loc=("flows", index, "message"),
                text=f"flow {flow.id}: a message of {flow.message_bytes} bytes is not one packet:"
                f" {reason}",
                severity=1,
            )


def _packing(cell: Cell, flow: Flow) -> str:
    size_bytes = flow.message_bytes
    room_bytes = MTU_BYTES - HEADER_BYTES[flow.protocol]
    if flow.protocol == "tcp":
        payload_bytes = tcp_payload_bytes(cell)
        if size_bytes == payload_bytes:
            return ""
        return f"TCP fills segments of {payload_bytes} bytes (maxseg_bytes, tcp_timestamps)"
    if flow.protocol == "udp":
        return ""  # a larger one is refused
    limit_bytes = min(
        room_bytes, int(knob(cell, "sctp_socket", "maxseg_bytes", "sender") or room_bytes)
    )
    if size_bytes > limit_bytes:
        return f"SCTP splits it into {math.ceil(size_bytes / max(1, limit_bytes))} chunks"
    chunk_bytes = 16 + math.ceil(size_bytes / 4) * 4
    bundled = (room_bytes + 16) // chunk_bytes
    return f"SCTP bundles up to {bundled} of them" if bundled > 1 else ""


#: Rules about the links of a network.
OF_LINKS = frozenset(
    {
        "ack-loss", "channel-limit-below-path", "heavy-loss", "sender-shaped", "short-run",
        "too-few-losses", "window-below-path",
    }
)  # fmt: skip
CELL_RULES: dict[str, Rule] = {
    "ack-loss": ack_loss,
    "channel-limit-below-path": channel_limit_below_path,
    "control-held-back": control_held_back,
    "heavy-loss": heavy_loss,
    "iperf3-cannot-set": iperf3_cannot_set,
    "message-not-one-packet": message_not_one_packet,
    "saved-tcp-metrics": saved_tcp_metrics,
    "sender-shaped": sender_shaped,
    "short-run": short_run,
    "short-warm-up": short_warm_up,
    "too-few-losses": too_few_losses,
    "trace-ends-early": trace_ends_early,
    "window-below-path": window_below_path,
}


SeedRule = Callable[[Sequence[int], Sequence[Cell]], Iterator[Hit]]


def equal_seeds(seeds: Sequence[int], _: Sequence[Cell]) -> Iterator[Hit]:
    """A seed fixes the whole run, so the same seed gives the same run again."""
    repeated = sorted(seed for seed, count in Counter(seeds).items() if count > 1)
    if repeated:
        yield Hit(
            subject="",
            loc=("seeds",),
            text=f"seed {', '.join(map(str, repeated))} is given more than once: a seed fixes a"
            " run to the byte, so the copies are one run, and the interval is too narrow",
            severity=1,
        )


def one_seed(seeds: Sequence[int], cells: Sequence[Cell]) -> Iterator[Hit]:
    """No spread can be estimated from one run; where nothing is left to chance there is none."""
    if len(seeds) == 1 and any(cell.left_to_chance() for cell in cells):
        yield Hit(
            subject="",
            loc=("seeds",),
            text="one seed is one run per point: no confidence interval, and runs of these"
            " studies differ by many percent",
            severity=1,
        )


def seeds_alike(seeds: Sequence[int], cells: Sequence[Cell]) -> Iterator[Hit]:
    """Where nothing is left to chance a seed changes nothing; equal runs look like certainty."""
    if len(set(seeds)) > 1 and cells and not any(cell.left_to_chance() for cell in cells):
        yield Hit(
            subject="",
            loc=("seeds",),
            text="nothing is left to chance (no random loss, no start_spread), so the runs of a"
            " point are one run unless a control draws at random itself, as BBR does: that they"
            " agree says nothing of other starts",
            severity=1,
        )


SEED_RULES: dict[str, SeedRule] = {
    "equal-seeds": equal_seeds,
    "one-seed": one_seed,
    "seeds-alike": seeds_alike,
}
