"""Time whole cells of the wireless study with telemetry and without, in turn, parsing included.

    .venv/bin/python benchmarks/telemetry_cost.py --rounds 7

A cell is 1000 s at 1 % loss, executed as a campaign does it: pinned to one core, from boot to
DONE. The first round is not counted, because it loads the parsers. Prints the median of each, the
median of the rounds' ratios, and how fast pages are parsed.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from lab_speed import make_cell

from testbed import runfolder
from testbed.cell import Cell
from testbed.execute import execute
from testbed.labs import virtual


def with_telemetry(cell: Cell, *, on: bool) -> Cell:
    """Return a cell that records all there is, or none of it."""
    collect = dataclasses.replace(
        cell.collect, telemetry=on, queue_s=cell.collect.queue_s if on else 0.0
    )
    return dataclasses.replace(cell, collect=collect)


def run(lab: virtual.VirtualLab, cell: Cell) -> tuple[float, float]:
    """Execute one cell; return its wall time, and the pages' events parsed per second."""
    folder = Path(tempfile.mkdtemp(prefix="telemetry-cost-"))
    try:
        began_s = time.perf_counter()
        execute(cell, folder / "cell", lab, threading.Event())
        wall_s = time.perf_counter() - began_s
        return wall_s, events_per_s(folder / "cell") if cell.collect.telemetry else 0.0
    finally:
        shutil.rmtree(folder)


def events_per_s(folder: Path) -> float:
    """Return how many events a second are found and typed, reading the file included."""
    from collectors.trace_parse import read_trace

    began_s = time.perf_counter()
    trace = read_trace(folder / runfolder.TRACE_PAGES, folder / runfolder.TRACE_FORMATS)
    return float(trace.events.t_ns.size) / (time.perf_counter() - began_s)


def main() -> None:
    """Run the rounds and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernel", default="7.3")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lab = virtual.ensure(args.kernel, lambda _what, _done: None)
    cell = make_cell(lab, 1000.0)
    off_s, on_s, speeds = [], [], []
    for number in range(args.rounds + 1):
        off = run(lab, with_telemetry(cell, on=False))[0]
        on, speed = run(lab, with_telemetry(cell, on=True))
        if number:
            off_s.append(off)
            on_s.append(on)
            speeds.append(speed)
    ratios = [on / off for off, on in zip(off_s, on_s, strict=True)]
    sys.stdout.write(
        f"without telemetry {statistics.median(off_s):6.2f} s, fastest {min(off_s):.2f} s\n"
        f"with telemetry    {statistics.median(on_s):6.2f} s, fastest {min(on_s):.2f} s\n"
        f"ratio             {statistics.median(ratios):6.2f}"
        f"   ({min(ratios):.2f} to {max(ratios):.2f}, {args.rounds} rounds)\n"
        f"parsing           {statistics.median(speeds):6.0f} events/s\n"
    )


if __name__ == "__main__":
    main()
