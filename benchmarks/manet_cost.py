"""What a mobile network costs in the virtual lab: 46 radios with AODV, ten CBR flows, a bulk flow.

    .venv/bin/python benchmarks/manet_cost.py --seconds 120 --rounds 3 --protocols tcp sctp
    .venv/bin/python benchmarks/manet_cost.py --daemon-options no_request_filter
    .venv/bin/python benchmarks/manet_cost.py --kernels 6.12+radio 7.3+radio

Nodes move at 1 to 5 m/s on 1000 m x 300 m and are heard within 250 m. Each variant is run as often
as there are rounds, in turn, on one core; printed are wall seconds for each virtual one, and the
median of the rounds' ratios to the first variant. A kernel that is not in the cache is built first,
which takes minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from model.cell import Limits
from model.movement import movement_csv, random_waypoint
from model.movement.paths import Field
from testbed.labs.booted.booting import Boot
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import trees

IN_LAB = Path(__file__).with_name("manet_in_lab.py")
WALL_S, S = 3600.0, 1_000_000_000
#: As manet_in_lab.py places the flows.
LEAST_NODES = 30


def run(lab: VirtualLab, protocol: str, options: Sequence[str], args: argparse.Namespace) -> float:
    """Run the network once; return the wall time in seconds, boot and all."""
    folder = Path(tempfile.mkdtemp(prefix="manet-"))
    try:
        model = random_waypoint.RandomWaypoint(
            field=Field(width_mm=1_000_000, height_mm=300_000), min_speed_mps=1.0,
            max_speed_mps=5.0, pause_ns=0, start="steady-state",
        )  # fmt: skip
        movement = random_waypoint.movement(
            model, nodes=args.nodes, seed=1, until_ns=(args.seconds + 60) * S
        )
        cell = folder / "cell"
        cell.mkdir()
        (cell / "movement.csv").write_text(movement_csv.text_of(movement))
        settings = {
            "nodes": args.nodes, "duration_s": args.seconds, "protocol": protocol,
            "options": dict.fromkeys(options, ""),
        }  # fmt: skip
        (cell / "settings.json").write_text(json.dumps(settings))
        shutil.copy(IN_LAB, cell / "in_lab.py")
        boot = Boot(
            seed=1, limits=Limits(wall_s=WALL_S, virtual_s=args.seconds + 400.0),
            program=("/usr/bin/python3", "-B", "/cell/in_lab.py"),
        )  # fmt: skip
        return lab.boot(boot, cell, threading.Event()).wall_s
    finally:
        trees.remove(folder)


def main() -> None:
    """Run all and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kernels", nargs="+", default=["6.12+radio"])
    parser.add_argument("--protocols", nargs="+", default=["tcp"], choices=["tcp", "sctp"])
    parser.add_argument("--daemon-options", nargs="+", default=[], help="one more variant with")
    parser.add_argument("--nodes", type=int, default=46)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    if args.nodes < LEAST_NODES:
        parser.error(f"--nodes: wanted at least {LEAST_NODES}, each end of a flow its own")
    labs = {name: virtual_lab.ensure(name, lambda _what, _done: None) for name in args.kernels}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    optioned = [(), tuple(args.daemon_options)] if args.daemon_options else [()]
    variants = list(itertools.product(args.kernels, args.protocols, optioned))
    walls_s: dict[tuple[str, str, tuple[str, ...]], list[float]] = {}
    for _ in range(args.rounds):
        for variant in variants:
            name, protocol, options = variant
            wall_s = run(labs[name], protocol, options, args)
            walls_s.setdefault(variant, []).append(wall_s)
    for variant, taken_s in walls_s.items():
        ratios = [a / b for a, b in zip(taken_s, walls_s[variants[0]], strict=True)]
        name, protocol, options = variant
        sys.stdout.write(
            f"{' '.join((name, protocol, *options))}:"
            f" {statistics.median(taken_s) / args.seconds:.3f} s for each virtual second,"
            f" {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})\n"
        )


if __name__ == "__main__":
    main()
