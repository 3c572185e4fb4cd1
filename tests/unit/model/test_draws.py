"""Draws from a seed: known outputs of SplitMix64, thresholds, and which packets they lose."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import draws
from model.cell import Cell
from model.links import AnyLoss, Loss, PeriodicLoss
from tests.support.recorded import wireless_cell, with_bottleneck


def paired(loss_frac: float, seed: int = 1) -> Cell:
    """Return the wireless cell with paired loss at its bottleneck."""
    return losing(Loss(model="paired", loss_frac=loss_frac), seed)


def losing(loss: AnyLoss, seed: int = 1) -> Cell:
    """Return the wireless cell with this loss of data at its bottleneck."""
    return with_bottleneck(wireless_cell(seed=seed), loss=loss)


@pytest.mark.parametrize(
    ("number", "output"),
    [(1, 0xE220A8397B1DCDAF), (2, 0x6E789E6AA1B965F4), (3, 0x06C45D188009454F)],
)
def test_draws_are_splitmix64s_published_outputs_without_the_last_bit(
    number: int, output: int
) -> None:
    assert draws.number_draw(0, number) == output >> 1


def test_thresholds_are_exact() -> None:
    assert draws.threshold(0.0) == 0
    assert draws.threshold(0.25) == 1 << 61
    assert draws.threshold(1.0) == 1 << 63


def test_a_seed_is_one_purposes_own() -> None:
    # sha256("1 bottleneck forward"), its first 63 bits
    assert draws.seed_for(1, "bottleneck forward") == 7491548076416030204
    assert draws.seed_for(1, "bottleneck paired") != draws.seed_for(1, "bottleneck forward")
    assert draws.uniform(1, "bottleneck forward") == pytest.approx(7491548076416030204 / 2**63)


@given(st.integers(0, 2**63 - 1), st.text(max_size=20))
def test_a_uniform_draw_is_below_one(seed: int, what: str) -> None:
    assert 0 <= draws.uniform(seed, what) < 1


def test_lost_packets_are_as_many_as_asked_and_the_same_for_every_look() -> None:
    lost = draws.losses_by_number(paired(0.01), 100_000)
    assert 1_000 - 4 * 32 < len(lost) < 1_000 + 4 * 32
    assert draws.losses_by_number(paired(0.01), 50_000) == tuple(k for k in lost if k <= 50_000)
    assert draws.losses_by_number(paired(0.01, seed=2), 100_000) != lost


def test_what_a_lower_loss_loses_a_higher_one_loses_too() -> None:
    lower, higher = (set(draws.losses_by_number(paired(p), 10_000)) for p in (0.01, 0.03))
    assert lower < higher


def test_listed_packets_are_not_drawn_too_and_other_losses_draw_nothing() -> None:
    first = draws.losses_by_number(paired(0.01), 1_000)[0]
    assert first not in draws.losses_by_number(paired(0.01), 1_000, {first})
    assert draws.losses_by_number(wireless_cell(), 1_000) == ()


def test_every_so_many_th_packet_is_lost_whatever_the_seed() -> None:
    period = PeriodicLoss(model="periodic", every_pkts=5, first_pkt=3)
    for seed in (1, 2):
        assert draws.losses_by_number(losing(period, seed), 18) == (3, 8, 13, 18)
    assert draws.losses_by_number(losing(period), 17, {8}) == (3, 13)
    assert draws.losses_by_number(losing(period), 2) == ()
    assert [k for k in range(1, 19) if period.loses(k)] == [3, 8, 13, 18]
    assert period.loss_frac == 0.2
    assert "losses" not in losing(period).left_to_chance()


@given(
    seed=st.integers(0, 2**63 - 1),
    loss_frac=st.sampled_from([0.008, 0.01, 0.03, 0.1]),
    flows=st.integers(2, 8),
    share_frac=st.floats(0.3, 0.7),
)
@settings(max_examples=40, deadline=None)
def test_flows_lose_equally_many_however_many_they_send_and_all_as_many_as_asked(
    seed: int, loss_frac: float, flows: int, share_frac: float
) -> None:
    packets = 6_000
    shares = draws.EqualDrops(seed, loss_frac, flows)
    order = random.Random(seed)
    lost = [0] * flows
    for _ in range(packets):
        # The first flow sends more or less than its part, the others what is left.
        first = order.random() < 2 * share_frac / flows
        flow = 0 if first else order.randrange(1, flows)
        lost[flow] += shares.loses(flow)
    assert shares.lost_pkts == lost
    wanted = packets * loss_frac / flows
    spread = math.sqrt(wanted)
    assert abs(shares.drawn_pkts - wanted) < 6 * spread
    # A flow owes what was drawn within 32 of its packets: as many as a Poisson number can be.
    slowest = 1 / (flows - 1) * (1 - 2 * share_frac / flows)
    owed_pkts = 32 * loss_frac / flows / min(slowest, 2 * share_frac / flows)
    assert all(
        0 <= shares.drawn_pkts - own <= owed_pkts + 7 * math.sqrt(owed_pkts) + 7 for own in lost
    )


def test_equal_drops_come_like_packets_that_are_lost_each_by_itself() -> None:
    """Gaps between a flow's losses: geometric, whose mean is 1 / p and whose spread is as much."""
    gaps: list[int] = []
    in_step = losses = 0
    for seed in range(20):
        shares, order = draws.EqualDrops(seed, 0.02, 2), random.Random(seed)
        last, since_other = 0, 0
        for number in range(1, 10_001):
            flow = order.randrange(2)
            since_other += 1
            if not shares.loses(flow):
                continue
            if flow == 0:
                gaps.append(number - last)
                last = number
                losses += 1
                in_step += since_other <= 2
            else:
                since_other = 0
    mean = sum(gaps) / len(gaps)
    spread = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(100, rel=0.1)  # half of the packets are the flow's
    assert spread / mean == pytest.approx(1, abs=0.05)
    assert sum(gap <= 2 for gap in gaps) / len(gaps) == pytest.approx(1 - 0.99**2, abs=0.01)
    assert in_step / losses < 0.06  # one in thirty: 32 packets apart on average


def test_what_is_drawn_for_all_flows_is_told_by_their_packets_alone() -> None:
    cell = losing(Loss(model="equal_drops", loss_frac=0.02), seed=9)
    shares = draws.EqualDrops(9, 0.02, 2)
    for number in range(5_000):
        shares.loses(number % 2)
    assert draws.equally_drawn_pkts(cell, 5_000) == shares.drawn_pkts
    assert draws.equally_drawn_pkts(cell, 0) == 0
