"""What acknowledging takes, counted at the receiver, against captures and the kernels' counters."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell, cell_json
from model.event import Event, LinkState
from model.links import Loss
from testbed.campaign import digests
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.recorded import with_bottleneck

Run = Callable[..., Path]
Make = Callable[..., Cell]
DURATION_S = 30.0
WINDOW_S = (5.0, 25.0)


def counting(make: Make, *, pcap: bool = True, acknowledgements: bool = True) -> Cell:
    """Return a short cell at 2 % loss, so that selective acknowledgements tell of holes."""
    from_s, to_s = WINDOW_S
    cell = make(duration_s=DURATION_S, pcap=pcap, measure_from_s=from_s)
    collect = dataclasses.replace(cell.collect, acknowledgements=acknowledgements)
    cell = dataclasses.replace(cell, collect=collect, measure_to_s=to_s)
    return with_bottleneck(cell, loss=Loss(model="random", loss_frac=0.02))


def checks(folder: Path, file: str, beginning: str) -> list[dict[str, Any]]:
    """Return the comparisons of a file whose names begin so."""
    found = json.loads((folder / file).read_text())["checks"]
    return [check for check in found if check["check"].startswith(beginning)]


@pytest.fixture(scope="module")
def captured(wireless: Make, run_cell_once: Run) -> tuple[Cell, Path]:
    cell = counting(wireless)
    folder = run_cell_once(cell)
    write_tables(folder, cell)
    return cell, folder


def test_the_counts_are_those_of_captures_and_of_the_kernels(captured: tuple[Cell, Path]) -> None:
    _, folder = captured
    rows = pl.read_parquet(folder / run_folder.ACKNOWLEDGEMENTS_TABLE)
    assert rows["flow"].to_list() == ["T", "S"]
    made = checks(folder, run_folder.AUDIT, "acknowledgements")
    assert [check["agrees"] for check in made] == [True] * 10
    tcp, sctp = rows.to_dicts()
    assert 10 < tcp["all_sack_pkts"] < tcp["all_ack_pkts"]  # a block where there is a hole
    assert tcp["all_sack_bytes"] >= 10 * tcp["all_sack_pkts"]
    assert sctp["all_sack_pkts"] == sctp["all_ack_pkts"]  # every SACK chunk is one
    assert sctp["all_sack_bytes"] > 16 * sctp["all_sack_pkts"]  # some with gaps
    assert all(row["ack_pkts"] < row["all_ack_pkts"] for row in (tcp, sctp))


def test_the_window_is_that_of_the_path_table(captured: tuple[Cell, Path]) -> None:
    cell, folder = captured
    rows = pl.read_parquet(folder / run_folder.ACKNOWLEDGEMENTS_TABLE)
    path = pl.read_parquet(folder / run_folder.PATH_TABLE)
    for name in ("flow", "ack_pkts", "ack_ip_bytes"):
        assert rows[name].to_list() == path[name].to_list()
    assert rows["ack_rate_bps"].to_list() == path["ack_wire_rate_bps"].to_list()
    assert cell.measured_s() == 20.0
    for row in rows.to_dicts():
        assert row["sack_rate_bps"] == row["sack_bytes"] * 8 / 20.0


def test_what_hangs_is_what_was_loaded_and_stays(captured: tuple[Cell, Path]) -> None:
    _, folder = captured
    hung = checks(folder, run_folder.VERIFY, "acknowledgements counted")
    assert [(check["where"].rpartition(" ")[2], check["agrees"]) for check in hung] == [
        ("T", True), ("S", True),
    ]  # fmt: skip
    after = checks(folder, run_folder.VERIFY, "filters after the flows")
    assert after
    assert all(check["agrees"] for check in after)


def test_connect_times_are_those_of_the_packets(captured: tuple[Cell, Path]) -> None:
    """TCP is up when the SYN-ACK is there, SCTP when the COOKIE-ACK is."""
    _, folder = captured
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    for flow, first, last in (
        ("T", pl.col("tcp_flags") == 0x02, pl.col("tcp_flags") == 0x12),
        ("S", pl.col("chunk_types") == "INIT", pl.col("chunk_types") == "COOKIE_ACK"),
    ):
        mine = packets.filter(flow=flow)
        asked_s = mine.filter(first, point="sent", direction="data")["t_s"].min()
        up_s = mine.filter(last, point="delivered", direction="ack")["t_s"].min()
        (connect_s,) = flows.filter(flow=flow)["connect_s"]
        assert isinstance(asked_s, float)
        assert isinstance(up_s, float)
        assert abs(connect_s - (up_s - asked_s)) < 1e-3
    assert flows["connect_s"].to_list()[1] > 1.0  # two round trips of half a second and more


def test_retransmissions_are_those_of_the_packets(captured: tuple[Cell, Path]) -> None:
    _, folder = captured
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    again = pl.col("retransmission") & (pl.col("payload_bytes") > 0)
    sent = packets.filter(again, point="sent", direction="data")
    for flow, count in flows.select("flow", "retransmitted_pkts").rows():
        assert sent.filter(flow=flow).height == count > 3


def test_a_kernel_of_another_age_takes_the_programs(
    wireless: Make, tracing: VirtualLab, tmp_path: Path
) -> None:
    cell = dataclasses.replace(counting(wireless), lab=tracing.describe())
    folder = tmp_path / "cell"
    folder.mkdir()
    (folder / run_folder.CELL).write_text(cell_json(cell))
    tracing.run(cell, folder, threading.Event())
    write_tables(folder, cell)
    made = checks(folder, run_folder.AUDIT, "acknowledgements")
    assert [check["agrees"] for check in made] == [True] * 10


#: When the link goes down, and up again.
ENDS: tuple[tuple[LinkState, float], ...] = (("down", 0.5), ("up", 2.5))


def closed_at_first(cell: Cell) -> Cell:
    """Return the cell with flows from 1 s on, and a link that is down until 2.5 s."""
    flows = tuple(dataclasses.replace(flow, start_s=1.0) for flow in cell.flows)
    down, up = (
        Event(id=state, t_s=t_s, link="bottleneck", way="both", state=state, rate_bps=None,
              owd_s=None, loss_frac=None)
        for state, t_s in ENDS
    )  # fmt: skip
    return dataclasses.replace(cell, flows=flows, events=(down, up))


def test_a_handshake_that_is_repeated_is_in_the_connect_time_and_no_retransmission(
    wireless: Make, run_cell: Run
) -> None:
    """A SYN is sent again after 1 and 2 s, an INIT after 3 s and what timers add.

    Linux doubles a SYN's timeout from the fifth one on (tcp_syn_linear_timeouts).
    """
    cell = closed_at_first(counting(wireless))
    folder = run_cell(cell)
    write_tables(folder, cell)
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    tcp_s, sctp_s = flows["connect_s"]
    assert (round(tcp_s - 2.0, 1), 3.0 < sctp_s - 1.0 < 3.5) == (0.5, True)
    (told,) = [
        json.loads(line)["handshake_retransmitted_segments"]
        for line in (folder / "raw/flows/T.sender.jsonl").read_text().splitlines()
        if '"effective"' in line
    ]
    assert told == 2
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    again = pl.col("retransmission") & (pl.col("payload_bytes") > 0)
    sent = packets.filter(again, point="sent", direction="data", flow="T")
    assert flows.filter(flow="T")["retransmitted_pkts"].to_list() == [sent.height]


def test_without_captures_the_counts_are_the_same_and_repeat(wireless: Make, run_cell: Run) -> None:
    cell = counting(wireless, pcap=False)
    folders = [run_cell(cell, name) for name in ("once", "again")]
    for folder in folders:
        write_tables(folder, cell)
        made = checks(folder, run_folder.AUDIT, "acknowledgements")
        assert [check["agrees"] for check in made] == [True, True]
    first, second = (digests.of_cell(folder) for folder in folders)
    assert first == second
    assert run_folder.ACKNOWLEDGEMENTS in first


def test_a_cell_that_counts_none_has_none_and_hangs_nothing(wireless: Make, run_cell: Run) -> None:
    cell = counting(wireless, pcap=False, acknowledgements=False)
    folder = run_cell(cell)
    write_tables(folder, cell)
    assert not (folder / run_folder.ACKNOWLEDGEMENTS).exists()
    assert not (folder / run_folder.ACKNOWLEDGEMENTS_TABLE).exists()
    commands = (folder / run_folder.COMMANDS).read_text()
    assert "bpf" not in commands
