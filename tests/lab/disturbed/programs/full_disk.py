"""Run where DISK is a small file system: ``full_disk.py HOW DISK OUT BYTES``, which tells as JSON.

HOW is ``run``: the run's folder is on that disk, which has BYTES left, then more, and the run goes
on; or ``store``: its store of cells is; or ``report``: the run that is in OUT is on it, finished,
and a report is written. What is to be looked at is copied to OUT.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from testbed.store import cells as store
from testbed.store import upkeep
from testbed.store.entries import FILLING
from tests.support.runs import small_disk
from tests.support.runs.lab_run import LabRun

#: The status of a command that a disk without room ended.
FAILED = 3


def run(disk: Path, out: Path, room_bytes: int) -> dict[str, object]:
    """Run until the disk is full, make room, and go on."""
    one = LabRun(place=out / "run", results=disk / "results")
    ballast = small_disk.fill(disk, room_bytes)
    said = one.ended(one.begin("--no-check-room"), FAILED)
    finished = len(one.look())
    ballast.unlink()
    one.ended(one.resume())
    one.look()
    shutil.copytree(one.folder, out / "ended")
    return {"said": said, "finished": finished, "left": one.left()}


def of_store(disk: Path, out: Path, room_bytes: int) -> dict[str, object]:
    """Run with a store that fills, then once more with one that has room."""
    root = disk / "store"
    ballast = small_disk.fill(disk, room_bytes)
    told: dict[str, object] = {}
    for name in ("full", "room"):
        one = LabRun(place=out / name, env={store.VARIABLE: str(root)})
        said = one.ended(one.begin())
        held = [entry.entry for entry in upkeep.held(root)]
        told[name] = {
            "said": said, "left": [*one.left(), *map(str, root.glob(f"{FILLING}*"))],
            "stored": len(one.stored()), "damage": [*filter(None, map(upkeep.damage, held))],
            "evidence": sum(entry.kind == "evidence" for entry in held),
        }  # fmt: skip
        ballast.unlink(missing_ok=True)
    return told


def report(disk: Path, out: Path, room_bytes: int) -> dict[str, object]:
    """Write the report of a finished run again on a full disk, then with room."""
    one = LabRun(place=out / "run", results=disk / "results")
    (finished,) = (out / "finished").iterdir()
    shutil.copytree(finished, one.results / finished.name)
    ballast = small_disk.fill(disk, room_bytes)
    said = one.ended(one.start("report", str(one.folder)), FAILED)
    shutil.copytree(one.folder, out / "between")
    ballast.unlink()
    one.ended(one.start("report", str(one.folder)))
    shutil.copytree(one.folder, out / "ended")
    return {"said": said, "left": one.left()}


def main(how: str, disk: str, out: str, room_bytes: str) -> None:
    """Do it, and print what is to be looked at."""
    act = {"run": run, "store": of_store, "report": report}[how]
    sys.stdout.write(json.dumps(act(Path(disk), Path(out), int(room_bytes))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
