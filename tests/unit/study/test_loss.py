"""Loss models and spread starts in a study file: what is read, resolved, swept, and refused."""

from __future__ import annotations

import pytest

from model.cell import from_dict
from model.fields import to_dict
from model.links import AnyLoss, BurstLoss, Loss, PeriodicLoss
from testbed.planning.findings import find
from tests.support.study_file import SWEEP, UNPUBLISHED, Edit, cells, study

BURSTS = """model: gilbert_elliott
      to_bad: 0.5 %
      to_good: 25 %
      loss_bad: 80 %
      loss_good: 0 %"""
NO_SWEEP: Edit = (SWEEP, "  network.bottleneck.rate: [3 Mbit/s]\n")


def losses(*edits: Edit) -> list[AnyLoss]:
    return [cell.wired.bottleneck.forward.loss for cell in cells(*edits)]


def test_losses_in_bursts() -> None:
    (found,) = losses(NO_SWEEP, ("data: 1 %", BURSTS))
    assert found == BurstLoss(
        model="gilbert_elliott", to_bad_frac=0.005, to_good_frac=0.25, loss_bad_frac=0.8,
        loss_good_frac=0.0,
    )  # fmt: skip


def test_a_part_of_the_model_can_be_swept() -> None:
    found = cells((SWEEP, "  network.bottleneck.loss.to_bad: [1 %, 2 %]\n"), ("data: 1 %", BURSTS))
    assert [cell.point for cell in found] == [{"to_bad_frac": 0.01}, {"to_bad_frac": 0.02}]
    assert [cell.wired.bottleneck.forward.loss.loss_frac for cell in found] == [
        pytest.approx(0.8 * 1 / 26), pytest.approx(0.8 * 2 / 27),
    ]  # fmt: skip


def test_paired_loss_is_of_the_data_alone_and_none_is_none() -> None:
    paired: Edit = ("data: 1 %", "data: 1 %\n      process: paired")
    assert losses(NO_SWEEP, paired) == [Loss(model="paired", loss_frac=0.01)]
    (cell,) = cells(NO_SWEEP, paired, ("acknowledgements: 0 %", "acknowledgements: 2 %"))
    assert cell.wired.bottleneck.reverse.loss == Loss(model="random", loss_frac=0.02)
    (none,) = losses(NO_SWEEP, ("data: 1 %", "data: 0 %\n      process: paired"))
    assert none == Loss(model="none", loss_frac=0.0)


EQUAL: Edit = ("data: 1 %", "data: 1 %\n      process: equal_drops")


def test_equal_drops_are_of_the_data_alone() -> None:
    assert losses(NO_SWEEP, EQUAL) == [Loss(model="equal_drops", loss_frac=0.01)]
    alike: list[Edit] = [(f"pair: {n}\n", f"pair: {n}\n    start: 5 s\n") for n in (1, 2)]
    assert losses(NO_SWEEP, EQUAL, *alike) == [Loss(model="equal_drops", loss_frac=0.01)]


PERIOD = "model: periodic\n      every: 100 packets\n      first: 20"


def test_every_so_many_th_data_packet_of_each_flow() -> None:
    (found,) = losses(NO_SWEEP, ("data: 1 %", PERIOD))
    assert found == PeriodicLoss(model="periodic", every_pkts=100, first_pkt=20)


def test_a_period_can_be_swept_and_leaves_nothing_to_chance() -> None:
    swept: Edit = (SWEEP, "  network.bottleneck.loss.every: [50 packets, 200 packets]\n")
    found = cells(swept, ("data: 1 %", PERIOD), ("duration: 1000 s", "duration: 14 s"))
    assert [cell.point for cell in found] == [{"every_pkts": 50}, {"every_pkts": 200}]
    assert [cell.wired.bottleneck.forward.loss.loss_frac for cell in found] == [0.02, 0.005]
    assert [cell.left_to_chance() for cell in found] == [(), ()]
    assert [from_dict(to_dict(cell)) for cell in found] == found


def test_losses_of_both_kinds_leave_something_to_chance() -> None:
    for text in (BURSTS, "data: 1 %\n      process: paired"):
        (cell,) = cells(NO_SWEEP, ("data: 1 %", text))
        assert "losses" in cell.left_to_chance()


SPREAD: Edit = ("    pair: 1\n", "    pair: 1\n    start: 10 s\n    start_spread: 2 s\n")


def starts(seed: int) -> list[tuple[float, float]]:
    found = cells(NO_SWEEP, SPREAD, seed=seed)[0].flows
    return [(flow.start_s, flow.start_spread_s) for flow in found]


def test_starts_are_drawn_from_the_seed_and_the_flows_name() -> None:
    (first, spread_s), other = starts(1)
    assert 10 <= first < 12
    assert first == round(first, 9)
    assert (spread_s, other) == (2.0, (0.0, 0.0))
    assert starts(1) == starts(1)
    assert starts(2)[0] != starts(1)[0]


def test_each_copy_starts_at_a_time_of_its_own() -> None:
    copied: Edit = ("    pair: 1\n", "    pair: 1\n    copies: 3\n    start_spread: 1 s\n")
    more = (("pairs: 2", "pairs: 4"), ("    pair: 2\n", "    pair: next\n"))
    times = [flow.start_s for flow in cells(NO_SWEEP, copied, *more)[0].flows]
    assert len(set(times[:3])) == 3
    assert times[3] == 0.0


def test_a_spread_start_is_chance_and_one_without_losses_and_heartbeats_is_none() -> None:
    short = (("duration: 1000 s", "duration: 14 s"), ("data: 1 %", "data: 0 %"), NO_SWEEP)
    assert cells(*short)[0].left_to_chance() == ()
    assert cells(*short, SPREAD)[0].left_to_chance() == ("starts",)
    longer = [("duration: 1000 s", "duration: 20 s"), *short[1:]]
    assert cells(*longer)[0].left_to_chance() == ("heartbeats",)
    loaded = study(UNPUBLISHED, *longer, SPREAD)
    assert "one-seed" in {found.rule for found in find(loaded, seeds=(1,)).warnings}
