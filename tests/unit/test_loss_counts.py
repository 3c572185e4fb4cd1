"""Counts of losses and bursts: against every outcome written out, and against the binomial."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from scipy.stats import binom

from testbed import loss_counts
from testbed.cell import BurstLoss

pytestmark = pytest.mark.unit

LOSS = BurstLoss(
    model="gilbert_elliott", to_bad_frac=0.2, to_good_frac=0.5, loss_bad_frac=0.75,
    loss_good_frac=0.125,
)  # fmt: skip
PACKETS = 5


def outcomes() -> list[tuple[tuple[bool, ...], float]]:
    """Return every sequence of losses with its probability, by way of every sequence of states."""
    found = []
    own = (LOSS.loss_good_frac, LOSS.loss_bad_frac)
    moves = ((0.8, 0.2), (0.5, 0.5))
    for lost in itertools.product((False, True), repeat=PACKETS):
        chance = 0.0
        for states in itertools.product((0, 1), repeat=PACKETS):
            here = LOSS.bad_frac if states[0] else 1 - LOSS.bad_frac
            for before, after in itertools.pairwise(states):
                here *= moves[before][after]
            for state, is_lost in zip(states, lost, strict=True):
                here *= own[state] if is_lost else 1 - own[state]
            chance += here
        found.append((lost, chance))
    return found


def test_counts_are_those_of_every_outcome() -> None:
    wanted_losses, wanted_bursts = np.zeros(PACKETS + 1), np.zeros(PACKETS + 1)
    for lost, chance in outcomes():
        wanted_losses[sum(lost)] += chance
        wanted_bursts[
            sum(now and not last for last, now in itertools.pairwise((False, *lost)))
        ] += chance
    assert loss_counts.losses(LOSS, PACKETS, 0, 0) == pytest.approx(wanted_losses, abs=1e-12)
    assert loss_counts.bursts(LOSS, PACKETS, 0, 0) == pytest.approx(wanted_bursts, abs=1e-12)


def test_a_model_states_what_it_loses_in_the_long_run() -> None:
    # Bad 2/7 of the time: 2/7 x 3/4 + 5/7 x 1/8 = 17/56.
    assert LOSS.loss_frac == pytest.approx(17 / 56)
    packets = 4_000
    losses = loss_counts.mean(loss_counts.losses(LOSS, packets, 0, 0))
    bursts = loss_counts.mean(loss_counts.bursts(LOSS, packets, 0, 0))
    assert losses == pytest.approx(packets * LOSS.loss_frac)
    # The first packet follows no loss; each later one begins a burst unless it follows one.
    assert losses / bursts == pytest.approx(LOSS.burst_pkts, rel=1e-3)


def test_all_lost_in_the_bad_state_makes_bursts_as_long_as_it_lasts() -> None:
    certain = BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.01, to_good_frac=0.2, loss_bad_frac=1.0,
        loss_good_frac=0.0,
    )  # fmt: skip
    assert certain.burst_pkts == pytest.approx(5)


def test_equal_states_are_the_binomial_with_every_other_loss_of_the_path() -> None:
    same = BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.3, to_good_frac=0.4, loss_bad_frac=0.1,
        loss_good_frac=0.1,
    )  # fmt: skip
    counts = loss_counts.losses(same, 200, 0.2, 0.05)
    lost_frac = 1 - 0.8 * 0.9 * 0.95
    assert counts == pytest.approx(binom.pmf(range(201), 200, lost_frac), abs=1e-12)
    assert loss_counts.interval(counts, 0.99) == tuple(binom.interval(0.99, 200, lost_frac))


def test_losses_elsewhere_do_not_move_the_chain() -> None:
    """A simulation of the path says the same, to within its own error."""
    draw, runs, packets = random.Random(1), 4_000, 60
    seen = []
    for _ in range(runs):
        bad, lost = draw.random() < LOSS.bad_frac, 0
        for _ in range(packets):
            if draw.random() < 0.2:
                lost += 1
                continue
            own = LOSS.loss_bad_frac if bad else LOSS.loss_good_frac
            lost += draw.random() < own or draw.random() < 0.05
            bad ^= draw.random() < (LOSS.to_good_frac if bad else LOSS.to_bad_frac)
        seen.append(lost)
    counts = loss_counts.losses(LOSS, packets, 0.2, 0.05)
    spread = math.sqrt(float(np.arange(packets + 1) ** 2 @ counts) - loss_counts.mean(counts) ** 2)
    assert np.mean(seen) == pytest.approx(loss_counts.mean(counts), abs=4 * spread / runs**0.5)
    assert np.std(seen) == pytest.approx(spread, rel=0.06)
