"""A bottleneck whose buffer manages its queue: tc's lines, their places, what is read back."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from mininet_topos import check_built, disciplines
from mininet_topos.batch_lines import tc_lines
from mininet_topos.dumbbell import lay_out
from mininet_topos.layout import Layout
from model.links import FIFO, Discipline, Loss, QueueKind
from tests.support.recorded import both_ways, direction, value, wireless_cell

CELL = wireless_cell()
CODEL = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1)
FQ_CODEL = dataclasses.replace(CODEL, kind="fq_codel", queues=1024, quantum_bytes=1514, ecn=True)
PIE = dataclasses.replace(CODEL, kind="pie", target_s=0.015, interval_s=0.016, ecn=True)
DISCIPLINES: dict[QueueKind, Discipline] = {"codel": CODEL, "fq_codel": FQ_CODEL, "pie": PIE}
BUCKET = "qdisc add dev r1-bottleneck root handle 10: stab overhead -14 tbf"
CHANNEL = "qdisc add dev ifb-bottleneck root handle 1: netem"
#: `tc -j -s qdisc show` of r1, by the discipline of the network below.
SHOWN = value("iproute2-6.15/qdisc-managed.json")


def laid_out(managed: Discipline) -> Layout:
    link = direction(
        rate_bps=10_000_000, queue_pkts=1000, owd_s=0.018, channel_limit_pkts=1563,
        discipline=managed,
    )  # fmt: skip
    network = dataclasses.replace(CELL.wired, bottleneck=both_ways(link))
    return lay_out(network, seed=1)


def bottleneck_lines(managed: Discipline) -> list[str]:
    lines = tc_lines(laid_out(managed), (), "r1").splitlines()
    return [line for line in lines if line.startswith("qdisc") and "bottleneck" in line]


@pytest.mark.parametrize(
    ("managed", "line"),
    [
        (CODEL, "codel limit 999 target 5000us interval 100000us noecn"),
        (
            FQ_CODEL,
            "fq_codel limit 999 flows 1024 quantum 1514 target 5000us interval 100000us ecn",
        ),
        (PIE, "pie limit 999 target 15000us tupdate 16000us alpha 2 beta 20 ecn"),
    ],
)
def test_a_bucket_of_one_packet_above_the_managed_queue(managed: Discipline, line: str) -> None:
    # A full packet is 1500 bytes, and a timer may be 20 us late: 25 bytes, but 32 at least.
    assert bottleneck_lines(managed) == [
        f"{BUCKET} rate 10000000bit burst 1532 limit 1532",
        f"qdisc add dev r1-bottleneck parent 10:1 handle 11: {line}",
        f"{CHANNEL} limit 1563 delay 18000000ns rate 10000000bit -14",
        "qdisc add dev r1-bottleneck clsact",
    ]


def test_a_drop_tail_buffer_is_as_it_was() -> None:
    assert bottleneck_lines(FIFO) == [
        "qdisc add dev r1-bottleneck root handle 10: netem limit 1000 rate 10000000bit -14",
        "qdisc add dev ifb-bottleneck root handle 1: netem limit 1563 delay 18000000ns",
        "qdisc add dev r1-bottleneck clsact",
    ]


def test_the_bucket_of_a_fast_link_bears_a_late_timer() -> None:
    assert disciplines.bucket_bytes(1_000_000_000) == 1500 + 2500
    assert disciplines.bucket_bytes(100_000) == 1500 + 32


def test_losses_are_drawn_where_packets_are_sent() -> None:
    lossy = direction(loss=Loss(model="random", loss_frac=0.01), discipline=CODEL)
    network = dataclasses.replace(CELL.wired, bottleneck=both_ways(lossy))
    lines = tc_lines(lay_out(network, seed=1), (), "r2")
    assert "delay 250000000ns rate 3000000bit -14 loss random 1% seed" in lines


@pytest.mark.parametrize("kind", DISCIPLINES)
def test_the_recorded_network_agrees(kind: QueueKind) -> None:
    checks = check_built.compare_qdiscs(laid_out(DISCIPLINES[kind]), "r1", _of_bottleneck(kind))
    managed = [check for check in checks if "bottleneck" in check.where]
    assert [(check.check, check.got) for check in managed] == [
        ("shaper", "the same"), ("aqm", "the same"), ("channel", "the same"),
    ]  # fmt: skip


def _of_bottleneck(kind: QueueKind) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = copy.deepcopy(SHOWN[kind])
    return shown


@pytest.mark.parametrize(
    ("kind", "handle", "option", "other", "said"),
    [
        ("codel", "11:", "target", 4000, "target_us 4000"),
        ("codel", "11:", "interval", 50000, "interval_us 50000"),
        ("codel", "11:", "limit", 1000, "limit_pkts 1000"),
        ("codel", "11:", "ecn", True, "ecn 1"),
        ("fq_codel", "11:", "flows", 1, "queues 1"),
        ("fq_codel", "11:", "quantum", 300, "quantum_bytes 300"),
        ("fq_codel", "11:", "ecn", False, "ecn 0"),
        ("pie", "11:", "target", 20000, "target_us 20000"),
        ("pie", "11:", "tupdate", 15000, "interval_us 15000"),
        ("pie", "11:", "alpha", 1, "alpha 1"),
        ("pie", "11:", "beta", 10, "beta 10"),
        ("pie", "10:", "rate", 1250125, "rate_bps 1.0001e+07"),
        ("pie", "10:", "burst", 3000, "burst_bytes 3000"),
    ],
)
def test_an_altered_setting_is_named(
    kind: QueueKind, handle: str, option: str, other: object, said: str
) -> None:
    shown = _of_bottleneck(kind)
    (qdisc,) = [one for one in shown if one["dev"] == "r1-bottleneck" and one["handle"] == handle]
    qdisc["options"][option] = other
    checks = check_built.compare_qdiscs(laid_out(DISCIPLINES[kind]), "r1", shown)
    wrong = [check for check in checks if not check.agrees and "bottleneck" in check.where]
    assert [check.got for check in wrong] == [said]


def test_another_discipline_is_named() -> None:
    checks = check_built.compare_qdiscs(laid_out(CODEL), "r1", _of_bottleneck("pie"))
    wrong = [check for check in checks if not check.agrees and "bottleneck" in check.where]
    assert [(check.check, check.got) for check in wrong] == [("aqm", "pie, parent 10:1")]
