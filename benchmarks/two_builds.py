"""Build the lab from an empty cache and run cells, as often and wherever you like; compare two.

    .venv/bin/python benchmarks/two_builds.py build A        # minutes: image, code, kernel, cells
    (umask 077; .venv/bin/python benchmarks/two_builds.py build /elsewhere/B)
    .venv/bin/python benchmarks/two_builds.py compare A /elsewhere/B

A folder gets the cache, the cells and ``made.json``: who built it, where and when, the lab's
digests and packages, and the digest of each cell's files. Compared are all but who, where and when.
What differs is named: packages with both versions, files of image, kernel and code, files of cells.
The exit status is 1 then. Nothing but Linux, Python and the tool's own packages is needed, so that
a build can be made as another user, with another umask and on another system.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import threading
from pathlib import Path
from typing import Any

from model.cell import Cell
from testbed.campaign import digests
from testbed.campaign.run_cell import execute, write_json
from testbed.labs.virtual import kernel, virtual_lab
from testbed.machine import contents
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell

MADE = "made.json"
#: Study and point of each cell; losses at random, listed losses, random and listed.
CELLS = {
    "wireless": ("wireless", {"loss_frac": 0.01}),
    "anatomy": ("anatomy", {}),
    "anatomy-wireless": ("anatomy-wireless", {}),
}
MOST_NAMED = 40


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _cell(lab: virtual_lab.VirtualLab, study_name: str, values: dict[str, Any]) -> Cell:
    study = load_study(find_study(study_name))
    point = next(p for p in study.points if values.items() <= p.values.items())
    return resolve_cell(study, point, seed=1, replicate=1, lab=lab.describe(), pcap=True)


def _parts(lab: virtual_lab.VirtualLab) -> dict[str, Path]:
    return {"image": lab.image.parent, "kernel": lab.kernel, "code": lab.code}


def build(folder: Path, version: str) -> None:
    """Build the lab into ``folder`` and run the cells there."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    mask = os.umask(0)
    os.umask(mask)
    lab = virtual_lab.ensure(version, lambda _what, _done: None)
    cells = {}
    for name, (study_name, values) in CELLS.items():
        place = folder / "cells" / name
        execute(_cell(lab, study_name, values), place, lab, threading.Event())
        cells[name] = digests.read_done(place)
        _say(f"{name}: {len(cells[name])} files")
    made = {
        "by": {
            "user": os.getuid(),
            "umask": f"{mask:03o}",
            "folder": str(folder.resolve()),
            "system": platform.freedesktop_os_release()["PRETTY_NAME"],
            "python": platform.python_version(),
            "ended": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
        },
        "lab": lab.describe(),
        "packages": lab.packages(),
        "trees": {name: contents.listing(place) for name, place in _parts(lab).items()},
        "cells": cells,
    }
    write_json(folder / MADE, made)


def _read(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((folder / MADE).read_text())
    _say(f"{folder}: {made['by']}")
    return made


def compare(first: Path, second: Path) -> list[str]:
    """Return what differs between two builds, by name."""
    one, two = _read(first), _read(second)
    tables = [("lab", one["lab"], two["lab"]), ("package", one["packages"], two["packages"])]
    for kind in ("trees", "cells"):
        tables += [(name, one[kind][name], two[kind][name]) for name in one[kind]]
    return [
        f"{what} {name}: {before.get(name)} and {after.get(name)}"
        for what, before, after in tables
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def main() -> None:
    """Build, or compare and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    does = parser.add_subparsers(dest="does", required=True)
    building = does.add_parser("build")
    building.add_argument("folder", type=Path)
    building.add_argument("--kernel", default=kernel.DEFAULT)
    comparing = does.add_parser("compare")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    args = parser.parse_args()
    if args.does == "build":
        build(args.folder, args.kernel)
        return
    found = compare(args.first, args.second)
    for line in found[:MOST_NAMED]:
        _say(line)
    _say(f"{len(found)} differences" if found else "the same lab, the same cells, to the byte")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
