"""What large cells cost, by checkout: calibration, lab and tables of the study ``large.yaml``.

    .venv/bin/python benchmarks/large_cells.py --points 0 1 --rounds 3 . ../before

Checkouts take turns (A B A B ...); each runs in processes of its own, pinned to one core, from boot
to DONE. Prints a line of JSON for each, then the least of the rounds: processor time (user and
system) of the calibrating cell, of the measuring cell's lab, and of its tables and audit. Rounds of
one checkout must agree on the digests of all that a cell left.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Literal

STUDY = Path(__file__).with_name("large.yaml")
Purpose = Literal["calibrate", "measure"]
PARTS = ("calibration", "lab", "tables")
#: No point takes so long.
ONE_S = 7200


def cpu_s() -> float:
    """Return the processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run_one(
    point: int, purposes: Sequence[Purpose], kernel: str, scale: str
) -> dict[str, float | str]:
    """Execute a point's calibrating and measuring cells; return what each part took."""
    # A campaign's processes have these before their first cell.
    from collectors.tables import write  # noqa: F401
    from model import run_folder
    from testbed.campaign import calibration_checks  # noqa: F401
    from testbed.campaign.run_cell import execute
    from testbed.labs.booted.time_limits import limits
    from testbed.labs.virtual import virtual_lab
    from testbed.machine import trees
    from testbed.points.load_study import load_study
    from testbed.points.resolve import resolve_cell

    study = load_study(STUDY, kernel=kernel, scale=Decimal(scale))
    chosen = study.points[point]
    lab = virtual_lab.ensure(study.kernel_at(chosen), lambda _what, _done: None)
    told: dict[str, float | str] = {}
    folder = Path(tempfile.mkdtemp(prefix="large-cells-"))
    try:
        for purpose in purposes:
            cell = resolve_cell(
                study, chosen, seed=1, replicate=1, lab=lab.describe(), purpose=purpose
            )
            cell = dataclasses.replace(cell, limits=limits(cell))
            began_s, own_s = time.monotonic(), cpu_s()
            execute(cell, folder / purpose, lab, threading.Event())
            own_s = cpu_s() - own_s
            timing = json.loads((folder / purpose / run_folder.TIMING).read_text())
            labs_s = timing["cpu_s"]
            told[f"{purpose} wall"] = time.monotonic() - began_s
            if purpose == "calibrate":
                told["calibration"] = own_s + labs_s
            else:
                told["lab"], told["tables"] = labs_s, own_s
            done = json.loads((folder / purpose / run_folder.DONE).read_text())
            told[f"{purpose} digest"] = hashlib.sha256(
                json.dumps(done, sort_keys=True).encode()
            ).hexdigest()[:16]
    finally:
        trees.remove(folder)
    return told


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkouts", nargs="*", default=[Path()], type=Path)
    parser.add_argument("--points", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--purposes", nargs="+", default=["calibrate", "measure"])
    parser.add_argument("--kernel", default="", help="not the study's own")
    parser.add_argument("--scale", default="1", help="times the study's times")
    parser.add_argument("--one", action="store_true", help="run one point here, print JSON")
    args = parser.parse_args()
    if args.one:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        told = run_one(args.points[0], args.purposes, args.kernel, args.scale)
        sys.stdout.write(json.dumps(told) + "\n")
        return
    found: dict[tuple[int, Path], list[dict[str, float | str]]] = {}
    for _ in range(args.rounds):
        for point, checkout in itertools.product(args.points, args.checkouts):
            argv = [sys.executable, str(Path(__file__).resolve()), "--one", "--points", str(point)]
            argv += ["--kernel", args.kernel, "--scale", args.scale, "--purposes", *args.purposes]
            environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
            done = subprocess.run(
                argv, check=True, stdout=subprocess.PIPE, text=True, cwd=checkout,
                env=environment, timeout=ONE_S,
            )  # fmt: skip
            found.setdefault((point, checkout), []).append(json.loads(done.stdout))
            sys.stdout.write(f"{point} {checkout} {done.stdout}")
            sys.stdout.flush()
    for (point, checkout), rounds in found.items():
        digests = {tuple(v for k, v in one.items() if k.endswith("digest")) for one in rounds}
        least = {
            part: min(float(one[part]) for one in rounds) for part in PARTS if part in rounds[0]
        }
        words = ", ".join(f"{part} {taken_s:.1f} s" for part, taken_s in least.items())
        same = "the same" if len(digests) == 1 else "NOT the same"
        sys.stdout.write(f"point {point} {checkout}: {words}; {same} in each round\n")


if __name__ == "__main__":
    main()
