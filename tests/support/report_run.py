"""Builds synthetic run folders: what a finished wireless run looks like, with known numbers.

The numbers are arithmetic, not measurements: at point i (0, 1, ...) with seed k, TCP SACK delivers
100 000 + 1000 (k - 3) bit/s and SCTP 110 000 + 2000 i bit/s, whatever the seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from model import run_folder
from model.cell import (
    SCHEMA,
    Cell,
    Collect,
    Direction,
    Flow,
    HostProfile,
    Knob,
    LedgerEntry,
    Limits,
    Link,
    Loss,
    Network,
    cell_json,
)

LOSSES = (0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03)
PUBLISHED = (
    (49.8, 50.2, 6.1, 20.9),
    (46.7, 53.3, 13.3, 19.0),
    (43.7, 56.3, 27.6, 17.8),
    (44.1, 55.9, 25.6, 14.4),
    (45.8, 54.2, 17.0, 12.4),
    (46.7, 53.3, 13.3, 10.8),
    (46.8, 53.2, 12.7, 9.8),
)
METRICS = ("share_T_pct", "share_S_pct", "pct_increase", "utilisation_pct")
DURATION_S = 1000.0
#: What would differ from seed to seed where nothing is lost.
NO_HEARTBEATS = LedgerEntry(
    parameter="Heartbeats", published="none", fidelity="exact", note="",
    knobs=(Knob(kind="sctp_socket", name="hb_disable", value="1", side="both"),),
)  # fmt: skip


def goodput_bps(index: int, seed: int) -> dict[str, float]:
    """Return the goodput of both flows at point ``index`` with this seed."""
    return {"T": 100_000.0 + 1000 * (seed - 3), "S": 110_000.0 + 2000 * index}


#: The goodput of both flows at a point, by its number, with a seed.
Goodputs = Callable[[int, int], Mapping[str, float]]


def resolved(losses: tuple[float, ...] = LOSSES, seeds: int = 5) -> dict[str, Any]:
    """Return the content of ``resolved.json``."""
    rows = [
        {"point": {"loss_frac": loss}, "values": dict(zip(METRICS, row, strict=True))}
        for loss, row in zip(LOSSES, PUBLISHED, strict=True)
        if loss in losses
    ]
    return {
        "schema": 1,
        "study": "wireless",
        "title": "SCTP against TCP SACK over a lossy wireless (GEO satellite) link",
        "source": {
            "authors": "M. Alamgir, M. Atiquzzaman and W. Ivancic",
            "publication": "WSEAS Transactions on Communications 4(6)",
            "year": 2005,
            "simulator": "ns-2",
        },
        "duration_s": DURATION_S,
        "seeds": list(range(1, seeds + 1)),
        "hosts": "paper",
        "generator": "probe",
        "groups": [{"id": "T", "label": "TCP SACK"}, {"id": "S", "label": "SCTP"}],
        "compare": {"of": "S", "over": "T"},
        "parameters": [{"name": "loss_frac", "path": "network.bottleneck.loss.data"}],
        "points": [{"loss_frac": loss} for loss in losses],
        "metrics": list(METRICS),
        "published": {"where": "Table 2", "rows": rows},
        "assumptions": [
            {
                "id": "bottleneck-delay",
                "text": "The one-way delay of the bottleneck is 250 ms.",
                "why": "The published parameter table prints 25, the text says 250 ms.",
            }
        ],
        "warnings": [],
        "acknowledged": [
            {
                "rule": "window-below-path",
                "where": "hosts",
                "text": "The 64 KB window is smaller than the path holds.",
                "why": "It is part of the study.",
            }
        ],
    }


def _link(rate_bps: int, owd_s: float, loss_frac: float = 0.0) -> Link:
    def direction(frac: float) -> Direction:
        return Direction(
            rate_bps=rate_bps,
            queue_pkts=10,
            owd_s=owd_s,
            channel_limit_pkts=1000,
            loss=Loss(model="random" if frac else "none", loss_frac=frac),
        )

    return Link(forward=direction(loss_frac), reverse=direction(0.0))


def _flow(flow_id: str, host: int) -> Flow:
    return Flow(
        id=flow_id,
        group=flow_id,
        protocol="tcp" if flow_id == "T" else "sctp",
        generator="probe",
        source=host,
        destination=host,
        port=5000 + host,
        start_s=0.0,
        start_spread_s=0.0,
        congestion_control="hosts",
        stop_s=DURATION_S,
        message_bytes=1448,
        streams=1,
        ordered=True,
        rate_bps=0,
        drop_data_pkts=(),
    )


def make_cell(purpose: str, loss: float, seed: int) -> Cell:
    """Return the cell of one point and seed."""
    return Cell(
        schema=SCHEMA,
        study="wireless",
        purpose="measure" if purpose == "measure" else "calibrate",
        point={"loss_frac": loss},
        replicate=seed,
        seed=seed,
        duration_s=DURATION_S,
        measure_from_s=0.0,
        measure_to_s=DURATION_S,
        network=Network(
            topology="dumbbell",
            sources=2,
            destinations=2,
            source_access=_link(10_000_000, 0.002),
            bottleneck=_link(3_000_000, 0.25, loss),
            destination_access=_link(10_000_000, 0.002),
        ),
        flows=(_flow("T", 1), _flow("S", 2)),
        hosts=HostProfile(id="paper", title="Hosts as published", entries=(NO_HEARTBEATS,)),
        collect=Collect(
            interval_s=0.1, queue_s=0.0, sockets_s=0.0, counters_s=0.0, telemetry=False, pcap=False
        ),
        limits=Limits(wall_s=60.0, virtual_s=1100.0),
        lab={"name": "virtual", "kernel": "sha256:1f2e3d4c", "image": "sha256:5a6b7c8d"},
    )


LEDGER: list[dict[str, Any]] = [
    {
        "parameter": "TCP with selective acknowledgements",
        "published": "TCP SACK",
        "fidelity": "exact",
        "note": "",
        "knobs": [
            {
                "kind": "sysctl",
                "name": "net.ipv4.tcp_sack",
                "value": "1",
                "side": "both",
                "read_back": {"t1": "1", "t2": "1"},
                "agrees": True,
            }
        ],
    },
    {
        "parameter": "TCP congestion control",
        "published": "Reno with SACK recovery (ns-2 Sack1)",
        "fidelity": "approximated",
        "note": "During recovery Linux always paces by proportional rate reduction.",
        "knobs": [
            {
                "kind": "tcp_socket",
                "name": "congestion_control",
                "value": "reno",
                "side": "both",
                "read_back": {"T sender": "reno"},
                "agrees": True,
            }
        ],
    },
    {
        "parameter": "SCTP fast retransmit",
        "published": "on the 4th duplicate acknowledgement",
        "fidelity": "cannot_be_set",
        "note": "The kernel retransmits on the 3rd missing report, as RFC 9260 says.",
        "knobs": [],
    },
]

ENV: dict[str, Any] = {
    "kernel_release": "6.12.48",
    "tools": {"iproute2": "6.15.0", "mininet": "2.3.0"},
    "git": {"commit": "0123456789abcdef", "dirty": False},
    "warnings": [],
}


def flow_rows(
    index: int, loss: float, seed: int, goodputs: Goodputs = goodput_bps
) -> list[dict[str, Any]]:
    """Return the rows of ``tables/flows.parquet``."""
    rows = []
    for flow, rate_bps in goodputs(index, seed).items():
        offered = 10_000
        dropped = round(offered * loss)
        rows.append(
            {
                "flow": flow,
                "group": flow,
                "protocol": "tcp" if flow == "T" else "sctp",
                "generator": "probe",
                "goodput_bytes": round(rate_bps * DURATION_S / 8),
                "goodput_bps": rate_bps,
                "total_bytes": round(rate_bps * DURATION_S / 8),
                "connect_s": 0.508,
                "first_byte_s": 0.762,
                "last_byte_s": 999.9,
                "queue_offered_pkts": offered,
                "queue_dropped_pkts": 0,
                "loss_offered_pkts": offered,
                "loss_dropped_pkts": dropped,
                "loss_frac": dropped / offered,
                "retransmitted_pkts": dropped,
                "cwnd_mean_segments": None,
            }
        )
    return rows


def write_json(path: Path, content: object) -> None:
    """Write a JSON file and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def cell_name(purpose: str, loss: float, seed: int) -> str:
    """Return a cell's id: 16 hex digits, always the same."""
    return hashlib.sha256(f"{purpose} {loss} {seed}".encode()).hexdigest()[:16]


