"""A run folder around the recorded cell of the virtual lab, ready to be exported for Wireshark.

``python -m tests.support.exported_cell FOLDER`` exports it into a new folder, to be recorded anew.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from collectors.tables.write import write_tables
from model import run_folder
from model.cell import Cell, cell_id, from_dict, to_dict
from reports.wireshark.cell_export import export_cell
from testbed.campaign import manifest
from testbed.campaign.run_cell import finish, json_text, write_json
from testbed.command.wireshark import read_recorded
from testbed.planning.plan import PlannedCell
from testbed.planning.resolved import plan_json
from tests.support.pcapng_reader import Capture, read
from tests.support.recorded import DATA

RECORDED = DATA / "lab-cell-7.3"


def recorded_cell() -> Cell:
    """Return the recorded cell's settings."""
    return from_dict(json.loads((RECORDED / "cell.json").read_text()))


def make_run(run: Path) -> Path:
    """Make a run folder whose one measuring cell is the recorded one; return the cell's folder."""
    cell = recorded_cell()
    folder = run_folder.cell_folder(run, cell_id(cell))
    shutil.copytree(RECORDED, folder)
    (folder / "README").unlink()
    write_json(folder / run_folder.ENV, {"kernel_release": "7.3.4-groundtruth", "warnings": []})
    write_tables(folder, cell)
    finish(folder)
    plan_cells(run, [cell])
    return folder


def plan_cells(run: Path, cells: Sequence[Cell]) -> None:
    """Make these the planned cells of a run."""
    planned = [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]
    listed = [{"id": p.id, "cell": to_dict(p.cell)} for p in planned]
    contents = {run_folder.PLAN: plan_json(planned), run_folder.CELLS: json_text(listed)}
    manifest.write(run, contents)


def export_recorded(run: Path) -> tuple[Path, ...]:
    """Export a run's recorded cell under a name that no change to cells' ids changes.

    Returns the pcapng, the same as a classic pcap, and the one with all capture points, whose bytes
    are what was recorded.
    """
    (folder,) = (run / "cells").iterdir()
    cell = from_dict(json.loads((folder / run_folder.CELL).read_text()))
    apart = run / "apart"
    shutil.copytree(folder, run_folder.cell_folder(apart, "recorded"))
    return export_cell(apart, "recorded", cell, read_recorded(folder), all_points=True).files


def only(folder: Path, pattern: str) -> Path:
    """Return the only path below a folder that a pattern matches."""
    (found,) = folder.glob(pattern)
    return found


def traced(run: Path) -> Path:
    """Return the exported file for Wireshark of a run's only cell."""
    return only(run / run_folder.PCAP, "*[0-9a-f].pcapng")


def view(run: Path) -> Path:
    """Return the same for tcptrace."""
    return only(run / run_folder.PCAP, "*-senders.pcap")


def traced_everywhere(run: Path) -> Path:
    """Return the exported file with every capture point."""
    return only(run / run_folder.PCAP, "*-all-points.pcapng")


def cell_folder(run: Path) -> Path:
    """Return the folder of a run's only cell."""
    return only(run / "cells", "*")


def packets(run: Path) -> pl.DataFrame:
    """Return the packets table of a run's only cell."""
    return pl.read_parquet(cell_folder(run) / run_folder.PACKETS_TABLE)


def captured(run: Path) -> Capture:
    """Return what the exported file for Wireshark holds."""
    return read(traced(run).read_bytes())


def captured_everywhere(run: Path) -> Capture:
    """Return what the exported file with every capture point holds."""
    return read(traced_everywhere(run).read_bytes())


def seen_by_senders(run: Path) -> pl.DataFrame:
    """Return the rows of the packets table that are in the file for Wireshark."""
    sent = (pl.col("point") == "sent") & (pl.col("direction") == "data")
    heard = (pl.col("point") == "delivered") & (pl.col("direction") == "ack")
    return packets(run).filter(sent | heard)


if __name__ == "__main__":
    make_run(Path(sys.argv[1]))
    for file in export_recorded(Path(sys.argv[1])):
        print(file)  # noqa: T201
