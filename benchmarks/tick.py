"""Run the same cells on a kernel built for several timer frequencies; print what differs.

    .venv/bin/python benchmarks/tick.py --kernel 6.12 --ticks 250 100 1000 --seeds 10

Each point is run with the same seeds at each frequency, in turn: the 10 ms path of short-path.yaml,
with the kernel's own hosts and with the publications', and the wireless study at 1 % loss. Prints,
per flow, mean goodput and timeouts of a run, and the difference in goodput from the first frequency
with its 95 % interval (Welch's); then the median of the rounds' ratios of processor time, which
other work on the machine touches least. A kernel that is not in the cache is built first, which
takes minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from scipy import stats

from model import run_folder
from model.cell import Cell
from testbed.campaign.run_cell import execute
from testbed.labs.virtual import kernel, virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import trees
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell

#: Goodput in bit/s and timeouts of a run, by flow.
Found = dict[str, tuple[float, int]]


def cells(lab: VirtualLab, seed: int) -> Iterator[tuple[str, Cell]]:
    """Yield what is compared, each with its name; captures would be most of the work."""
    short_path = Path(__file__).with_name("short-path.yaml")
    for path, wanted in ((short_path, {}), (find_study("wireless"), {"loss_frac": 0.01})):
        study = load_study(path)
        for point in study.points:
            if wanted.items() <= point.values.items():
                cell = resolve_cell(study, point, seed=seed, replicate=1, lab=lab.describe())
                collect = dataclasses.replace(cell.collect, pcap=False)
                name = f"{cell.study}, hosts {cell.hosts.id}"
                yield name, dataclasses.replace(cell, collect=collect)


def processor_s() -> float:
    """Return the processor time of this process and of all that it has awaited."""
    return sum(os.times()[:4])


def run(lab: VirtualLab, cell: Cell) -> tuple[Found, float]:
    """Execute one cell; return what it found and the processor time it took."""
    folder = Path(tempfile.mkdtemp(prefix="tick-"))
    try:
        began_s = processor_s()
        execute(cell, folder / "cell", lab, threading.Event())
        taken_s = processor_s() - began_s
        flows = pl.read_parquet(folder / "cell" / run_folder.FLOWS_TABLE)
        episodes = pl.read_parquet(folder / "cell" / run_folder.EPISODES_TABLE)
        timeouts = dict(episodes.group_by("flow").agg(pl.col("timeouts").sum()).iter_rows())
        goodputs = flows.select("flow", "goodput_bps").iter_rows()
        return {flow: (bps, timeouts.get(flow, 0)) for flow, bps in goodputs}, taken_s
    finally:
        trees.remove(folder)


def difference_pct(values: Sequence[float], base: Sequence[float]) -> str:
    """Return the difference of two means in % of the second, with its 95 % interval."""
    found = stats.ttest_ind(values, base, equal_var=False)
    low, high = found.confidence_interval()
    mean = statistics.mean(base)
    middle = statistics.mean(values) - mean
    return f"{100 * middle / mean:+.1f} % ({100 * low / mean:+.1f} to {100 * high / mean:+.1f})"


def main() -> None:
    """Run all and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("--ticks", nargs="+", type=int, default=[250, 100, 1000])
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    labs = {
        hz: virtual_lab.ensure(
            args.kernel, lambda _what, _done: None, config=kernel.Config(tick_hz=hz)
        )
        for hz in args.ticks
    }
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[tuple[str, int], list[Found]] = {}
    times_s: dict[tuple[str, int], list[float]] = {}
    for seed in range(1, args.seeds + 1):
        for hz, lab in labs.items():
            for name, cell in cells(lab, seed):
                values, taken_s = run(lab, cell)
                found.setdefault((name, hz), []).append(values)
                times_s.setdefault((name, hz), []).append(taken_s)
    first = args.ticks[0]
    for (name, hz), runs in found.items():
        for flow in runs[0]:
            goodputs, base = ([one[flow][0] for one in of] for of in (runs, found[name, first]))
            timeouts = statistics.mean(one[flow][1] for one in runs)
            sys.stdout.write(
                f"{name}, {flow}, {hz:4} Hz: {statistics.mean(goodputs) / 1e6:.3f} Mbit/s,"
                f" {timeouts:.1f} timeouts, {difference_pct(goodputs, base)}\n"
            )
        ratios = [a / b for a, b in zip(times_s[name, hz], times_s[name, first], strict=True)]
        sys.stdout.write(
            f"{name}, {hz:4} Hz: processor time {statistics.median(ratios):.2f}"
            f" of that at {first} Hz ({min(ratios):.2f} to {max(ratios):.2f})\n"
        )


if __name__ == "__main__":
    main()
