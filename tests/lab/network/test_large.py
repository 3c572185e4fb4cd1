"""As many hosts as a study may have, and flows that never connect: results, not failures."""

from __future__ import annotations

import dataclasses
import json
import threading
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.cell import Cell
from model.links import Loss
from testbed.campaign.run_cell import execute
from testbed.labs.booted.time_limits import limits
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import load_study, parse_study
from testbed.points.resolve import resolve_cell
from tests.support.recorded import text as recorded
from tests.support.recorded import with_bottleneck

LARGE = recorded("study/large.yaml")
#: 500 flows of 50 pairs at its second point.
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "large.yaml"


def cell_of(pairs: int, lab: VirtualLab) -> Cell:
    text = LARGE.replace("pairs: 500", f"pairs: {pairs}")
    study = parse_study(text.replace("copies: 250", f"copies: {pairs // 2}"), "large.yaml")
    cell = resolve_cell(study, study.points[0], seed=1, replicate=1, lab=lab.describe())
    return dataclasses.replace(cell, limits=limits(cell))


@pytest.mark.parametrize("pairs", [100, pytest.param(500, marks=pytest.mark.slow)])
def test_many_pairs_run_and_are_all_counted(pairs: int, lab: VirtualLab, tmp_path: Path) -> None:
    cell, folder = cell_of(pairs, lab), tmp_path / "cell"
    execute(cell, folder, lab, threading.Event())
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert flows["flow"].to_list() == [flow.id for flow in cell.flows]
    # Most is delivered of what the bottleneck passes while nearly all flows send.
    assert 0.5 < float(flows["goodput_bytes"].sum()) * 8 / 5 / 50e6 < 1
    rows = pl.read_parquet(folder / run_folder.AUDIT_TABLE)
    assert rows.height == 2 * pairs
    assert False not in rows["closes"].to_list()


def test_many_flows_of_few_hosts_have_the_memory_they_need(lab: VirtualLab, tmp_path: Path) -> None:
    study = load_study(BENCHMARK, scale=Decimal("0.1"))
    point = study.points[1]
    cell = resolve_cell(study, point, seed=1, replicate=1, lab=lab.describe())
    cell, folder = dataclasses.replace(cell, limits=limits(cell)), tmp_path / "cell"
    assert (cell.wired.sources, len(cell.flows)) == (50, 500)
    execute(cell, folder, lab, threading.Event())
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert flows.height == 500
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []


def test_flows_that_never_connect_leave_the_others_their_results(
    lab: VirtualLab, tmp_path: Path
) -> None:
    cell, folder = cell_of(12, lab), tmp_path / "cell"
    lossy = with_bottleneck(cell, loss=Loss(model="random", loss_frac=0.8))
    execute(lossy, folder, lab, threading.Event())
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    silent = flows.filter(pl.col("connect_s").is_null())
    assert 0 < silent.height < 12
    assert silent["goodput_bytes"].to_list() == [0] * silent.height
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [found["rule"] for found in audit["warnings"]] == ["never-connected"]
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