def _check(agrees: bool = True) -> dict[str, Any]:
    return {
        "check": "rtt",
        "where": "t1->t2",
        "wanted": "508.0 ms +- 0.1 ms",
        "got": "508.02 ms",
        "agrees": agrees,
    }


def write_cell(
    run: Path, purpose: str, index: int, loss: float, seed: int, goodputs: Goodputs = goodput_bps
) -> None:
    """Write the folder of one finished cell."""
    folder = run_folder.cell_folder(run, cell_name(purpose, loss, seed))
    folder.mkdir(parents=True)
    cell = make_cell(purpose, loss, seed)
    (folder / run_folder.CELL).write_text(cell_json(cell), encoding="utf-8")
    write_json(folder / run_folder.ENV, ENV)
    write_json(folder / run_folder.VERIFY, {"schema": 1, "checks": [_check()]})
    write_json(folder / run_folder.LEDGER, LEDGER)
    if purpose == "measure":
        (folder / run_folder.FLOWS_TABLE).parent.mkdir()
        rows = flow_rows(index, loss, seed, goodputs)
        pl.DataFrame(rows).write_parquet(folder / run_folder.FLOWS_TABLE)
    (folder / run_folder.DONE).touch()


def build_run(
    run: Path,
    *,
    losses: tuple[float, ...] = LOSSES,
    seeds: int = 5,
    changes: Mapping[str, Any] | None = None,
    goodputs: Goodputs = goodput_bps,
) -> Path:
    """Write a finished run: every point calibrated once and measured with every seed.

    ``changes`` replaces keys of ``resolved.json``.
    """
    write_json(run / run_folder.RESOLVED, {**resolved(losses, seeds), **(changes or {})})
    planned = []
    for index, loss in enumerate(losses):
        for purpose, seed in [("calibrate", 1), *(("measure", k + 1) for k in range(seeds))]:
            planned.append(
                {
                    "id": cell_name(purpose, loss, seed),
                    "purpose": purpose,
                    "point": {"loss_frac": loss},
                    "replicate": seed,
                    "seed": seed,
                }
            )
            write_cell(run, purpose, index, loss, seed, goodputs)
    write_json(run / run_folder.PLAN, {"schema": 1, "cells": planned})
    return run


def only_cell(run: Path, purpose: str = "measure", loss: float = 0.01, seed: int = 1) -> Path:
    """Return the folder of one cell of a built run."""
    return run_folder.cell_folder(run, cell_name(purpose, loss, seed))
