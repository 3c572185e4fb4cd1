"""Where a dumbbell is captured: both sides of every data stage, and every stage on one stretch."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from mininet_topos.dumbbell import lay_out
from mininet_topos.layout import Layout, counters
from mininet_topos.taps import stretches, taps
from tests.support.recorded import wireless_cell

CELL = wireless_cell()
WIRELESS = lay_out(CELL.wired, seed=1)
SHARED = lay_out(dataclasses.replace(CELL.wired, sources=3, destinations=1), seed=1)


def test_taps_of_the_wireless_study() -> None:
    found = [(t.node, t.device, t.way, t.point, t.direction) for t in taps(WIRELESS)]
    assert found == [
        ("r1", "r1-src1", "in", "sent", "data"),
        ("r1", "ifb-src1", "out", "queue_offered", "data"),
        ("r1", "r1-src1", "out", "delivered", "ack"),
        ("r1", "r1-src2", "in", "sent", "data"),
        ("r1", "ifb-src2", "out", "queue_offered", "data"),
        ("r1", "r1-src2", "out", "delivered", "ack"),
        ("r1", "r1-bottleneck", "out", "loss_offered", "data"),
        ("r2", "ifb-bottleneck", "out", "loss_passed", "data"),
        ("r2", "r2-dst1", "out", "delivered", "data"),
        ("r2", "r2-dst1", "in", "sent", "ack"),
        ("r2", "r2-dst2", "out", "delivered", "data"),
        ("r2", "r2-dst2", "in", "sent", "ack"),
    ]


@pytest.mark.parametrize("laid_out", [WIRELESS, SHARED], ids=["pairs", "shared"])
def test_every_stage_lies_on_one_stretch(laid_out: Layout) -> None:
    staged = sorted({(stage.node, stage.device) for stage in laid_out.stages})
    assert sorted((s.node, d) for s in stretches(laid_out) for d in s.devices) == staged


@pytest.mark.parametrize("laid_out", [WIRELESS, SHARED], ids=["pairs", "shared"])
def test_data_stretches_join_and_are_captured_at_both_ends(laid_out: Layout) -> None:
    way = [stretch for stretch in stretches(laid_out) if stretch.direction == "data"]
    assert [s.passed_at for s in way[:-1]] == [s.offered_at for s in way[1:]]
    points = {tap.point for tap in taps(laid_out) if tap.direction == "data"}
    assert points == set(itertools.chain(*((s.offered_at, s.passed_at) for s in way)))


def test_counters_have_the_names_of_the_points_they_stand_at() -> None:
    points = {tap.point for tap in taps(WIRELESS)}
    assert {counter.name for counter in counters(WIRELESS, CELL.flows)} <= points
