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
from model.cell import Cell, cell_json, from_dict
from tests.support.recorded import value

#: What does not differ between the cells of such a run, and a row of ``tables/flows.parquet``.
LEDGER, ENV, FLOW = (value(f"wireless-run/{name}.json") for name in ("ledger", "env", "flow"))
RESOLVED: dict[str, Any] = value("wireless-run/resolved.json")
METRICS = ("share_T_pct", "share_S_pct", "pct_increase", "utilisation_pct")
LOSSES = tuple(point["loss_frac"] for point in RESOLVED["points"])
PUBLISHED = tuple(
    tuple(row["values"][name] for name in METRICS) for row in RESOLVED["published"]["rows"]
)
DURATION_S = 1000.0


def goodput_bps(index: int, seed: int) -> dict[str, float]:
    """Return the goodput of both flows at point ``index`` with this seed."""
    return {"T": 100_000.0 + 1000 * (seed - 3), "S": 110_000.0 + 2000 * index}


#: The goodput of both flows at a point, by its number, with a seed.
Goodputs = Callable[[int, int], Mapping[str, float]]


def resolved(losses: tuple[float, ...] = LOSSES, seeds: int = 5) -> dict[str, Any]:
    """Return the content of ``resolved.json``."""
    published = RESOLVED["published"]
    rows = [row for row in published["rows"] if row["point"]["loss_frac"] in losses]
    return {
        **RESOLVED,
        "seeds": list(range(1, seeds + 1)),
        "points": [{"loss_frac": loss} for loss in losses],
        "published": {**published, "rows": rows},
    }


def make_cell(purpose: str, loss: float, seed: int) -> Cell:
    """Return the cell of one point and seed."""
    content = value("wireless-run/cell.json")
    content |= {"purpose": purpose, "replicate": seed, "seed": seed, "point": {"loss_frac": loss}}
    model = {"model": "random" if loss else "none", "loss_frac": loss}
    content["network"]["bottleneck"]["forward"]["loss"] = model
    return from_dict(content)


def flow_rows(
    index: int, loss: float, seed: int, goodputs: Goodputs = goodput_bps
) -> list[dict[str, Any]]:
    """Return the rows of ``tables/flows.parquet``."""
    dropped = round(FLOW["loss_offered_pkts"] * loss)
    return [
        {
            **FLOW,
            **{"flow": flow, "group": flow, "protocol": "tcp" if flow == "T" else "sctp"},
            **dict.fromkeys(("goodput_bytes", "total_bytes"), round(rate_bps * DURATION_S / 8)),
            "goodput_bps": rate_bps,
            **dict.fromkeys(("loss_dropped_pkts", "retransmitted_pkts"), dropped),
            "loss_frac": dropped / FLOW["loss_offered_pkts"],
        }
        for flow, rate_bps in goodputs(index, seed).items()
    ]


def write_json(path: Path, content: object) -> None:
    """Write a JSON file and the folders it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def cell_name(purpose: str, loss: float, seed: int) -> str:
    """Return a cell's id: 16 hex digits, always the same."""
    return hashlib.sha256(f"{purpose} {loss} {seed}".encode()).hexdigest()[:16]


CHECK = {
    "check": "rtt", "where": "t1->t2", "wanted": "508.0 ms +- 0.1 ms", "got": "508.02 ms",
    "agrees": True,
}  # fmt: skip


def write_cell(
    run: Path, purpose: str, index: int, loss: float, seed: int, goodputs: Goodputs = goodput_bps
) -> None:
    """Write the folder of one finished cell."""
    folder = run_folder.cell_folder(run, cell_name(purpose, loss, seed))
    folder.mkdir(parents=True)
    cell = make_cell(purpose, loss, seed)
    (folder / run_folder.CELL).write_text(cell_json(cell), encoding="utf-8")
    write_json(folder / run_folder.ENV, ENV)
    write_json(folder / run_folder.VERIFY, {"schema": 1, "checks": [CHECK]})
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


#: A two-dimensional sweep, and what of a run that sweeps the loss alone stands for its points.
GRID = [{"loss_frac": loss, "queue_pkts": queue} for loss in (0.01, 0.02) for queue in (10, 40)]
_GRID_LOSSES = (0.01, 0.02, 0.03, 0.04)


def build_grid(run: Path) -> Path:
    """Write a run of two losses with two buffers, three seeds each.

    From point to point, the buffer varying fastest, SCTP has 10 % less goodput than TCP, as much,
    10 % and 20 % more in the mean; single runs differ by 1 % from it.
    """
    loss, queue = "network.bottleneck.loss.data", "network.bottleneck.queue"
    changes = {
        "parameters": [
            {"name": "loss_frac", "path": loss, "label": "{value} of loss"},
            {"name": "queue_pkts", "path": queue, "label": "{value} of buffer"},
        ],
        "points": GRID, "published": None, "claims": [],
    }  # fmt: skip
    build_run(
        run, losses=_GRID_LOSSES, seeds=3, changes=changes,
        goodputs=lambda index, seed: {"T": 1e5, "S": 9e4 + 1e4 * index + 1e3 * (seed - 2)},
    )  # fmt: skip
    plan = json.loads((run / run_folder.PLAN).read_text())
    for planned in plan["cells"]:
        planned["point"] = GRID[_GRID_LOSSES.index(planned["point"]["loss_frac"])]
        cell = run_folder.cell_folder(run, planned["id"]) / run_folder.CELL
        write_json(cell, {**json.loads(cell.read_text()), "point": planned["point"]})
    write_json(run / run_folder.PLAN, plan)
    return run
