"""Links of 10 Gbit/s on the kernel with the fine clock: as asked, and others are told from them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell
from model.links import Link
from testbed.campaign import calibration_checks
from testbed.labs.booted.time_limits import limits
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import PROPERTIES, VirtualLab
from testbed.points.load_study import Study, parse_study
from testbed.points.resolve import resolve_cell
from tests.support.runs import lab_part
from tests.support.study_file import SWEEP, UNPUBLISHED, Edit, edited

RATE_BPS, OWD_S = 10_000_000_000, 0.005
FAST: list[Edit] = [
    UNPUBLISHED,
    (SWEEP, "  network.bottleneck.rate: [10 Gbit/s]\n"),
    ("rate: 10 Mbit/s", "rate: 10 Gbit/s"),
    ("rate: 10 Mbit/s", "rate: 10 Gbit/s"),
    ("delay: 250 ms", "delay: 5 ms"),
    ("queue: 10 packets", "queue: 4000 packets"),
    ("data: 1 %", "data: 0 %"),
    ("hosts: paper", 'hosts: stock\nkernel: "6.12"'),
]
DURATION_S = 0.5


@pytest.fixture(scope="module")
def fast() -> Study:
    return parse_study(edited(*FAST), "w.yaml")


@pytest.fixture(scope="module")
def fine(fast: Study) -> VirtualLab:
    return virtual_lab.ensure(fast.kernel_at(fast.points[0]), lambda _what, _done: None)


def cell(fast: Study, lab: VirtualLab, **named: Any) -> Cell:
    made = resolve_cell(
        fast, fast.points[0], seed=1, replicate=1, lab=dict(lab.describe()), **named
    )
    return dataclasses.replace(made, limits=limits(made))


@pytest.fixture(scope="module")
def calibrated(
    fast: Study, fine: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Cell, dict[str, Any], dict[str, list[calibration_checks.Packet]]]:
    one = cell(fast, fine, purpose="calibrate")
    folder = lab_part.run(fine, one, tmp_path_factory.mktemp("fast") / "cell")
    found, logs = lab_part.measured(folder)
    return one, found, logs


def test_every_link_is_as_asked(calibrated: Any) -> None:
    one, found, logs = calibrated
    assert one.lab["kernel"].endswith("+fine-clock")
    assert one.lab["kernel_package"].endswith(" +fine-clock")
    assert one.wired.bottleneck.forward.rate_bps == RATE_BPS
    made = calibration_checks.checks(one.wired, one.seed, found, logs, PROPERTIES.tolerances)
    assert [check for check in made if not check.agrees] == []
    rates = [check for check in made if check.check == "rate"]
    assert len(rates) == 10
    assert {check.wanted for check in rates} == {f"{RATE_BPS} bit/s within 0.1 %"}


@pytest.mark.parametrize(
    ("check", "changes"),
    [
        ("rate", {"rate_bps": 10_015_000_000}),
        ("rate", {"rate_bps": 9_985_000_000}),
        ("buffer", {"queue_pkts": 3999}),
        ("buffer", {"queue_pkts": 4001}),
        ("rtt", {"owd_s": OWD_S + 15e-6}),
    ],
)
def test_another_link_is_told_from_it(calibrated: Any, check: str, changes: dict[str, Any]) -> None:
    one, found, logs = calibrated
    way = dataclasses.replace(one.wired.bottleneck.forward, **changes)
    other = dataclasses.replace(one.wired, bottleneck=Link(forward=way, reverse=way))
    made = calibration_checks.checks(other, one.seed, found, logs, PROPERTIES.tolerances)
    assert check in [one.check for one in made if one.agrees is False]


def test_flows_run_and_every_packet_is_accounted_for(
    fast: Study, fine: VirtualLab, tmp_path: Path
) -> None:
    made = cell(fast, fine)
    flows = tuple(dataclasses.replace(flow, stop_s=DURATION_S) for flow in made.flows)
    short = dataclasses.replace(
        made, duration_s=DURATION_S, measure_from_s=0.0, measure_to_s=DURATION_S, flows=flows
    )
    folder = lab_part.run(fine, short, tmp_path / "cell")
    write_tables(folder, short)
    found = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert (found["goodput_bytes"] > 0).all()
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
