"""Time the tables of a run's cells on two threads, computing there or in a process beside each.

    .venv/bin/python benchmarks/parse_jobs.py results/latest --rounds 5

Takes the first measured cells of a run, as many for each of both ways, in turn (A B A B ...); the
run itself is not touched. Prints the median of the rounds' ratios of wall time.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

from collectors.tables.write import write_tables
from model import run_folder
from testbed.campaign import saved_runs
from testbed.machine import trees, workers
from testbed.planning.plan import PlannedCell

JOBS = 2


def there(copy: Path, planned: PlannedCell) -> None:
    """Write a cell's tables on the calling thread."""
    write_tables(copy / planned.id, planned.cell)


def in_process(copy: Path, planned: PlannedCell) -> None:
    """Write a cell's tables in the process beside the calling thread."""
    workers.in_process(write_tables, copy / planned.id, planned.cell)


def wall_s(copy: Path, cells: list[PlannedCell], *, apart: bool) -> float:
    """Return how long the tables of all cells take."""

    def ended(_: PlannedCell, error: Exception | None) -> None:
        if error is not None:
            raise error

    began_s = time.perf_counter()
    act = partial(in_process if apart else there, copy)
    workers.each(cells, act, jobs=JOBS, cancelled=threading.Event(), ended=ended)
    return time.perf_counter() - began_s


def main() -> None:
    """Run the rounds and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", type=Path)
    parser.add_argument("--cells", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    run = saved_runs.find_run(str(args.run))
    cells = [p for p in saved_runs.load_cells(run) if p.cell.purpose == "measure"][: args.cells]
    copy = Path(tempfile.mkdtemp(prefix="parse-jobs-"))
    try:
        for planned in cells:
            shutil.copytree(run_folder.cell_folder(run, planned.id), copy / planned.id)
        wall_s(copy, cells[:JOBS], apart=True)  # loads what is loaded once
        wall_s(copy, cells[:JOBS], apart=False)
        rounds = [
            (wall_s(copy, cells, apart=False), wall_s(copy, cells, apart=True))
            for _ in range(args.rounds)
        ]
    finally:
        trees.remove(copy)
    ratios = [apart / threads for threads, apart in rounds]
    fastest = [min(times) for times in zip(*rounds, strict=True)]
    sys.stdout.write(
        f"{len(cells)} cells: on the threads {fastest[0]:.2f} s, beside them {fastest[1]:.2f} s"
        f" (fastest); ratio: median {statistics.median(ratios):.2f},"
        f" {min(ratios):.2f} to {max(ratios):.2f} in {len(ratios)} rounds\n"
    )


if __name__ == "__main__":
    main()
