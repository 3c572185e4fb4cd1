"""Time whole cells of the wireless study with telemetry and without, in turn, parsing included.

    .venv/bin/python benchmarks/telemetry_cost.py --rounds 7

A cell is 1000 s at 1 % loss, executed as a campaign does it: pinned to one core, from boot to
DONE. The first round is not counted, because it loads the parsers. Prints the median of each, the
median of the rounds' ratios, what sampling sockets and counters has of it, what recording when each
message was handed over and delivered adds, and how fast pages are parsed.
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

from lab_speed import make_cell

from model import run_folder
from model.cell import Cell
from testbed.campaign.run_cell import execute
from testbed.labs.virtual import virtual_lab
from testbed.machine import trees


def variants(cell: Cell) -> dict[str, Cell]:
    """Return a cell that records nothing, all but samples of sockets, all, and messages besides."""
    unsampled = dataclasses.replace(cell.collect, sockets_s=0.0, counters_s=0.0)
    nothing = dataclasses.replace(unsampled, telemetry=False, queue_s=0.0)
    return {
        "nothing": dataclasses.replace(cell, collect=nothing),
        "all but sockets": dataclasses.replace(cell, collect=unsampled),
        "all": cell,
        "and messages": dataclasses.replace(
            cell, collect=dataclasses.replace(cell.collect, messages=True)
        ),
    }


def run(lab: virtual_lab.VirtualLab, cell: Cell) -> tuple[float, float]:
    """Execute one cell; return its wall time, and the pages' events parsed per second."""
    folder = Path(tempfile.mkdtemp(prefix="telemetry-cost-"))
    try:
        began_s = time.perf_counter()
        execute(cell, folder / "cell", lab, threading.Event())
        wall_s = time.perf_counter() - began_s
        speed = events_per_s(folder / "cell") if cell.collect.telemetry else 0.0
        return wall_s, speed
    finally:
        trees.remove(folder)


def events_per_s(folder: Path) -> float:
    """Return how many events a second are found and typed, reading the file included."""
    from collectors.trace.events import read_trace

    began_s = time.perf_counter()
    trace = read_trace(folder / run_folder.TRACE_PAGES, folder / run_folder.TRACE_FORMATS)
    return float(trace.events.t_ns.size) / (time.perf_counter() - began_s)


def main() -> None:
    """Run the rounds and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernel", default="7.3")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lab = virtual_lab.ensure(args.kernel, lambda _what, _done: None)
    cells = variants(make_cell(lab, 1000.0))
    walls_s: dict[str, list[float]] = {name: [] for name in cells}
    speeds = []
    for number in range(args.rounds + 1):
        for name, cell in cells.items():
            wall_s, speed = run(lab, cell)
            if number:
                walls_s[name].append(wall_s)
                speeds += [speed] if speed else []
    for name, taken_s in walls_s.items():
        sys.stdout.write(
            f"{name:16} {statistics.median(taken_s):6.2f} s, fastest {min(taken_s):.2f} s\n"
        )
    sys.stdout.write(
        f"{'all, ratio':16} {ratio(walls_s, 'all', 'nothing')}\n"
        f"{'sockets, ratio':16} {ratio(walls_s, 'all', 'all but sockets')}\n"
        f"{'messages, ratio':16} {ratio(walls_s, 'and messages', 'all')}\n"
        f"{'parsing':16} {statistics.median(speeds):6.0f} events/s\n"
    )


def ratio(taken_s: dict[str, list[float]], of: str, over: str) -> str:
    """Return the median and the range of the rounds' ratios in words."""
    ratios = [above / below for above, below in zip(taken_s[of], taken_s[over], strict=True)]
    fastest = min(taken_s[of]) / min(taken_s[over])
    return (
        f"{statistics.median(ratios):6.3f}   ({min(ratios):.2f} to {max(ratios):.2f},"
        f" {len(ratios)} rounds), fastest {fastest:.3f}"
    )


if __name__ == "__main__":
    main()
