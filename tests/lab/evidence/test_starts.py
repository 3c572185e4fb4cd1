"""Every flow starts when it is asked to, whichever generator it has and wherever it is listed."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path

from model import run_folder
from model.cell import Cell
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab


def test_a_flow_that_starts_late_keeps_no_other_waiting(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    cell = wireless(duration_s=20.0)
    tcp, sctp = cell.flows
    late = dataclasses.replace(tcp, generator="iperf3", start_s=5.0)
    later = dataclasses.replace(late, id="L", port=5003, start_s=7.0, stop_s=9.0)
    first = dataclasses.replace(sctp, start_s=0.25)
    folder = tmp_path / "cell"
    execute(dataclasses.replace(cell, flows=(later, late, first)), folder, lab, threading.Event())
    shown = json.loads((folder / run_folder.VERIFY).read_text())["checks"]
    starts = [check for check in shown if check["check"] == "start"]
    assert [check["where"] for check in starts] == ["flow S", "flow T", "flow L"]
    assert [round(float(check["got"].split()[0]), 3) for check in starts] == [0.25, 5.0, 7.0]
