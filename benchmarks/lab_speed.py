"""Time cells of the wireless study in the virtual lab, variants side by side in one run.

    .venv/bin/python benchmarks/lab_speed.py --kernels 7.3 6.12 --rounds 5

Variants take turns (A B A B ...), so a drifting machine hurts all alike; quote ratios. Prints one
line per variant: the median wall time of a whole cell (boot, building, reading back, traffic,
writing) and virtual seconds per wall second on one core.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
from pathlib import Path

from model.cell import Cell, cell_json
from testbed.labs.virtual import virtual_lab
from testbed.machine import trees
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell


def make_cell(lab: virtual_lab.VirtualLab, duration_s: float) -> Cell:
    """Return the wireless study's cell at 1 % loss, seed 1."""
    study = load_study(find_study("wireless"))
    point = next(p for p in study.points if p.values["loss_frac"] == 0.01)
    cell = resolve_cell(study, point, seed=1, replicate=1, lab=lab.describe())
    if cell.duration_s != duration_s:
        sys.exit(f"lab_speed: the study's runs last {cell.duration_s} s, not {duration_s} s")
    return cell


def wall_s(lab: virtual_lab.VirtualLab, cell: Cell, *, pinned: bool) -> float:
    """Run one cell; return its wall time."""
    folder = Path(tempfile.mkdtemp(prefix="lab-speed-"))
    cpus = os.sched_getaffinity(0)
    try:
        (folder / "cell.json").write_text(cell_json(cell))
        if pinned:
            os.sched_setaffinity(0, {max(cpus)})
        return lab.run(cell, folder, threading.Event()).wall_s
    finally:
        os.sched_setaffinity(0, cpus)
        trees.remove(folder)


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernels", nargs="+", default=["7.3", "6.12"])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    labs = {
        version: virtual_lab.ensure(version, lambda _what, _done: None) for version in args.kernels
    }
    variants = [(version, pinned) for version in args.kernels for pinned in (True, False)]
    times: dict[tuple[str, bool], list[float]] = {variant: [] for variant in variants}
    duration_s = 1000.0
    for _ in range(args.rounds):
        for version, pinned in variants:
            cell = make_cell(labs[version], duration_s)
            times[version, pinned].append(wall_s(labs[version], cell, pinned=pinned))
    base = statistics.median(times[variants[0]])
    sys.stdout.write("kernel  pinned  wall s (min median max)  virtual s per wall s  ratio\n")
    for (version, pinned), walls in times.items():
        median = statistics.median(walls)
        sys.stdout.write(
            f"{version:7} {'yes' if pinned else 'no':6}"
            f" {min(walls):6.2f} {median:6.2f} {max(walls):6.2f}"
            f" {duration_s / median:21.0f} {median / base:6.2f}\n"
        )


if __name__ == "__main__":
    main()
