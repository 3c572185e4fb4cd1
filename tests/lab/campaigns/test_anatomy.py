"""The anatomy studies lose what they say, one flow after the other, and tell what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell

Run = Callable[..., Path]


@pytest.fixture(scope="module")
def lab(tracing: VirtualLab) -> VirtualLab:
    """The lab of the kernel that the published hosts name."""
    return tracing


def ran(lab: VirtualLab, run_cell: Run, name: str) -> Path:
    """Run the study's first point; return the cell's folder with its tables."""
    study = load_study(find_study(name))
    cell = resolve_cell(study, study.points[0], seed=1, replicate=1, lab=lab.describe(), pcap=True)
    folder = run_cell(cell)
    write_tables(folder, cell)
    return folder


@pytest.mark.parametrize("name", ["anatomy", "anatomy-wireless"])
def test_the_flows_have_the_path_to_themselves(lab: VirtualLab, run_cell: Run, name: str) -> None:
    folder = ran(lab, run_cell, name)
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    tcp, sctp = (packets.filter(flow=flow)["t_s"] for flow in ("T", "S"))
    assert tcp.max() < sctp.min()  # type: ignore[operator]  # polars' scalars


def test_one_segment_is_lost_and_repeated_at_the_third_duplicate(
    lab: VirtualLab, run_cell: Run
) -> None:
    folder = ran(lab, run_cell, "anatomy")
    rows = pl.read_parquet(folder / run_folder.EPISODES_TABLE).to_dicts()
    assert [(row["flow"], row["episode"]) for row in rows] == [("T", 0), ("S", 0)]
    for row in rows:
        assert (row["lost_at"], row["lost_pkts"], row["first_lost_segment"]) == ("loss", 1, 8)
        assert (row["detected_by"], row["dupacks"]) == ("dupacks", 3)
        # A round trip of 504 ms, and three more packets until the third duplicate.
        assert 0.5 < row["detect_s"] < 0.6
    tcp, sctp = rows
    assert tcp["cwnd_before_bytes"] == 9 * 1448  # two at first, and one for each acknowledged
    assert tcp["ssthresh_after_bytes"] == 4 * 1448
    assert sctp["cwnd_before_bytes"] == 4380 + (7 + 2) * 1448
    assert sctp["cwnd_after_bytes"] == (4380 + (7 + 3) * 1448) // 2
    each = [[row[f"new_data_on_dupack_{k}_pkts"] for k in (1, 2, 3)] for row in rows]
    assert each == [[1, 1, 0], [2, 2, 0]]


def test_linux_sctp_begins_with_four_packets(lab: VirtualLab, run_cell: Run) -> None:
    """Three of 1448 bytes are 4344, less than the window of 4380, so a fourth leaves."""
    folder = ran(lab, run_cell, "anatomy")
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE).filter(flow="S")
    sent = packets.filter(pl.col("payload_bytes") > 0, direction="data", point="sent")["t_s"]
    heard = packets.filter(direction="ack", point="delivered", chunk_types="SACK")["t_s"].min()
    assert (sent < heard).sum() == 4


def test_sctps_loss_is_told_at_the_published_window_in_congestion_avoidance(
    lab: VirtualLab, run_cell: Run
) -> None:
    folder = ran(lab, run_cell, "anatomy-wireless")
    rows = pl.read_parquet(folder / run_folder.EPISODES_TABLE).filter(flow="S").to_dicts()
    assert [row["lost_pkts"] for row in rows] == [1, 1]
    early, shown = rows
    assert shown["cwnd_before_bytes"] // 1448 == 17
    assert shown["cwnd_after_bytes"] // 1448 == 8
    assert shown["cwnd_before_bytes"] > early["ssthresh_after_bytes"]  # so no slow start
    assert shown["flight_before_bytes"] >= shown["cwnd_after_bytes"]
    tcp = pl.read_parquet(folder / run_folder.EPISODES_TABLE).filter(flow="T").to_dicts()[0]
    assert (tcp["first_lost_segment"], tcp["cwnd_before_bytes"] // 1448) == (7, 8)
    assert tcp["first_new_segment"] == 15
