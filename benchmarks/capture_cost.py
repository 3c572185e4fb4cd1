"""Time a cell of the wireless study without and with captures, parsing included.

    .venv/bin/python benchmarks/capture_cost.py --rounds 5

The two take turns (A B A B ...) on one core, so a drifting machine hurts both alike; quote ratios.
Prints the median wall time of each, their ratio round by round, and how many packets a second the
parser reads (captures to table in memory) and the whole of ``write_tables`` handles.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from collectors.tables import packet_evidence
from collectors.tables.write import write_tables
from model.cell import Cell, cell_json
from testbed.labs.virtual import kernel, virtual_lab
from testbed.machine import trees
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell


@dataclasses.dataclass
class Turn:
    """One cell: its wall times in the lab and for its tables, and what its captures hold."""

    lab_s: float
    tables_s: float
    parse_s: float = 0.0
    packets: int = 0
    capture_bytes: int = 0

    @property
    def wall_s(self) -> float:
        """The cell from boot to tables."""
        return self.lab_s + self.tables_s


def make_cell(lab: virtual_lab.VirtualLab, *, pcap: bool) -> Cell:
    """Return the wireless study's cell at 1 % loss, seed 1."""
    study = load_study(find_study("wireless"))
    point = next(p for p in study.points if p.values["loss_frac"] == 0.01)
    return resolve_cell(study, point, seed=1, replicate=1, lab=lab.describe(), pcap=pcap)


def turn(lab: virtual_lab.VirtualLab, cell: Cell) -> Turn:
    """Run one cell and write its tables."""
    folder = Path(tempfile.mkdtemp(prefix="capture-cost-"))
    try:
        (folder / "cell.json").write_text(cell_json(cell))
        lab_s = lab.run(cell, folder, threading.Event()).wall_s
        began_s = time.perf_counter()
        write_tables(folder, cell)
        done = Turn(lab_s=lab_s, tables_s=time.perf_counter() - began_s)
        if cell.collect.pcap:
            began_s = time.perf_counter()
            packets = packet_evidence.packets(folder, cell)
            done.parse_s = time.perf_counter() - began_s
            done.packets = 0 if packets is None else packets.height
            captures = (folder / "raw" / "pcap").glob("*.pcap.gz")
            done.capture_bytes = sum(path.stat().st_size for path in captures)
        return done
    finally:
        trees.remove(folder)


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    # Before polars works for the first time: it counts cores then.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lab = virtual_lab.ensure(kernel.DEFAULT, lambda _what, _done: None)
    cells = {pcap: make_cell(lab, pcap=pcap) for pcap in (False, True)}
    turn(lab, cells[True])  # loads what is loaded once
    turns: dict[bool, list[Turn]] = {False: [], True: []}
    for _ in range(args.rounds):
        for pcap, cell in cells.items():
            turns[pcap].append(turn(lab, cell))
    sys.stdout.write("captures  wall s (min median max)  of it lab, tables (medians)\n")
    for pcap, done in turns.items():
        walls = [one.wall_s for one in done]
        sys.stdout.write(
            f"{'on' if pcap else 'off':8}"
            f" {min(walls):6.2f} {statistics.median(walls):6.2f} {max(walls):6.2f}"
            f"       {statistics.median(one.lab_s for one in done):6.2f}"
            f" {statistics.median(one.tables_s for one in done):6.2f}\n"
        )
    ratios = [on.wall_s / off.wall_s for off, on in zip(turns[False], turns[True], strict=True)]
    parsed = [one.packets / one.parse_s for one in turns[True]]
    handled = [one.packets / one.tables_s for one in turns[True]]
    sys.stdout.write(
        f"ratio on/off: median {statistics.median(ratios):.2f},"
        f" {min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds\n"
        f"packets: {turns[True][0].packets}, captures {turns[True][0].capture_bytes / 1e6:.1f} MB\n"
        f"parser: median {statistics.median(parsed):.0f}, best {max(parsed):.0f} packets/s\n"
        f"tables: median {statistics.median(handled):.0f}, best {max(handled):.0f} packets/s\n"
    )


if __name__ == "__main__":
    main()
