"""Which packets netem loses: as the kernel lost them, and how little another model may differ."""

from __future__ import annotations

import itertools

import pytest

from model import draws, netem_draws
from model.links import AnyLoss, BurstLoss, Loss, PeriodicLoss

#: Of kernel 7.3, seed 1 of the wireless study, 1 %: what a calibration's 200 packets, then 10000
#: more, lost (the first twelve).
SEED = 7491548076416030204
LOST = [66, 98, 226, 259, 306, 358, 362, 399, 418, 534, 688, 725]


def lost(loss: AnyLoss, seed: int, packets: int) -> list[int]:
    fates = itertools.islice(netem_draws.fates([loss], seed), packets)
    return [number for number, (gone,) in enumerate(fates) if gone]


def test_the_kernel_lost_what_is_told() -> None:
    assert draws.channel_seed(1, "forward") == SEED
    assert lost(Loss(model="random", loss_frac=0.01), SEED, 726) == LOST


@pytest.mark.parametrize("seed", [0, 1, 1 << 32, (1 << 63) - 1])
def test_no_word_of_the_generator_is_too_small(seed: int) -> None:
    words = netem_draws.first_state(seed)
    assert all(word >= least for word, least in zip(words, netem_draws.LEAST, strict=True))


@pytest.mark.parametrize(("loss_frac", "fates"), [(0.0, {False}), (1.0, {True})])
def test_certain_fates(loss_frac: float, fates: set[bool]) -> None:
    drawn = netem_draws.fates([Loss(model="random", loss_frac=loss_frac)], 5)
    assert {gone for (gone,) in itertools.islice(drawn, 1000)} == fates


def test_shares_of_losses_are_those_asked_for() -> None:
    assert len(lost(Loss(model="random", loss_frac=0.1), 7, 20_000)) == pytest.approx(2000, rel=0.1)
    bursts = BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.02, to_good_frac=0.25, loss_bad_frac=0.8,
        loss_good_frac=0.001,
    )  # fmt: skip
    gone = lost(bursts, 7, 40_000)
    assert len(gone) / 40_000 == pytest.approx(bursts.loss_frac, rel=0.1)
    began = sum(number - 1 not in gone for number in gone)
    assert len(gone) / began == pytest.approx(bursts.burst_pkts, rel=0.1)


def test_paired_losses_are_those_of_the_packets_numbers() -> None:
    gone = lost(Loss(model="paired", loss_frac=0.05), 9, 500)
    below = draws.threshold(0.05)
    assert gone == [k - 1 for k in range(1, 501) if draws.number_draw(9, k) < below]


def test_equal_drops_of_what_measures_the_path_are_those_of_one_flow() -> None:
    gone = lost(Loss(model="equal_drops", loss_frac=0.05), 9, 500)
    shares = draws.EqualDrops(9, 0.05, 1)
    assert gone == [k for k in range(500) if shares.loses(0)]
    assert len(gone) > 10


PERIOD = PeriodicLoss(model="periodic", every_pkts=100, first_pkt=250)


def test_periodic_losses_are_those_of_the_packets_numbers_and_no_draw() -> None:
    assert lost(PERIOD, 9, 600) == [249, 349, 449, 549]
    assert lost(PERIOD, 10, 600) == lost(PERIOD, 9, 600)


def test_a_period_is_told_from_one_a_twentieth_other_and_a_short_one_by_a_packet() -> None:
    others = netem_draws.variants(PERIOD)[1:]
    assert [(m.every_pkts, m.first_pkt) for m in others if isinstance(m, PeriodicLoss)] == [
        (95, 250), (105, 250), (100, 238), (100, 262),
    ]  # fmt: skip
    short = netem_draws.variants(PeriodicLoss(model="periodic", every_pkts=4, first_pkt=1))[1:]
    assert [(m.every_pkts, m.first_pkt) for m in short if isinstance(m, PeriodicLoss)] == [
        (3, 1), (5, 1), (4, 2),
    ]  # fmt: skip
    path = netem_draws.Foretold([netem_draws.Chance(where="r2", loss=PERIOD, seed=0)])
    for _ in range(345):  # the second loss of a period of 95
        path.lost()
    assert path.untold == {(0, 2)}
    for _ in range(5):  # its own second one, which a period of 105 does not lose
        path.lost()
    assert path.untold == set()


def test_settings_that_cannot_differ_have_no_variant() -> None:
    assert len(netem_draws.variants(Loss(model="random", loss_frac=0.0))) == 1
    assert [m.loss_frac for m in netem_draws.variants(Loss(model="random", loss_frac=1.0))] == [
        1.0,
        0.95,
    ]


def test_a_packet_lost_early_meets_no_later_place() -> None:
    first = netem_draws.Chance(where="a", loss=Loss(model="random", loss_frac=0.5), seed=1)
    second = netem_draws.Chance(where="b", loss=Loss(model="random", loss_frac=0.5), seed=2)
    both = netem_draws.Foretold([first, second])
    alone = (netem_draws.fates([chance.loss], chance.seed) for chance in (first, second))
    one, other = alone
    for _ in range(200):
        assert both.lost() == (next(one)[0] or next(other)[0])


def test_what_is_untold_shrinks_until_another_packet_would_be_lost() -> None:
    loss = Loss(model="random", loss_frac=0.01)
    path = netem_draws.Foretold([netem_draws.Chance(where="a", loss=loss, seed=SEED)])
    assert path.untold == {(0, 1), (0, 2)}
    for _ in range(20_000):
        path.lost()
    assert path.untold == set()
