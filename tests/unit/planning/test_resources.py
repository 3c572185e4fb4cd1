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
    assert needed([small], jobs=8).memory_bytes == (256 << 20) + WORKER_BYTES


RADIOS = [  # point, seconds, bytes of a finished cell without its capture, of that
    ({"protocol": "tcp", "rate_bps": 4000}, 91.0, 964_551, 1_337_522),
    ({"protocol": "tcp", "max_mps": 20.0}, 91.0, 1_032_171, 1_941_988),
    ({"protocol": "sctp", "multihoming": "two-networks"}, 91.0, 1_301_308, 1_880_911),
    ({"protocol": "tcp", "rate_bps": 4000}, 910.0, 4_123_566, None),
    ({"protocol": "sctp", "max_mps": 5.0, "rate_bps": 16000}, 910.0, 3_338_858, None),
]


@pytest.mark.parametrize(("at", "duration_s", "kept", "capture"), RADIOS)
def test_a_cell_of_radios_takes_about_what_one_was_seen_to_take(
    at: dict[str, object], duration_s: float, kept: int, capture: int | None
) -> None:
    plain, captured = (
        dataclasses.replace(cell("manet", at, captured=pcap), duration_s=duration_s)
        for pcap in (False, True)
    )
    assert cell_bytes(plain) == pytest.approx(kept, rel=0.2)
    if capture is None:
        return
    # A medium that is two is counted twice, though one flow fills it little more than one.
    channels = 2 if at.get("multihoming") == "two-networks" else 1
    more_bytes = cell_bytes(captured) - cell_bytes(plain)
    assert more_bytes / channels == pytest.approx(capture, rel=0.4)
    assert scratch_bytes(captured) > 9 * capture, "a capture is compressed to a tenth"
    assert 0 < scratch_bytes(plain) < 2 * kept * channels, "what daemons did is compressed as well"


def test_a_calibration_of_radios_takes_the_same_whatever_the_study() -> None:
    made = cell("manet", {}, captured=True, purpose="calibrate")
    assert cell_bytes(made) == pytest.approx(2_622_338, rel=0.01)
    assert scratch_bytes(made) > 0


SIMULATED = [  # study, point, bytes of a finished cell without the table of packets, and with it
    ("wireless", {"loss_frac": 0.008}, 4_236_218, 8_083_606),
    ("satellite", {"pairs": 2, "rate_bps": 200_000}, 731_207, 1_400_825),
    ("satellite", {"pairs": 8, "rate_bps": 11_000_000}, 6_677_290, 12_551_624),
]


@pytest.mark.parametrize(("name", "at", "plain", "captured"), SIMULATED)
def test_a_cell_of_ns2_takes_about_what_one_was_seen_to_take(
    name: str, at: dict[str, object], plain: int, captured: int
) -> None:
    for pcap, kept in ((False, plain), (True, captured)):
        made = cell(name, at, captured=pcap)
        simulated = dataclasses.replace(made, lab={"simulator": "ns2"})
        assert simulated.simulated()
        assert cell_bytes(simulated) == pytest.approx(kept, rel=0.2)
        assert scratch_bytes(simulated) == 0
