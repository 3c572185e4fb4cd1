"""What no lab could run, or nothing would come through: refused before anything is built."""

from __future__ import annotations

from collections.abc import Iterator

from model import units
from testbed.study.problems import Loc, Problem
from testbed.study.study_form import AccessLink, Network, StudyFile
from testbed.study.yaml_document import Document
from testbed.study_checks.loss import LINKS

#: TCP gives a connection up after 127 s without an answer and SCTP after as much: with a longer
#: round trip none is set up.
MAX_RTT_S = 60.0
#: At higher rates a packet takes few ticks of the lab's finest clock, of a nanosecond, and
#: calibration cannot tell it.
MAX_BOTTLENECK_BPS = 10_000_000_000
#: What a lab has memory for: packets in the bottleneck's buffer and under way.
MAX_HELD_PKTS, PACKET_BYTES = 50_000, 1500
#: Flows a lab was shown to run.
MAX_FLOWS = 1000


def network_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield what is beyond a lab, or lets nothing through, of a network."""
    network = study.network
    for name in LINKS:
        link: AccessLink = getattr(network, name)
        for key, frac in (
            ("data", link.loss.loss_frac),
            ("acknowledgements", link.loss.ack_loss_frac),
        ):
            if frac == 1:
                yield document.problem(
                    ("network", name, "loss", key),
                    "nothing comes through",
                    wanted="less than 100 %",
                    got=units.format_frac(1),
                )
    yield from _path_problems(network, document)


def _path_problems(network: Network, document: Document) -> Iterator[Problem]:
    owds_s = {name: sum(_owds_s(getattr(network, name))) for name in LINKS}
    if network.far_sources:
        del owds_s["source_access"]
        owds_s["far_sources"] = 2 * network.far_sources.owd_s
    rtt_s = sum(owds_s.values())
    if rtt_s > MAX_RTT_S:
        worst = max(owds_s, key=lambda name: owds_s[name])
        yield document.problem(
            ("network", worst, "delay"),
            "the round trip is too long",
            wanted=f"at most {units.format_time(MAX_RTT_S)}",
            got=units.format_time(rtt_s),
            hint="TCP and SCTP would give up before they are connected",
        )
    _, link, _ = network.links()
    back = link.reverse
    for loc, rate_bps in (
        (("rate",), link.rate_bps),
        (("reverse", "rate"), 0 if back.rate_bps == "same" else back.rate_bps),
    ):
        yield from rate_problems(rate_bps, ("network", "bottleneck", *loc), document)
    slowest_bps = min(getattr(network, name).rate_bps for name in LINKS)
    flying_pkts = units.bytes_in_flight(slowest_bps, min(rtt_s, MAX_RTT_S)) / PACKET_BYTES
    if link.queue_pkts + flying_pkts > MAX_HELD_PKTS:
        key = "queue" if link.queue_pkts > flying_pkts else "rate"
        yield document.problem(
            ("network", "bottleneck", key),
            "more packets than the lab has memory for",
            wanted=f"at most {units.format_packets(MAX_HELD_PKTS)} in the buffer and under way",
            got=f"{round(link.queue_pkts + flying_pkts)}",
        )


def rate_problems(rate_bps: int, place: Loc, document: Document) -> Iterator[Problem]:
    """Yield a problem if a bottleneck, from the beginning or later, would be too fast for a lab."""
    if rate_bps > MAX_BOTTLENECK_BPS:
        yield document.problem(
            place,
            "faster than the lab's clock can tell",
            wanted=f"at most {units.format_rate(MAX_BOTTLENECK_BPS)}",
            got=units.format_rate(rate_bps),
        )


def _owds_s(link: AccessLink) -> tuple[float, float]:
    """Return a link's delay of data, and of acknowledgements."""
    back_s = link.reverse.owd_s
    return link.owd_s, link.owd_s if back_s == "same" else back_s


def flow_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    """Yield a problem if there are more flows than a lab runs."""
    flows = sum(flow.copies for flow in study.flows)
    if flows > MAX_FLOWS:
        worst = max(range(len(study.flows)), key=lambda i: study.flows[i].copies)
        yield document.problem(
            ("flows", worst, "copies"),
            "too many flows",
            wanted=f"at most {MAX_FLOWS} in all",
            got=str(flows),
        )
