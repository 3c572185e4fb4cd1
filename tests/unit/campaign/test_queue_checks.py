"""What calibration says of a managed queue: its first drops, its room, where its delay settles."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import pytest

from model.check import Check
from model.links import FIFO, Discipline, Loss
from model.tolerances import EXACT
from testbed.campaign import queue_checks
from testbed.campaign.calibration_checks import Packet
from testbed.guest.link_fill import Fill
from tests.support.recorded import direction

SEND_S = 0.0012  # 1500 bytes at 10 Mbit/s
CODEL = dataclasses.replace(FIFO, kind="codel", target_s=0.005, interval_s=0.1)
FQ_CODEL = dataclasses.replace(CODEL, kind="fq_codel", queues=1024, quantum_bytes=1514)
PIE = dataclasses.replace(CODEL, kind="pie", target_s=0.015, interval_s=0.016)
#: A packet is looked at when the one before it leaves: number n at (n - 1) 1.2 ms. That of 6 has
#: stayed 6 ms, the first of more than the target; so the first dropped is looked at after 106 ms,
#: at 89 times 1.2 ms. After 100 ms more, 84 packets, and for the dropped one another, comes 175.
FIRST, SECOND = 90, 175


def fill(managed: Discipline, *, queue_pkts: int = 1000, loss_frac: float = 0.0) -> Fill:
    link = direction(
        rate_bps=10_000_000, queue_pkts=queue_pkts, owd_s=0.018, discipline=managed,
        loss=Loss(model="random" if loss_frac else "none", loss_frac=loss_frac),
    )  # fmt: skip
    return Fill(name="fill_r1_r2", source="r1", target="r2", address="10.0.0.2", direction=link,
                what="bottleneck")  # fmt: skip


def burst(taken: int, dropped: Collection[int] = ()) -> list[Packet]:
    """Return the packets of a burst at time zero that a queue of 10 Mbit/s lets through."""
    found, now_ns = [], 18_000_000
    for seq in range(taken):
        if seq not in dropped:
            now_ns += 1_200_000
            found.append(Packet(seq=seq, send_ns=0, recv_ns=now_ns))
    return found


def judged(one: Fill, log: list[Packet]) -> dict[str, Check]:
    return {
        check.check: check for check in queue_checks.checks(one, "bottleneck", SEND_S, log, EXACT)
    }


def test_codel_drops_an_interval_after_the_target_and_then_each_interval() -> None:
    assert queue_checks.first_drops([0.0] * 1000, SEND_S, 0.005, 0.1) == (FIRST, SECOND)
    assert queue_checks.first_drops([0.0] * 100, SEND_S, 0.005, 0.1) == (FIRST,)
    assert queue_checks.first_drops([0.0] * 50, SEND_S, 0.005, 0.1) == ()


@pytest.mark.parametrize("managed", [CODEL, FQ_CODEL])
def test_the_first_drops_are_those_foretold(managed: Discipline) -> None:
    found = judged(fill(managed), burst(1000, {FIRST, SECOND, 234}))
    assert found["queue discipline"].agrees is True
    assert found["queue discipline"].got == "90 and 175"
    assert found["buffer"].agrees is True


@pytest.mark.parametrize(
    "dropped",
    [
        {},
        {FIRST},
        {FIRST - 2, SECOND},  # of a target or interval some milliseconds shorter
        {FIRST, SECOND + 2},
        {1, FIRST, SECOND},
    ],
)
def test_other_drops_are_no_codel_of_this_target_and_interval(dropped: Collection[int]) -> None:
    assert judged(fill(CODEL), burst(1000, dropped))["queue discipline"].agrees is False


def test_a_short_queue_or_a_lossy_link_cannot_tell() -> None:
    short = judged(fill(CODEL, queue_pkts=100), burst(100, {FIRST}))["queue discipline"]
    assert (short.agrees, short.got) == (None, "cannot tell: too few packets fit")
    lossy = judged(fill(CODEL, loss_frac=0.01), burst(1000, {7, FIRST, SECOND}))
    assert {check.agrees for check in lossy.values()} == {None}


@pytest.mark.parametrize(
    ("managed", "taken", "agrees"),
    [
        (CODEL, 1000, True), (CODEL, 999, True), (CODEL, 998, False), (CODEL, 1001, False),
        (PIE, 1000, True), (PIE, 999, False), (PIE, 1001, False),
    ],
)  # fmt: skip
def test_the_room_is_how_many_of_a_burst_are_taken(
    managed: Discipline, taken: int, agrees: bool
) -> None:
    dropped = {FIRST, SECOND} if managed.kind == "codel" else ()
    found = judged(fill(managed), burst(taken, dropped))["buffer"]
    assert (found.got, found.agrees) == (f"{taken} packets", agrees)


def test_a_smaller_fq_codel_drops_at_once() -> None:
    found = judged(fill(FQ_CODEL), burst(1000, {*range(1, 65), 300}))["buffer"]
    assert (found.got, found.agrees) == ("2 dropped at once", False)


@pytest.mark.parametrize(
    ("stay_s", "agrees"),
    [(0.015, True), (0.0076, True), (0.0074, False), (0.0323, True), (0.0325, False)],
)
def test_pie_is_judged_by_where_the_delay_settles(stay_s: float, agrees: bool) -> None:
    overload = dataclasses.replace(fill(PIE), overload=True)
    # The first half does not count: there the queue is still filling.
    log = [
        Packet(seq=seq, send_ns=seq * 960_000, recv_ns=round(
            seq * 960_000 + (0.018 + SEND_S + (1.0 if seq < 4000 else stay_s)) * 1e9
        ))
        for seq in range(10_000)
    ]  # fmt: skip
    (found,) = queue_checks.checks(overload, "bottleneck", SEND_S, log, EXACT)
    assert (found.check, found.agrees) == ("queue discipline", agrees)


def test_an_overload_cut_short_cannot_tell() -> None:
    link = direction(rate_bps=1_000_000_000, queue_pkts=1000, discipline=PIE)
    fast = dataclasses.replace(fill(PIE), direction=link, overload=True)
    (found,) = queue_checks.checks(fast, "bottleneck", 0.000012, burst(10), EXACT)
    assert found.agrees is None
