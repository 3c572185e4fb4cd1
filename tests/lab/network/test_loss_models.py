"""Losses in bursts and paired losses on the real kernel: as many as asked, and where."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import draws, run_folder
from model.cell import Cell
from model.check import Check
from model.links import AnyLoss, BurstLoss, Loss, PeriodicLoss
from testbed.campaign import calibration_checks
from testbed.labs.virtual.virtual_lab import PROPERTIES
from tests.support.recorded import with_bottleneck
from tests.support.runs import lab_part

Run = Callable[..., Path]
Make = Callable[..., Cell]
BURSTS = BurstLoss(
    model="gilbert_elliott", to_bad_frac=0.02, to_good_frac=0.25, loss_bad_frac=0.8,
    loss_good_frac=0.001,
)  # fmt: skip


def losing(make: Make, loss: AnyLoss, **changes: object) -> Cell:
    """Return a cell with this loss of data and a buffer that drops nothing."""
    return with_bottleneck(make(**changes), loss=loss, queue_pkts=100)


def calibrated(cell: Cell, folder: Path) -> dict[str, Check]:
    """Return the checks of a calibrating cell by what they are of."""
    found, logs = lab_part.measured(folder)
    return {
        check.check: check
        for check in calibration_checks.checks(
            cell.wired, cell.seed, found, logs, PROPERTIES.tolerances
        )
    }


def test_losses_in_bursts_are_as_asked_and_others_are_told_apart(
    wireless: Make, run_cell: Run
) -> None:
    cell = losing(wireless, BURSTS, purpose="calibrate")
    folder = run_cell(cell)
    checks = calibrated(cell, folder)
    assert {name: check.got for name, check in checks.items() if not check.agrees} == {}
    # The same mean, each packet by itself, is another path; so are bursts half as long.
    alone = losing(wireless, Loss(model="random", loss_frac=BURSTS.loss_frac), purpose="calibrate")
    single = run_cell(alone, "alone")
    assert calibrated(alone, single)["loss forward"].agrees
    assert calibrated(cell, single)["loss forward"].agrees is False
    for setting in ("to_bad_frac", "to_good_frac", "loss_bad_frac", "loss_good_frac"):
        for factor in (0.95, 1.05):
            other = dataclasses.replace(BURSTS, **{setting: factor * getattr(BURSTS, setting)})
            assert calibrated(losing(wireless, other), folder)["loss forward"].agrees is False


def test_paired_loss_is_measured_before_it_is_believed(wireless: Make, run_cell: Run) -> None:
    cell = losing(wireless, Loss(model="paired", loss_frac=0.02), purpose="calibrate")
    checks = calibrated(cell, run_cell(cell))
    assert {name: check.got for name, check in checks.items() if not check.agrees} == {}
    assert checks["loss forward"].wanted.startswith("2 %")


def test_equal_drops_are_measured_before_they_are_believed(wireless: Make, run_cell: Run) -> None:
    cell = losing(wireless, Loss(model="equal_drops", loss_frac=0.02), purpose="calibrate")
    checks = calibrated(cell, run_cell(cell))
    assert {name: check.got for name, check in checks.items() if not check.agrees} == {}
    assert checks["loss forward"].wanted.startswith("2 %")


PERIOD = PeriodicLoss(model="periodic", every_pkts=50, first_pkt=20)


def test_periodic_loss_is_measured_before_it_is_believed(wireless: Make, run_cell: Run) -> None:
    cell = losing(wireless, PERIOD, purpose="calibrate")
    folder = run_cell(cell)
    checks = calibrated(cell, folder)
    assert {name: check.got for name, check in checks.items() if not check.agrees} == {}
    assert checks["loss forward"].wanted.startswith("2 %")
    for every_pkts, first_pkt in ((49, 20), (51, 20), (50, 19), (50, 21)):
        period = PeriodicLoss(model="periodic", every_pkts=every_pkts, first_pkt=first_pkt)
        assert calibrated(losing(wireless, period), folder)["loss forward"].agrees is False


def lost(packets: pl.DataFrame, flow: str) -> tuple[int, list[int]]:
    """Return how many data packets of a flow left the buffer, and which were lost behind it."""
    data = packets.filter(pl.col("payload_bytes") > 0, flow=flow, direction="data")
    passed = set(data.filter(point="loss_passed")["packet"])
    offered = data.filter(point="loss_offered")["packet"]
    return len(offered), [k for k, packet in enumerate(offered, 1) if packet not in passed]


def with_a_listed_packet(run_cell: Run, cell: Cell, *, telemetry: bool) -> tuple[Path, set[str]]:
    """Run a cell whose TCP loses packet 3, too; return its folder and the checks, all agreeing."""
    tcp, sctp = cell.flows
    listed = dataclasses.replace(tcp, drop_data_pkts=(3,))
    collect = dataclasses.replace(cell.collect, telemetry=telemetry)
    cell = dataclasses.replace(cell, flows=(listed, sctp), collect=collect)
    folder = run_cell(cell)
    write_tables(folder, cell)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
    return folder, {check["check"] for check in audit["checks"]}


def test_packet_k_of_each_flow_shares_its_fate(wireless: Make, run_cell: Run) -> None:
    cell = losing(wireless, Loss(model="paired", loss_frac=0.05), duration_s=30.0, pcap=True)
    folder, made = with_a_listed_packet(run_cell, cell, telemetry=True)
    assert "drawn packets lost" in made
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    (tcp_pkts, of_tcp), (sctp_pkts, of_sctp) = (lost(packets, flow.id) for flow in cell.flows)
    both = min(tcp_pkts, sctp_pkts)
    assert both > 200
    assert [k for k in of_tcp if k <= both and k != 3] == [k for k in of_sctp if k <= both]
    assert tuple(of_sctp) == draws.losses_by_number(cell, sctp_pkts)
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    dropped = dict(zip(flows["flow"], flows["loss_dropped_pkts"], strict=True))
    assert dropped == {"T": len(of_tcp), "S": len(of_sctp)}


@pytest.mark.parametrize("pcap", [True, False])
def test_flows_lose_equally_many_packets(wireless: Make, run_cell: Run, pcap: bool) -> None:
    loss = Loss(model="equal_drops", loss_frac=0.05)
    cell = losing(wireless, loss, duration_s=60.0, pcap=pcap)
    folder, made = with_a_listed_packet(run_cell, cell, telemetry=pcap)
    assert {"offered to equal drops", "drawn by the seed"} <= made
    assert ("drawn packets lost" in made) == pcap
    rows = json.loads((folder / run_folder.NUMBERED_DROPS).read_text())
    drawn_pkts = rows[0]["together_drawn_pkts"]
    owed = [drawn_pkts - row["drawn_dropped_pkts"] for row in rows]
    assert drawn_pkts > 10
    assert all(0 <= pkts < 8 for pkts in owed)
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    dropped = dict(zip(flows["flow"], flows["loss_dropped_pkts"], strict=True))
    assert dropped == {"T": drawn_pkts - owed[0] + 1, "S": drawn_pkts - owed[1]}
    if pcap:
        packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
        assert {flow: len(lost(packets, flow)[1]) for flow in dropped} == dropped


@pytest.mark.parametrize("pcap", [True, False])
def test_each_flow_loses_every_so_many_th_of_its_packets(
    wireless: Make, run_cell: Run, pcap: bool
) -> None:
    cell = losing(wireless, PERIOD, duration_s=30.0, pcap=pcap)
    folder, made = with_a_listed_packet(run_cell, cell, telemetry=pcap)
    assert "drawn packets dropped" in made
    assert ("drawn packets lost" in made) == pcap
    rows = json.loads((folder / run_folder.NUMBERED_DROPS).read_text())
    due = {row["flow"]: len(range(20, row["seen_pkts"] + 1, 50)) for row in rows}
    assert {row["flow"]: row["drawn_dropped_pkts"] for row in rows} == due
    assert min(due.values()) >= 5
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    dropped = dict(zip(flows["flow"], flows["loss_dropped_pkts"], strict=True))
    assert dropped == {"T": due["T"] + 1, "S": due["S"]}
