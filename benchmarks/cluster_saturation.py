"""Where a cluster would saturate: dask's scheduler and this project's engine, workers simulated.

    .venv/bin/python -m benchmarks.cluster_saturation results/latest --workers 10 50 100
    .venv/bin/python -m benchmarks.cluster_saturation results/latest --captured --workers 10

Cells take as long as a run's measuring cells do on an idle machine (testbed/labs/virtual/costs.py,
a fit to recorded times), or so many times less, and leave what these left, those without captures
unless ``--captured``: each simulated worker sleeps, then sends such a folder, which arrives as any
other, unpacked, compared with its digests, put in its place. Scheduler and engine are the real
ones.

Printed for each number of workers: cells a second in the middle three fifths of the campaign and
that of what so many workers can do, then processor time per cell of the scheduler, of this process
(the engine, which also unpacks) and of all simulated workers together.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from model import run_folder
from model.cell import cell_id, cell_json
from testbed.campaign import saved_runs
from testbed.campaign.run_cell import finish
from testbed.campaign.run_cells import Part, Progress, run_parts
from testbed.cluster import address, parcel
from testbed.cluster.engine import Cluster
from testbed.labs import registry
from testbed.machine import trees
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab
from tests.support.recorded import wireless_cell
from tests.support.runs import clusters

SIMULATED = Path(__file__).with_name("simulated_workers.py")
#: Of which part of a campaign's cells the pace is taken: neither its beginning nor its end.
FROM_FRAC, TO_FRAC = 0.2, 0.8


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recorded:
    """A cell of a run: its folder, and how long it takes."""

    folder: Path
    length_s: float


def recorded(run: Path, *, captured: bool) -> list[Recorded]:
    """Return the finished measuring cells of a run that have captures, or those that have none."""
    found = []
    for planned in saved_runs.load_cells(run):
        folder, cell = run_folder.cell_folder(run, planned.id), planned.cell
        wanted = cell.purpose == "measure" and cell.collect.pcap == captured
        if wanted and run_folder.is_done(folder):
            length_s = registry.named(cell.lab["name"]).cell_wall_s(cell)
            found.append(Recorded(folder=folder, length_s=length_s))
    if not found:
        sys.exit(f"cluster_saturation: no such cell in {run}")
    return found


def packed(cells: list[PlannedCell], of: list[Recorded], into: Path) -> None:
    """Put the archive of what each cell leaves where workers find it: all of a recorded one's."""
    for number, one in enumerate(cells):
        source, target = of[number % len(of)].folder, into / "making"
        shutil.copytree(source, target, ignore=lambda *_: run_folder.NOT_COMPARED)
        (target / run_folder.CELL).unlink()
        (target / run_folder.CELL).write_text(cell_json(one.cell))
        finish(target)
        (into / f"{one.id}.packed").write_bytes(parcel.pack(target))
        trees.remove(target)


@contextlib.contextmanager
def simulated(where: str, count: int, place: Path) -> Iterator[psutil.Process]:
    """Run so many simulated workers for the block; give their process."""
    argv = [sys.executable, str(SIMULATED), where, str(count), str(place)]
    env = {**os.environ, "PYTHONPATH": str(SIMULATED.parents[1])}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=env)
    try:
        if not process.stdout or not process.stdout.readline():
            sys.exit("cluster_saturation: the simulated workers did not begin")
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def used_s(process: psutil.Process) -> float:
    """Return the processor time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def campaign(count: int, cells: list[PlannedCell], place: Path, mean_s: float) -> str:
    """Run cells on so many workers; return what is told of it."""
    where = f"tcp://127.0.0.1:{clusters.free_port()}"
    ended_s: list[float] = []

    def report(progress: Progress) -> None:
        if progress.done_cells > len(ended_s):
            ended_s.append(time.monotonic())

    with (
        tempfile.TemporaryDirectory(prefix="saturation-") as name,
        clusters.programs(Path(name)) as programs,
    ):
        scheduler = psutil.Process(programs.start("scheduler", where).pid)
        with simulated(where, count, place) as workers:
            everyone = (scheduler, psutil.Process(), workers)
            before_s = [used_s(one) for one in everyone]
            part = Part(run=Path(name) / "run", cells=cells, lab=FakeLab())
            there = Cluster(address=address.parse(where))
            (outcome,) = run_parts([part], jobs=1, report=report, elsewhere=there)
            per_cell_s = [
                (used_s(one) - before) / len(cells)
                for one, before in zip(everyone, before_s, strict=True)
            ]
    if outcome.finished_cells != len(cells):
        sys.exit(f"cluster_saturation: {outcome.failures[:1]}")
    low, high = int(FROM_FRAC * len(cells)), int(TO_FRAC * len(cells))
    pace = (high - low) / (ended_s[high] - ended_s[low])
    costs = ", ".join(f"{1000 * one:.1f}" for one in per_cell_s)
    return (
        f"{count:4} workers, cells of {mean_s:.3f} s: {pace:7.2f} cells a second,"
        f" {pace * mean_s / count:4.2f} of what they can do; processor time per cell, ms: {costs}"
    )


def main() -> None:
    """Run all and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 10, 25, 50, 100])
    parser.add_argument("--shorter", nargs="+", type=float, default=[1.0, 100.0])
    parser.add_argument("--captured", action="store_true", help="cells with captures")
    parser.add_argument("--rounds", type=int, default=4, help="cells of each worker")
    args = parser.parse_args()
    of, lab = recorded(args.run, captured=args.captured), FakeLab().describe()
    counts = [max(12, args.rounds * count) for count in args.workers]
    cells = [
        PlannedCell(id=cell_id(cell), cell=cell)
        for cell in (wireless_cell(seed=seed, lab=lab) for seed in range(1, 1 + max(counts)))
    ]
    with tempfile.TemporaryDirectory(prefix="packed-") as name:
        place = Path(name)
        packed(cells, of, place)
        size = sum(path.stat().st_size for path in place.iterdir()) / len(cells)
        sys.stdout.write(f"an archive has {size / 1e6:.2f} MB on average\n")
        for shorter in args.shorter:
            lengths_s = [of[n % len(of)].length_s / shorter for n in range(len(cells))]
            for one, length_s in zip(cells, lengths_s, strict=True):
                (place / f"{one.id}.length").write_text(repr(length_s))
            for workers, count in zip(args.workers, counts, strict=True):
                mean_s = sum(lengths_s[:count]) / count
                sys.stdout.write(f"{campaign(workers, cells[:count], place, mean_s)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
