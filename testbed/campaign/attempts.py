"""What becomes of a cell that failed: tried again for the machine's sake, its evidence kept.

<run>/failed/<id>/attempt-1/ ...   what each attempt but the last left, and why it failed

Invariants: a cell that fails by itself is not tried again in the same campaign, since it would
again; what an attempt left is moved, never removed, before another one begins.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from model import plain_files, run_folder
from model.errors import MachineError
from testbed.campaign.run_cell import write_json
from testbed.machine import room

#: How often a cell is tried again for which the machine is to blame, unless told otherwise: its
#: process or its lab was killed, or there was too little of something. Three tries in all, as for
#: lateness in real time.
RETRIES = 2


def is_the_machines(error: Exception) -> bool:
    """Return whether it may go well another time: what failed is this machine, not the cell.

    A full disk is no better a moment later.
    """
    return isinstance(error, OSError | MachineError) and not room.is_full(error)


def record(folder: Path, why: str) -> None:
    """Say in a cell's folder why it failed; what is there stays until the cell is begun again."""
    with contextlib.suppress(OSError):  # the disk may be why; the run tells it too
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / run_folder.FAILURE, {"schema": 1, "message": why})


def set_aside(run: Path, cell_id: str) -> Path | None:
    """Keep what a failed attempt left, out of the way of the next; return where.

    None if the last attempt did not fail: it was killed with its run, or there was none. Raises
    ``OSError``.
    """
    folder = run_folder.cell_folder(run, cell_id)
    if not plain_files.is_file(folder / run_folder.FAILURE):
        return None
    kept = run_folder.failed_attempts(run, cell_id)
    kept.mkdir(parents=True, exist_ok=True)
    numbers = (name.rpartition("-")[2] for name in os.listdir(kept))  # noqa: PTH208
    last = max((int(number) for number in numbers if number.isdecimal()), default=0)
    return folder.rename(kept / f"attempt-{last + 1}")
