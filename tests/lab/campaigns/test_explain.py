"""Hypotheses that are settings, from the study file to the packets of the runs that turn them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.run_files.comparing.explanation import EXPLANATION
from model.run_files.json_file import read
from testbed.command.cli import command_status

#: TCP alone for 4 s, twice; its 8th packet is lost, so that its receiver has something to report.
STUDY = """\
groundtruth: 1
study: turned
title: Settings that turn a mechanism
duration: 4 s
seeds: [1, 2]
hosts: paper
generator: probe
network:
  topology: dumbbell
  pairs: 1
  shared_destination: true
  source_access: {rate: 10 Mbit/s, delay: 1 ms, queue: 100 packets}
  bottleneck:
    {rate: 2 Mbit/s, delay: 50 ms, queue: 20 packets, loss: {data: 0 %, acknowledgements: 0 %}}
  destination_access: {rate: 10 Mbit/s, delay: 0 ms, queue: 100 packets}
flows:
  - {id: T, group: T, protocol: tcp, pair: 1, message: 1448 bytes}
groups: {T: TCP SACK}
drops: {T: {data_packets: [8]}}
metrics: [goodput_T_bps]
hypotheses:
  - id: no-sack
    text: TCP reports no packets that arrived beyond a gap.
    restores: TCP selective acknowledgements
    sysctl: {net.ipv4.tcp_sack: 0}
  - id: four-packets
    text: TCP begins with four packets.
    restores: Initial window of TCP
    route_sender: {initcwnd: 4}
"""
IDS = ("no-sack", "four-packets")


@dataclass(frozen=True)
class Seen:
    """What packets show of the two mechanisms."""

    reports_beyond_gaps: bool
    first_flight_pkts: int


def seen(cell: Path) -> Seen:
    """Look at a cell's packets alone."""
    packets = pl.read_parquet(cell / run_folder.PACKETS_TABLE)
    tcp = packets.filter(flow="T")
    blocks = tcp.filter(direction="ack", point="delivered")["sack_blocks"].list.len()
    data = tcp.filter(pl.col("payload_bytes") > 0, direction="data", point="sent")["t_s"]
    heard = tcp.filter(pl.col("ack") > 1, direction="ack", point="delivered")["t_s"].min()
    return Seen(
        reports_beyond_gaps=bool((blocks.fill_null(0) > 0).any()),
        first_flight_pkts=int((data < heard).sum()),
    )


@pytest.mark.usefixtures("tracing")
def test_settings_of_hypotheses_show_in_the_packets_of_their_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("turned.yaml").write_text(STUDY)
    assert command_status(["explain", "turned.yaml", "--pcap", "-D", "r"]) == 0
    assert "no-sack" in capsys.readouterr().out
    found = read(EXPLANATION, Path("r/latest", run_folder.EXPLANATION_JSON))
    sets = [those for n in range(3) for those in itertools.combinations(IDS, n)]
    assert {run.mechanisms for run in found.runs} == set(sets)
    for run in found.runs:
        those = run.mechanisms
        wanted = Seen(
            reports_beyond_gaps="no-sack" not in those,
            first_flight_pkts=4 if "four-packets" in those else 2,
        )
        folder = Path("r/latest", run.run)
        assert json.loads((folder / run_folder.RESOLVED).read_text())["mechanisms"] == list(those)
        measured = [path.parents[1] for path in folder.glob(f"cells/*/{run_folder.PACKETS_TABLE}")]
        assert len(measured) == 2
        assert [seen(cell) for cell in measured] == [wanted] * 2, those
