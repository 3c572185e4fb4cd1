"""Twelve congestion controls side by side: each sender has its own, and all evidence knows it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell
from model.links import Loss
from testbed.guest import ledger
from testbed.study.vocabulary import CONGESTION_CONTROLS

DURATION_S = 12.0
RATE_BPS = 12_000_000


def side_by_side(wireless: Callable[..., Cell]) -> Cell:
    """Return a cell in which a TCP flow per congestion control, and SCTP, share 12 Mbit/s."""
    cell = wireless(duration_s=DURATION_S)
    tcp, sctp = cell.flows
    names = list(CONGESTION_CONTROLS)
    flows = [
        dataclasses.replace(
            tcp, id=name, source=i, destination=i, port=5001 + i, congestion_control=name
        )
        for i, name in enumerate(names)
    ]
    last = len(names)
    flows.append(dataclasses.replace(sctp, source=last, destination=last, port=5001 + last))
    link = cell.wired.bottleneck
    forward = dataclasses.replace(
        link.forward, rate_bps=RATE_BPS, owd_s=0.01, queue_pkts=60,
        loss=Loss(model="none", loss_frac=0.0),
    )  # fmt: skip
    reverse = dataclasses.replace(forward, queue_pkts=1000)
    network = dataclasses.replace(
        cell.wired, sources=last + 1, destinations=last + 1,
        bottleneck=dataclasses.replace(link, forward=forward, reverse=reverse),
    )  # fmt: skip
    collect = dataclasses.replace(cell.collect, telemetry=True, sockets_s=1.0, counters_s=10.0)
    return dataclasses.replace(cell, flows=tuple(flows), network=network, collect=collect)


def test_every_sender_has_its_own_and_telemetry_follows_all(
    wireless: Callable[..., Cell], run_cell: Callable[..., Path]
) -> None:
    cell = side_by_side(wireless)
    folder = run_cell(cell)
    write_tables(folder, cell)
    audit = json.loads((folder / run_folder.AUDIT).read_text())
    assert [check for check in audit["checks"] if check["agrees"] is False] == []
    rows = json.loads((folder / run_folder.LEDGER).read_text())
    assert ledger.disagreements(rows) == []
    (own,) = [row for row in rows if row["parameter"] == ledger.OWN_PARAMETER]
    assert {knob["value"]: knob["read_back"] for knob in own["knobs"]} == {
        name: {f"{name} sender": name} for name in CONGESTION_CONTROLS
    }
    sockets = pl.read_parquet(folder / run_folder.SOCKETS_TABLE)
    of_tcp = sockets.filter(pl.col("protocol") == "tcp", side="sender")
    seen = of_tcp.drop_nulls("congestion_control").select("flow", "congestion_control").unique()
    assert dict(seen.iter_rows()) == {name: name for name in CONGESTION_CONTROLS}
    flows = pl.read_parquet(folder / run_folder.FLOWS_TABLE)
    assert min(flows["goodput_bps"].to_list()) > 0
    assert flows["cwnd_mean_segments"].null_count() == 0
    # Together they fill the link, but for headers and the first round trips.
    assert flows["goodput_bps"].sum() > 0.85 * RATE_BPS
    acks = pl.read_parquet(folder / run_folder.CONGESTION_TABLE).filter(event="ack")
    counted = dict(acks.group_by("flow").len().iter_rows())
    assert set(counted) == {flow.id for flow in cell.flows}
    assert min(counted.values()) > 50
