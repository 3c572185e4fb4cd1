"""The study of both generators, a seed of it: what it says may not differ does not."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model import run_folder
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell


@pytest.mark.parametrize("protocol", ["tcp", "sctp"])
@pytest.mark.parametrize("loss_frac", [0, 0.03])
def test_generators_agree(
    protocol: str, loss_frac: float, tracing: VirtualLab, tmp_path: Path
) -> None:
    study = load_study(find_study("generators"))
    found: dict[str, dict[str, Any]] = {}
    for point in study.points:
        cell = resolve_cell(study, point, seed=1, replicate=1, lab=tracing.describe())
        (flow,) = cell.flows
        if (flow.protocol, point.values["loss_frac"]) != (protocol, loss_frac):
            continue
        folder = tmp_path / flow.generator
        execute(cell, folder, tracing, threading.Event())
        (flows,) = pl.read_parquet(folder / run_folder.FLOWS_TABLE).to_dicts()
        found[flow.generator] = flows
        if cell.collect.pcap:
            (path,) = pl.read_parquet(folder / run_folder.PATH_TABLE).to_dicts()
            found[flow.generator] |= path
    probe, iperf3 = found["probe"], found["iperf3"]
    assert [probe["generator"], iperf3["generator"]] == ["probe", "iperf3"]
    assert iperf3["goodput_bps"] == pytest.approx(probe["goodput_bps"], rel=0.02)
    assert probe["loss_frac"] == pytest.approx(loss_frac, rel=0.3)
    assert iperf3["loss_frac"] == pytest.approx(probe["loss_frac"], abs=0.001)
    if not loss_frac:  # then there are captures, and the flow fills the buffer
        assert probe["queue_dropped_pkts"] > 0
        assert iperf3["owd_mean_s"] == pytest.approx(probe["owd_mean_s"], rel=0.02)
