"""A synthetic run of a two-dimensional sweep: loss of 1 and 2 %, buffers of 10 and 40 packets.

From point to point, the buffer varying fastest, SCTP has 10 % less goodput than TCP, as much, 10 %
and 20 % more in the mean of three seeds; single runs differ by 1 % from it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model import run_folder
from tests.support.report_run import build_run, write_json

#: What stands for each point of the grid in a run that sweeps the loss alone.
_LOSSES = (0.01, 0.02, 0.03, 0.04)
POINTS = [{"loss_frac": loss, "queue_pkts": queue} for loss in (0.01, 0.02) for queue in (10, 40)]
PARAMETERS = [
    {"name": "loss_frac", "path": "network.bottleneck.loss.data", "label": "{value} of loss"},
    {"name": "queue_pkts", "path": "network.bottleneck.queue", "label": "{value} of buffer"},
]


def build_grid(run: Path) -> Path:
    """Write a run folder of the grid."""
    build_run(
        run, losses=_LOSSES, seeds=3,
        goodputs=lambda index, seed: {"T": 1e5, "S": 9e4 + 1e4 * index + 1e3 * (seed - 2)},
    )  # fmt: skip
    _edit(run / run_folder.RESOLVED, parameters=PARAMETERS, points=POINTS,
          published=None, claims=[])  # fmt: skip
    planned = json.loads((run / run_folder.PLAN).read_text())["cells"]
    for cell in planned:
        cell["point"] = POINTS[_LOSSES.index(cell["point"]["loss_frac"])]
        _edit(run_folder.cell_folder(run, cell["id"]) / run_folder.CELL, point=cell["point"])
    _edit(run / run_folder.PLAN, cells=planned)
    return run


def _edit(path: Path, **changes: Any) -> None:
    write_json(path, {**json.loads(path.read_text()), **changes})
