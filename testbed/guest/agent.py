"""The one program that runs inside a lab: builds a cell's network, runs it, writes raw evidence.

Reads ``/cell/cell.json`` and writes only below ``/cell``. Says each phase on the console, so that
the host can name it when the lab dies. Any failure, a bug too, is one ``error.json`` and exit
status 1; no traceback goes to the console.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path

from model.cell import from_dict
from model.errors import GroundtruthError
from testbed.guest.cell_run import run_cell

CELL = Path("/cell")
#: A host of a large network takes a namespace, sockets to ask and files to read: about ten.
OPEN_FILES = 65_536


def say_phase(phase: str) -> None:
    """Tell the host which phase begins."""
    os.write(1, f"lab: phase {phase}\n".encode())


def main() -> int:
    """Run the cell; return the exit status."""
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
        say_phase("read the cell")
        cell = from_dict(json.loads((CELL / "cell.json").read_text()))
        run_cell(cell, CELL, say_phase)
    except BaseException as error:  # noqa: BLE001  # whatever it is, the host must hear of it
        return _failed(error)
    return 0


def _failed(error: BaseException) -> int:
    """Tell the host of a failure, by a file or, where none can be written, on the console."""
    told = {"kind": type(error).__name__, "message": message(error)}
    if not isinstance(error, GroundtruthError):
        told["traceback"] = "".join(traceback.format_exception(error))
    try:
        (CELL / "error.json").write_text(json.dumps(told) + "\n")
    except OSError as refused:
        line = " ".join(told["message"].split())
        os.write(1, f"lab: agent cannot write error.json ({refused}): {line}\n".encode())
    return 1


def message(error: BaseException) -> str:
    """Return what to say of a failure: its words, or where in the code a bug is."""
    if isinstance(error, GroundtruthError | OSError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"the lab's agent failed: {type(error).__name__}{place}: {error or 'no message'}"


if __name__ == "__main__":
    sys.exit(main())
