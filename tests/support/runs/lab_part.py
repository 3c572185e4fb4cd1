"""A cell's part in the lab alone, unchecked; and what a calibrating one left there."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from model.cell import Cell, cell_json
from testbed.campaign.calibration_checks import Packet, read_log
from testbed.labs.virtual.virtual_lab import VirtualLab

#: Of each measurement what was counted, and the packets of its log.
Measured = tuple[dict[str, Any], dict[str, list[Packet]]]


def run(lab: VirtualLab, cell: Cell, folder: Path) -> Path:
    """Run a cell in a folder, which it makes; return that."""
    folder.mkdir()
    (folder / "cell.json").write_text(cell_json(cell))
    lab.run(cell, folder, threading.Event())
    return folder


def measured(folder: Path) -> Measured:
    """Return what a calibrating cell left in a folder, measurement by measurement."""
    found = json.loads((folder / "raw" / "calibration.json").read_text())
    logs = {}
    for name, entry in found.items():
        path = folder / "raw" / "calibration" / entry["log"]
        logs[name] = read_log(path.read_text(), str(path))
    return found, logs
