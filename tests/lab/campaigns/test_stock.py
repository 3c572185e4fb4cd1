"""Debian's own signed kernel runs the same cells, with what the virtual lab finds."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

from model import run_folder
from model.cell import Cell
from model.links import Loss
from testbed.campaign.run_cell import execute
from testbed.labs import registry
from testbed.labs.contract.lab import Lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell

KERNEL = "6.12"
DURATION_S = 60.0


@pytest.fixture(scope="module")
def stock() -> Lab:
    return registry.named("stock").ready([KERNEL], lambda _what, _done: None)


def cell_in(lab: dict[str, str], purpose: Literal["measure", "calibrate"] = "measure") -> Cell:
    """Return a short cell of the wireless study at 1 % loss."""
    study = load_study(find_study("wireless"))
    point = next(p for p in study.points if p.values["loss_frac"] == 0.01)
    cell = resolve_cell(study, point, seed=1, replicate=1, lab=lab)
    flows = tuple(dataclasses.replace(flow, stop_s=DURATION_S) for flow in cell.flows)
    cell = dataclasses.replace(
        cell, duration_s=DURATION_S, measure_to_s=DURATION_S, flows=flows, purpose=purpose
    )
    return dataclasses.replace(cell, limits=registry.named(lab["name"]).limits(cell))


def paired(cell: Cell) -> Cell:
    """Return the cell with the same packets of each flow lost in every lab."""
    link = cell.wired.bottleneck
    loss = Loss(model="paired", loss_frac=link.forward.loss.loss_frac)
    link = dataclasses.replace(link, forward=dataclasses.replace(link.forward, loss=loss))
    network = dataclasses.replace(cell.wired, bottleneck=link)
    return dataclasses.replace(cell, network=network)


def test_a_calibration_is_as_asked(stock: Lab, tmp_path: Path) -> None:
    cell = cell_in(stock.describe(KERNEL), "calibrate")
    execute(cell, tmp_path / "cell", stock, threading.Event())
    checks = json.loads((tmp_path / "cell" / run_folder.VERIFY).read_text())["checks"]
    assert [check for check in checks if not check["agrees"]] == []
    # Nothing but the flows passes a stage: each packet has the fate its seed draws.
    assert [check["got"] for check in checks if check["check"] == "loss forward"] != []


def test_a_cell_is_measured_as_in_the_virtual_lab(
    stock: Lab, tracing: VirtualLab, tmp_path: Path
) -> None:
    goodput_bps = {}
    for name, lab, described in (
        ("stock", stock, stock.describe(KERNEL)),
        ("virtual", tracing, tracing.describe(KERNEL)),
    ):
        folder = tmp_path / name
        execute(paired(cell_in(described)), folder, lab, threading.Event())
        flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
        goodput_bps[name] = dict(flows.select("flow", "goodput_bps").iter_rows())
        environment = json.loads((folder / "env.json").read_text())
        assert environment["clock"] == "virtual"
        assert environment["tick_hz"] == 250
        assert environment["kernel_release"].startswith(f"{KERNEL}.")
        assert environment["kernel_release"].endswith("amd64") is (name == "stock")
    for flow in ("T", "S"):
        assert 0.9 < goodput_bps["stock"][flow] / goodput_bps["virtual"][flow] < 1.1
