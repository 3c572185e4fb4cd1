"""The one program that runs inside a lab: builds a cell's network, runs it, writes raw evidence.

Reads ``/cell/cell.json`` and writes only below ``/cell``. Says each phase on the console, so that
the host can name it when the lab dies. Any failure is one ``error.json`` and exit status 1.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from testbed.cell import from_dict
from testbed.errors import GroundtruthError
from testbed.guest_run import run_cell

CELL = Path("/cell")


def say_phase(phase: str) -> None:
    """Tell the host which phase begins."""
    os.write(1, f"lab: phase {phase}\n".encode())


def main() -> int:
    """Run the cell; return the exit status."""
    try:
        say_phase("read the cell")
        cell = from_dict(json.loads((CELL / "cell.json").read_text()))
        run_cell(cell, CELL, say_phase)
    except (GroundtruthError, OSError, ValueError) as error:
        (CELL / "error.json").write_text(
            json.dumps({"kind": type(error).__name__, "message": str(error)}) + "\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
