"""How a campaign gains by more workers of one machine, and what dask's cost beside the project's.

    .venv/bin/python -m benchmarks.campaign_scaling --rounds 3
    .venv/bin/python -m benchmarks.campaign_scaling --rounds 3 --study

Campaigns of equal cells: functions that compute for so long, or with ``--study`` cells of the
wireless study (100 s, 1 % loss) in the virtual lab. Each variant is a process of its own: so many
local workers, or a cluster of this machine (a scheduler, and as many workers as there are cores).
Variants are run in turn, each with few cells and with many: what one cell more costs is the slope
between the two, what a campaign costs before is the rest. Wall time is this machine's, with all
else that runs on it; processor time is of all processes of a variant, labs included.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from model.cell import Cell, cell_id
from testbed.campaign.run_cells import Part, Progress, run_parts
from testbed.cluster import address
from testbed.cluster.engine import Cluster
from testbed.labs.contract.lab import Lab
from testbed.labs.virtual import kernel, virtual_lab
from testbed.machine import trees
from testbed.planning.plan import PlannedCell
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell
from tests.support.runs import clusters

PR_SET_CHILD_SUBREAPER = 36
PROJECT = Path(__file__).parents[1]
DURATION_S = 100.0
#: What a variant took with few cells, and with many.
Pair = tuple[dict[str, float], dict[str, float]]


@dataclasses.dataclass(frozen=True)
class Act:
    """What a cell does: say when it began, compute, and leave a recorded cell's files."""

    begun: Path
    iterations: int

    def __call__(self, cell: Cell, folder: Path) -> None:
        """Be a cell."""
        (self.begun / str(cell.seed)).write_text(repr(time.monotonic()))
        hashlib.pbkdf2_hmac("sha256", b"cell", b"", self.iterations)
        write_recorded(cell, folder)


def of_functions(place: Path, count: int, iterations: int) -> tuple[list[Cell], Lab]:
    """Return cells that compute."""
    lab: Any = FakeLab(Act(place, iterations))
    return [wireless_cell(seed=seed, lab=lab.describe()) for seed in range(1, count + 1)], lab


def of_study(count: int) -> tuple[list[Cell], Lab]:
    """Return short cells of the wireless study."""
    lab = virtual_lab.ensure(kernel.DEFAULT, lambda _what, _done: None)
    study = load_study(find_study("wireless"))
    point = next(p for p in study.points if p.values["loss_frac"] == 0.01)
    cells = []
    for seed in range(1, count + 1):
        cell = resolve_cell(study, point, seed=seed, replicate=seed, lab=lab.describe())
        flows = tuple(dataclasses.replace(flow, stop_s=DURATION_S) for flow in cell.flows)
        cells.append(
            dataclasses.replace(cell, flows=flows, duration_s=DURATION_S, measure_to_s=DURATION_S)
        )
    return cells, lab


