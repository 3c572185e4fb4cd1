"""A run folder around the recorded cell of the virtual lab, ready to be exported for Wireshark.

``python -m tests.support.exported_cell FOLDER`` exports it into a new folder, to be recorded anew.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
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


def misplaced(shown: Mapping[str, str]) -> list[str]:
    """Return what is said beside a packet that it is not about, by the numbers tshark shows of it.

    ``shown`` holds tshark's fields of the packet; occurrences are parted by a bar.
    """
    found = []
    for part in shown["frame.comment"].split("; "):
        numbers = re.findall(r"\((seq|TSN) ([\d, ]+)", part)
        if not numbers:
            continue
        kind, listed = numbers[-1]
        said = [int(number) for number in listed.split(",") if number.strip()]
        own = "tcp.ack" if "asks for" in part else {"seq": "tcp.seq", "TSN": "sctp.data_tsn"}[kind]
        if part.startswith("reports"):
            low = int(shown["sctp.sack_cumulative_tsn_ack"]) + 1 & 0xFFFF_FFFF
            right = "received again" in part or all(number >= low for number in said)
        else:
            right = [str(number) for number in said] == shown[own].split("|")[: len(said)]
        if not right:
            found.append(part)
    return found


if __name__ == "__main__":
    make_run(Path(sys.argv[1]))
    for file in export_recorded(Path(sys.argv[1])):
        print(file)  # noqa: T201
