"""Draws from a seed: known outputs of SplitMix64, thresholds, and which packets they lose."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed import draws
from testbed.cell import Cell, Loss
from tests.recorded import wireless_cell

pytestmark = pytest.mark.unit


def paired(loss_frac: float, seed: int = 1) -> Cell:
    """Return the wireless cell with paired loss at its bottleneck."""
    cell = wireless_cell(seed=seed)
    forward = dataclasses.replace(
        cell.network.bottleneck.forward, loss=Loss(model="paired", loss_frac=loss_frac)
    )
    bottleneck = dataclasses.replace(cell.network.bottleneck, forward=forward)
    network = dataclasses.replace(cell.network, bottleneck=bottleneck)
    return dataclasses.replace(cell, network=network)


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
    lost = draws.paired_losses(paired(0.01), 100_000)
    assert 1_000 - 4 * 32 < len(lost) < 1_000 + 4 * 32
    assert draws.paired_losses(paired(0.01), 50_000) == tuple(k for k in lost if k <= 50_000)
    assert draws.paired_losses(paired(0.01, seed=2), 100_000) != lost


def test_what_a_lower_loss_loses_a_higher_one_loses_too() -> None:
    lower, higher = (set(draws.paired_losses(paired(p), 10_000)) for p in (0.01, 0.03))
    assert lower < higher


def test_listed_packets_are_not_drawn_too_and_other_losses_draw_nothing() -> None:
    first = draws.paired_losses(paired(0.01), 1_000)[0]
    assert first not in draws.paired_losses(paired(0.01), 1_000, {first})
    assert draws.paired_losses(wireless_cell(), 1_000) == ()