def variant(args: argparse.Namespace) -> dict[str, float]:
    """Run one campaign in this process; return its times and its memory."""
    began_s = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="scaling-"))
    (place / "begun").mkdir()
    cells, lab = (
        of_study(args.count)
        if args.study
        else of_functions(place / "begun", args.count, args.iterations)
    )
    planned = [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]
    part, memory = Part(run=place / "run", cells=planned, lab=lab), [0]

    def report(progress: Progress) -> None:
        if progress.done_cells == max(1, args.count // 2):
            memory[0] = unshared_bytes()

    try:
        if args.one == "dask":
            with clusters.programs(place) as programs:
                where = f"tcp://127.0.0.1:{clusters.free_port()}"
                programs.start("scheduler", where)
                programs.start("worker", where)
                there = Cluster(address=address.parse(where))
                (outcome,) = run_parts([part], jobs=1, report=report, elsewhere=there)
        else:
            (outcome,) = run_parts([part], jobs=int(args.one), report=report)
        ended_s = time.monotonic()
        if outcome.finished_cells != args.count:
            sys.exit(f"campaign_scaling: {outcome.failures[:1]}")
        # Without functions to say it: when the first cell's folder was begun is not kept.
        first = [float(path.read_text()) for path in (place / "begun").iterdir()]
        return {
            "wall_s": ended_s - began_s, "memory_bytes": memory[0],
            "first_s": min(first) - began_s if first else float("nan"),
        }  # fmt: skip
    finally:
        trees.remove(place)


def unshared_bytes() -> int:
    """Return the memory of this process and all below it, but for labs', each page counted once."""
    total = 0
    this = psutil.Process()
    for one in [this, *this.children(recursive=True)]:
        try:
            if "python" in one.name():
                total += one.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total


def measured(of: str, count: int, args: argparse.Namespace) -> dict[str, float]:
    """Run a variant as a process; return what it says, and the processor time of all of it."""
    argv = [
        sys.executable, __file__, "--one", of, "--count", str(count),
        "--iterations", str(args.iterations), *(["--study"] if args.study else []),
    ]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(PROJECT), "GROUNDTRUTH_STORE": "off"}
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, env=env, text=True)
    said = child.stdout.read() if child.stdout else ""
    used_s, statuses = 0.0, {}
    while True:  # what outlives it is this process's child by then
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        statuses[pid] = status
        used_s += usage.ru_utime + usage.ru_stime
    if statuses.get(child.pid) != 0:
        sys.exit(f"campaign_scaling: {of} failed")
    return {**json.loads(said), "cpu_s": used_s}


def main() -> None:
    """Run the rounds and print the table; or one variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--workers", nargs="+", default=["1", "2", "3", "4", "dask"])
    parser.add_argument("--cells", nargs=2, type=int, default=[4, 20], metavar=("FEW", "MANY"))
    parser.add_argument("--iterations", type=int, default=400_000, help="of hashing, in a cell")
    parser.add_argument("--study", action="store_true", help="cells of the virtual lab")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        sys.stdout.write(json.dumps(variant(args)))
        return
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("campaign_scaling: cannot adopt orphans")
    few, many = args.cells
    found: dict[str, list[Pair]] = {}
    for _ in range(args.rounds):
        for of in args.workers:
            pair = measured(of, few, args), measured(of, many, args)
            found.setdefault(of, []).append(pair)
            sys.stderr.write(f"{of}: {few} and {many} cells: {json.dumps(pair)}\n")
    tell(found, few, many)


def tell(found: dict[str, list[Pair]], few: int, many: int) -> None:
    """Print a line for each variant."""

    def slopes(of: str, what: str) -> list[float]:
        return [(long[what] - short[what]) / (many - few) for short, long in found[of]]

    first = next(iter(found))
    for of in found:
        walls_s, cpus_s = slopes(of, "wall_s"), slopes(of, "cpu_s")
        gains = [a / b for a, b in zip(slopes(first, "wall_s"), walls_s, strict=True)]
        begun_cpu_s = [
            short["cpu_s"] - few * each_s
            for (short, _), each_s in zip(found[of], cpus_s, strict=True)
        ]
        begun_s = statistics.median(short["first_s"] for short, _ in found[of])
        memory_bytes = statistics.median(long["memory_bytes"] for _, long in found[of])
        sys.stdout.write(
            f"{of:5} cells a second, of those of {first}: {statistics.median(gains):.2f}"
            f" ({min(gains):.2f} to {max(gains):.2f});"
            f" a cell takes {statistics.median(walls_s):.3f} s,"
            f" processor {statistics.median(cpus_s):.3f} s"
            f" ({min(cpus_s):.3f} to {max(cpus_s):.3f});"
            f" before: {begun_s:.2f} s, processor {statistics.median(begun_cpu_s):.2f} s;"
            f" {memory_bytes / 1e6:.0f} MB\n"
        )


if __name__ == "__main__":
    main()
