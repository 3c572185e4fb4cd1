"""What the kernel tells of a run agrees with what senders, qdiscs and counters tell of it."""

from __future__ import annotations

import dataclasses
import gzip
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.raw.files import read_json
from collectors.recording import trace_recorder
from model import run_folder
from model.cell import Cell
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab

DURATION_S = 60.0
SEGMENT_BYTES = 1448
Make = Callable[..., Cell]


def _watched(make: Make, **changes: Any) -> Cell:
    cell = make(duration_s=DURATION_S)
    collect = dataclasses.replace(cell.collect, telemetry=True, queue_s=1.0, **changes)
    return dataclasses.replace(cell, collect=collect)


@pytest.fixture(scope="module")
def folder(wireless: Make, lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run 60 s of the wireless study once for all tests of this file."""
    place = tmp_path_factory.mktemp("telemetry") / "cell"
    execute(_watched(wireless), place, lab, threading.Event())
    return place


def _rows(folder: Path, flow: str, event: str) -> pl.DataFrame:
    table = pl.read_parquet(folder / run_folder.CONGESTION_TABLE)
    return table.filter(pl.col("flow") == flow, pl.col("event") == event)


def _totals(folder: Path, flow: str) -> dict[str, Any]:
    lines = (folder / "raw" / "flows" / f"{flow}.sender.jsonl").read_text().splitlines()
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _sent_pkts(folder: Path, device: str, t_s: float) -> int:
    queue = pl.read_parquet(folder / run_folder.QUEUE_TABLE)
    sample = queue.filter(pl.col("device") == device, pl.col("role") == "shaper")
    return int(sample.filter(pl.col("t_s") == t_s)["sent_pkts"].item())


def test_windows_begin_as_the_hosts_were_set(folder: Path) -> None:
    tcp, sctp = _rows(folder, "T", "ack"), _rows(folder, "S", "ack")
    assert tcp["cwnd_segments"].to_list()[:3] == [2, 3, 4]
    assert tcp["cwnd_bytes"][0] == 2 * SEGMENT_BYTES
    assert tcp["ssthresh_segments"][0] == 45
    assert sctp["cwnd_bytes"][0] == 4380
    assert sctp["ssthresh_bytes"][0] == 65_536


def test_every_acknowledgement_has_its_row(folder: Path) -> None:
    """SCTP's until the end; TCP's while the connection is established, as the kernel traces."""
    assert abs(_rows(folder, "S", "ack").height - _totals(folder, "S")["sacks_in"]) <= 1
    # Packets the last shaper towards the sender let go; the handshake's answer is one of them.
    passed = _sent_pkts(folder, "r1-src1", DURATION_S)
    assert abs(_rows(folder, "T", "ack").filter(pl.col("t_s") <= DURATION_S).height - passed) <= 5


def test_every_tcp_retransmission_has_its_row(folder: Path) -> None:
    rows = _rows(folder, "T", "retransmit")
    assert rows.height == _totals(folder, "T")["retransmitted_segments"] > 0
    assert set(rows["retransmission"]) <= {"handshake", "fast", "timeout", "probe"}


def test_flights_and_round_trips_are_the_paths(folder: Path) -> None:
    for flow in ("T", "S"):
        flights_bytes = _rows(folder, flow, "ack")["flight_bytes"].to_list()
        # What is acknowledged was in flight.
        assert 0 < min(flights_bytes) <= max(flights_bytes) <= 65_536, flow
    # Two-way propagation is 508 ms; ten packets of buffer add 40 ms.
    srtts_s = _rows(folder, "T", "ack")["srtt_s"].drop_nulls().to_list()
    assert 0.508 <= min(srtts_s) <= max(srtts_s) <= 0.56
    assert _rows(folder, "T", "ack")["snd_wnd_bytes"].tail(100).unique().to_list() == [
        45 * SEGMENT_BYTES
    ]
    assert _rows(folder, "S", "ack")["path"].unique().to_list() == ["10.2.2.2"]


def test_recovery_shrinks_the_window(folder: Path) -> None:
    rows = _rows(folder, "T", "ack").filter(pl.col("state") == "recovery")
    assert rows.height > 0
    assert (rows["ssthresh_segments"] < 45).all()


def test_every_drop_has_its_row_and_place(folder: Path) -> None:
    drops = pl.read_parquet(folder / run_folder.DROPS_TABLE)
    told = {
        (node, device, handle): count
        for node, device, handle, count in drops.filter(pl.col("event") == "qdisc_drop")
        .group_by("node", "device", "handle")
        .len()
        .rows()
    }
    counted = pl.read_parquet(folder / run_folder.QDISCS_TABLE).filter(pl.col("dropped_pkts") > 0)
    assert told == {
        (node, device, handle): count
        for node, device, handle, count in counted.select(
            "node", "device", "handle", "dropped_pkts"
        ).rows()
    }
    roles = drops.group_by("device").agg(pl.col("role").unique()).rows()
    assert dict(roles)["ifb-bottleneck"] == ["channel"]
    assert dict(roles).get("r1-bottleneck", ["shaper"]) == ["shaper"]


def test_a_full_access_link_tells_of_its_drops(
    wireless: Make, lab: VirtualLab, tmp_path: Path
) -> None:
    """Its shaper is the child of a channel, which frees what the child refuses without a reason."""
    cell = _watched(wireless)
    access = cell.wired.source_access
    narrow = dataclasses.replace(access.forward, queue_pkts=2)
    access = dataclasses.replace(access, forward=narrow)
    cell = dataclasses.replace(cell, network=dataclasses.replace(cell.wired, source_access=access))
    place = tmp_path / "narrow"
    execute(cell, place, lab, threading.Event())
    shapers = pl.read_parquet(place / run_folder.QDISCS_TABLE).filter(
        pl.col("device").str.starts_with("ifb-src"), pl.col("handle") == "10:"
    )
    drops = pl.read_parquet(place / run_folder.DROPS_TABLE)
    freed = drops.filter(pl.col("event") == "kfree_skb", pl.col("reason") == "NOT_SPECIFIED")
    assert freed.height == shapers["dropped_pkts"].sum() > 0
    # The audit has them too, and compares them with the events and the channel's counters.
    audit = read_json(place / run_folder.AUDIT)
    assert {check["agrees"] for check in audit["checks"]} <= {True, None}
    assert (
        pl.read_parquet(place / run_folder.AUDIT_TABLE)["access_dropped_pkts"].sum() == freed.height
    )


def test_queues_are_sampled_on_time_and_stay_within_the_buffer(folder: Path) -> None:
    queue = pl.read_parquet(folder / run_folder.QUEUE_TABLE)
    assert queue["t_s"].unique(maintain_order=True).to_list() == [float(t) for t in range(61)]
    bottleneck = queue.filter(pl.col("device") == "r1-bottleneck")
    assert max(bottleneck["backlog_pkts"].to_list()) <= 10
    assert bottleneck["dropped_pkts"].is_sorted()
    final = pl.read_parquet(folder / run_folder.QDISCS_TABLE)
    assert queue.filter(pl.col("t_s") == 60)["sent_pkts"].sum() <= final["sent_pkts"].sum()


def test_nothing_is_lost_and_the_buffer_is_emptied(folder: Path) -> None:
    counts = read_json(folder / "raw" / "trace" / "counts.json")
    assert (counts["entries"], counts["overrun"], counts["dropped events"]) == (0, 0, 0)


def test_a_small_ring_buffer_is_emptied_in_time(
    wireless: Make, lab: VirtualLab, tmp_path: Path
) -> None:
    """2000 s of this traffic are more than the largest ring buffer holds."""
    cell = _watched(wireless)
    flows = tuple(dataclasses.replace(flow, stop_s=2000.0) for flow in cell.flows)
    limits = dataclasses.replace(cell.limits, virtual_s=3000.0)
    cell = dataclasses.replace(
        cell, duration_s=2000.0, measure_to_s=2000.0, flows=flows, limits=limits
    )
    execute(cell, tmp_path / "long", lab, threading.Event())
    pages = gzip.decompress((tmp_path / "long" / run_folder.TRACE_PAGES).read_bytes())
    assert len(pages) > trace_recorder.BUFFER_MAX_BYTES


def test_a_run_is_repeatable_to_the_byte(
    wireless: Make, lab: VirtualLab, folder: Path, tmp_path: Path
) -> None:
    execute(_watched(wireless), tmp_path / "again", lab, threading.Event())
    first, second = digests.of_cell(folder), digests.of_cell(tmp_path / "again")
    assert {"raw/trace/pages.bin.gz", "raw/queue.jsonl", run_folder.CONGESTION_TABLE} <= set(first)
    assert digests.differences(first, second) == []


def test_recording_can_be_left_out(wireless: Make, lab: VirtualLab, tmp_path: Path) -> None:
    cell = _watched(wireless)
    collect = dataclasses.replace(cell.collect, telemetry=False, queue_s=0.0)
    cell = dataclasses.replace(cell, collect=collect)
    execute(cell, tmp_path / "off", lab, threading.Event())
    assert not (tmp_path / "off" / "raw" / "trace").exists()
    assert not (tmp_path / "off" / run_folder.QUEUE_TABLE).exists()
