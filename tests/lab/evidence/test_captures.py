"""Captures lie where they are said to, lose nothing, and agree with everyone else who counts."""

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
from model.cell import Cell, Flow, HostProfile
from model.links import Direction, Loss
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell

Run = Callable[..., Path]
Make = Callable[..., Cell]
#: The path of the wireless study: one-way delays, and bits per second.
ACCESS_S, BOTTLENECK_S = 0.002, 0.25
ACCESS_BPS, BOTTLENECK_BPS = 10e6, 3e6
EXACT_S = 1e-6


def audited(cell: Cell, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the checks of a cell's audit and its rows, one per flow and direction."""
    write_tables(folder, cell)
    found = json.loads((folder / run_folder.AUDIT).read_text())
    wrong = [check for check in found["checks"] if check["agrees"] is False]
    assert (wrong, found["warnings"]) == ([], [])
    return found["checks"], pl.read_parquet(folder / run_folder.AUDIT_TABLE).to_dicts()


def lossy(cell: Cell, *, data: float, acknowledgements: float = 0.0) -> Cell:
    def with_loss(link: Direction, frac: float) -> Direction:
        return dataclasses.replace(
            link, loss=Loss(model="random" if frac else "none", loss_frac=frac)
        )

    bottleneck = cell.wired.bottleneck
    changed = dataclasses.replace(
        bottleneck,
        forward=with_loss(bottleneck.forward, data),
        reverse=with_loss(bottleneck.reverse, acknowledgements),
    )
    return dataclasses.replace(cell, network=dataclasses.replace(cell.wired, bottleneck=changed))


def flows_changed(cell: Cell, **changes: Any) -> tuple[Flow, ...]:
    return tuple(dataclasses.replace(flow, **changes) for flow in cell.flows)


def test_a_cell_closes_to_the_packet_and_its_goodput_to_the_byte(
    wireless: Make, run_cell: Run
) -> None:
    cell = wireless(duration_s=60.0, pcap=True)
    folder = run_cell(cell)
    checks, rows = audited(cell, folder)
    assert {check["agrees"] for check in checks} == {True}
    for row in rows:
        assert row["basis"] == "captures"
        assert row["closes"] is True
        assert row["sent_pkts"] > 500
    lost = {row["flow"]: row["loss_dropped_pkts"] for row in rows if row["direction"] == "data"}
    assert all(count >= 5 for count in lost.values())
    flows = {r["flow"]: r for r in pl.read_parquet(folder / run_folder.FLOWS_TABLE).to_dicts()}
    for path in pl.read_parquet(folder / run_folder.PATH_TABLE).to_dicts():
        probe = flows[path["flow"]]
        assert path["goodput_bytes"] == probe["goodput_bytes"] > 0
        assert path["total_bytes"] == probe["total_bytes"]
        # The probe's clock starts with its call to connect, and reads 256 ns later each time.
        assert path["connect_to_data_s"] == pytest.approx(probe["first_byte_s"], abs=1e-5)
        idle_s = 2 * ACCESS_S + BOTTLENECK_S
        assert idle_s < path["owd_min_s"] < path["owd_p50_s"] <= path["owd_p99_s"] < idle_s + 0.1
        assert 0 < path["jitter_mean_s"] < path["queue_max_s"] < 0.05
        assert path["ack_wire_rate_bps"] < path["data_wire_rate_bps"] / 10


def test_a_measuring_window_is_counted_to_the_byte_by_all(
    wireless: Make, lab: VirtualLab, tmp_path: Path
) -> None:
    """No bound is that of an interval: receivers, captures and sampled sockets agree even so."""
    cell = wireless(duration_s=60.0, pcap=True, measure_from_s=20.3, measure_to_s=50.7)
    collect = dataclasses.replace(cell.collect, sockets_s=0.1)
    cell = dataclasses.replace(cell, collect=collect)
    execute(cell, tmp_path / "part", lab, threading.Event())
    checks = json.loads((tmp_path / "part" / run_folder.AUDIT).read_text())["checks"]
    read = [check for check in checks if check["check"] == "read from the socket"]
    assert len(read) == 1
    assert {check["agrees"] for check in checks} <= {True, None}
    flows = pl.read_parquet(tmp_path / "part" / run_folder.FLOWS_TABLE)
    paths = pl.read_parquet(tmp_path / "part" / run_folder.PATH_TABLE)
    assert flows["goodput_bytes"].to_list() == paths["goodput_bytes"].to_list()
    assert (flows["goodput_bytes"] < flows["total_bytes"] * 0.6).all()
    wanted_bps = [goodput_bytes * 8 / 30.4 for goodput_bytes in flows["goodput_bytes"]]
    assert flows["goodput_bps"].to_list() == pytest.approx(wanted_bps)
    assert flows["cwnd_mean_segments"].is_between(2, 45).all()
    inside = pl.read_parquet(tmp_path / "part" / run_folder.INTERVALS_TABLE).filter(
        pl.col("start_s") >= 20.3, pl.col("end_s") <= 50.7
    )
    per_flow = inside.group_by("flow", maintain_order=True).agg(pl.col("goodput_bytes").sum())
    assert per_flow["goodput_bytes"].to_list() == flows["goodput_bytes"].to_list()


def test_every_capture_point_is_where_it_is_said_to_be(wireless: Make, run_cell: Run) -> None:
    cell = wireless(duration_s=20.0, pcap=True)
    folder = run_cell(cell)
    write_tables(folder, cell)
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    times = packets.filter(direction="data").pivot(
        on="point", index=["packet", "ip_bytes"], values="t_s"
    )
    size_bits = pl.col("ip_bytes") * 8

    def between(start: str, end: str, serial_bps: float | None) -> pl.Series:
        took = pl.col(end) - pl.col(start)
        if serial_bps:
            took -= size_bits / serial_bps
        return times.select(took.drop_nulls())[end]

    # On the access links the first of a burst meets no queue; none is ever faster.
    for start, end in (("sent", "queue_offered"), ("loss_passed", "delivered")):
        assert between(start, end, ACCESS_BPS).min() == pytest.approx(ACCESS_S, abs=EXACT_S)
    waiting = between("queue_offered", "loss_offered", BOTTLENECK_BPS)
    assert waiting.min() == pytest.approx(0, abs=EXACT_S)
    # Nine packets of 1496 bytes can be ahead in a buffer of ten.
    assert 0.01 < waiting.max() < 9 * 1496 * 8 / BOTTLENECK_BPS + EXACT_S  # type: ignore[operator]
    channel = between("loss_offered", "loss_passed", None)
    assert channel.min() == pytest.approx(BOTTLENECK_S, abs=EXACT_S)
    assert channel.max() == pytest.approx(BOTTLENECK_S, abs=EXACT_S)


def test_nothing_is_in_the_captures_but_the_flows(wireless: Make, run_cell: Run) -> None:
    cell = wireless(duration_s=20.0, pcap=True)
    folder = run_cell(cell)
    write_tables(folder, cell)
    packets = pl.read_parquet(folder / run_folder.PACKETS_TABLE)
    for column in ("point", "direction", "flow", "packet", "ip_checksum_ok"):
        assert packets[column].null_count() == 0
    assert packets["ip_checksum_ok"].all()
    assert packets["checksum_ok"].drop_nulls().all()
    counts = json.loads((folder / "raw" / "pcap" / "counts.json").read_text())
    assert sum(entry["captured_pkts"] for entry in counts.values()) == packets.height


def stock_hosts(cell: Cell) -> HostProfile:
    study = load_study(find_study("wireless"), hosts="stock")
    return resolve_cell(study, study.points[0], seed=1, replicate=1, lab=cell.lab).hosts


def variant(name: str, cell: Cell) -> Cell:
    """Return a cell that tries what the study itself does not."""
    if name == "acknowledgements lost too":
        return lossy(cell, data=0.03, acknowledgements=0.03)
    if name == "stock hosts":
        return dataclasses.replace(cell, hosts=stock_hosts(cell))
    if name == "one host for all":
        return dataclasses.replace(cell, flows=flows_changed(cell, source=0, destination=0))
    if name == "an access link that drops":
        access = cell.wired.source_access
        slow = dataclasses.replace(access.forward, rate_bps=1_000_000, queue_pkts=3)
        access = dataclasses.replace(access, forward=slow)
        return dataclasses.replace(
            cell, network=dataclasses.replace(cell.wired, source_access=access)
        )
    if name == "bundled and cut messages, unordered":
        tcp, sctp = cell.flows
        small = dataclasses.replace(sctp, message_bytes=300, streams=3)
        large = dataclasses.replace(
            sctp, id="L", message_bytes=3000, ordered=False, port=5003, source=0, destination=0
        )
        return dataclasses.replace(cell, flows=(tcp, small, large))
    if name == "constant bit rate":
        tcp, sctp = cell.flows
        udp = dataclasses.replace(sctp, protocol="udp", rate_bps=3_500_000, message_bytes=1000)
        return dataclasses.replace(cell, flows=(tcp, udp))
    assert name == "another generator"
    return dataclasses.replace(cell, flows=flows_changed(cell, generator="iperf3"))


@pytest.mark.parametrize(
    "name",
    [
        "acknowledgements lost too",
        "stock hosts",
        "one host for all",
        "an access link that drops",
        "bundled and cut messages, unordered",
        "constant bit rate",
        "another generator",
    ],
)
def test_other_cells_close_too(wireless: Make, run_cell: Run, name: str) -> None:
    cell = variant(name, wireless(duration_s=20.0, pcap=True))
    _, rows = audited(cell, run_cell(cell))
    assert {row["closes"] for row in rows} == {True}
    dropped = sum(row["access_dropped_pkts"] for row in rows)
    assert (dropped > 0) == (name == "an access link that drops")


def test_counters_alone_close_too(wireless: Make, run_cell: Run) -> None:
    cell = wireless(duration_s=20.0)
    _, rows = audited(cell, run_cell(cell))
    assert {(row["basis"], row["closes"]) for row in rows} == {("counters", True)}
