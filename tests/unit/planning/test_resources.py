"""What cells take of the disk is about what cells of the studies were seen to leave."""

from __future__ import annotations

import dataclasses
from typing import Literal

import pytest

from model.cell import Cell
from testbed.labs.confinement import allowance
from testbed.planning.resources import (
    PER_UNPACKED_PACKET_BYTES,
    REPORT_BYTES,
    REPORT_PER_CELL_BYTES,
    WORKER_BYTES,
    cell_bytes,
    needed,
    scratch_bytes,
)
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell

Purpose = Literal["measure", "calibrate"]
RECORDED = [  # study, point, captured, bytes of a finished cell, of its captures before that
    ("wireless", {"loss_frac": 0.008}, False, 2_217_550, 0),
    ("wireless", {"loss_frac": 0.01}, True, 13_820_988, 53_288_384),
    ("wireless", {"loss_frac": 0.03}, True, 8_810_764, 32_094_852),
    ("satellite", {"pairs": 2, "rate_bps": 200_000}, False, 748_589, 0),
    ("satellite", {"pairs": 2, "rate_bps": 2_000_000}, True, 5_917_629, 21_462_212),
    ("satellite", {"pairs": 8, "rate_bps": 11_000_000}, False, 3_900_663, 0),
    ("wired", {"protocol": "tcp"}, True, 13_696_491, 46_961_792),
]


def cell(name: str, at: dict[str, object], *, captured: bool, purpose: Purpose = "measure") -> Cell:
    loaded = load_study(find_study(name))
    point = next(p for p in loaded.points if at.items() <= p.values.items())
    made = resolve_cell(loaded, point, seed=1, replicate=1, lab={})
    collect = dataclasses.replace(made.collect, pcap=captured)
    return dataclasses.replace(made, collect=collect, purpose=purpose)


@pytest.mark.parametrize(("name", "at", "captured", "kept", "unpacked"), RECORDED)
def test_a_cell_takes_about_what_one_was_seen_to_take(
    name: str, at: dict[str, object], captured: bool, kept: int, unpacked: int
) -> None:
    made = cell(name, at, captured=captured)
    assert cell_bytes(made) == pytest.approx(kept, rel=0.2)
    assert scratch_bytes(made) == pytest.approx(unpacked, rel=0.2)


@pytest.mark.parametrize(
    ("name", "kept"), [("wireless", 206_355), ("satellite", 205_175), ("wired", 648_616)]
)
def test_a_calibration_takes_about_what_one_was_seen_to_take(name: str, kept: int) -> None:
    made = cell(name, {}, captured=True, purpose="calibrate")
    assert cell_bytes(made) == pytest.approx(kept, rel=0.2)
    assert scratch_bytes(made) == 0


def test_what_runs_at_once_is_counted_once_for_each_job() -> None:
    small = cell("satellite", {"pairs": 2, "rate_bps": 200_000}, captured=False)
    large = cell("wireless", {"loss_frac": 0.01}, captured=True)
    need = needed([small, large, large, large], jobs=2)
    report_bytes = 3 * REPORT_BYTES + 4 * REPORT_PER_CELL_BYTES  # two studies and their set
    assert need.disk_bytes == cell_bytes(small) + 3 * cell_bytes(large) + report_bytes
    assert need.scratch_bytes == 2 * scratch_bytes(large) > 2000 * PER_UNPACKED_PACKET_BYTES
    assert need.memory_bytes == 2 * (allowance.of_cell(large).memory_bytes + WORKER_BYTES)
    assert need.unknown_cells == 0
    assert needed([small], jobs=8).memory_bytes == (256 << 20) + WORKER_BYTES


def test_cells_that_were_not_measured_are_told_apart() -> None:
    made = cell("manet", {}, captured=False)
    need = needed([made, made], jobs=1)
    assert (need.unknown_cells, need.scratch_bytes) == (2, 0)
    assert need.disk_bytes == REPORT_BYTES + 2 * REPORT_PER_CELL_BYTES
