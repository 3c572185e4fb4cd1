"""The program with a lab of functions: ``python -m tests.support.runs.lab_of_functions PLACE ...``.

``PLACE`` is a folder in which each cell tells that it began, and waits until it may go on; a
command of the program follows. Nothing is booted, so a campaign of many cells takes seconds.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from pathlib import Path

from model import run_folder
from model.cell import Cell
from testbed.command.cli import command_status
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import ENVIRONMENT, FakeLab, write_recorded

WITHIN_S = 1200.0
POLL_S = 0.01
#: Where cells tell that they began; what lets one of them go on, and what lets all.
BEGUN, TICKET, OPEN = "begun", "ticket-", "open"


@dataclasses.dataclass(frozen=True)
class Act:
    """What cells do: tell that they began, wait, and leave what their seed decides."""

    place: Path

    def __call__(self, cell: Cell, folder: Path) -> None:
        with (self.place / BEGUN / folder.parent.name).open("a") as times:
            times.write(".")
        self._wait()
        write_recorded(cell, folder)
        content = {**ENVIRONMENT, "seed": cell.seed}
        (folder / run_folder.ENV).write_text(json.dumps(content) + "\n")

    def _wait(self) -> None:
        """Wait until all may go on, or for a ticket, of which each is for one cell."""
        deadline_s = time.monotonic() + WITHIN_S
        while not (self.place / OPEN).exists():
            for ticket in self.place.glob(f"{TICKET}*"):
                try:
                    ticket.unlink()
                except FileNotFoundError:  # another cell's now
                    continue
                return
            assert time.monotonic() < deadline_s
            time.sleep(POLL_S)


def times_begun(place: Path) -> dict[str, int]:
    """Return how often each cell began, by its id."""
    return {path.name: path.stat().st_size for path in (place / BEGUN).iterdir()}


def main(place: str, *words: str) -> int:
    """Carry out a command, with functions in place of the virtual lab; return its status."""
    lab = FakeLab(Act(Path(place)))
    virtual_lab.ensure_per_kernel = lambda *_: lab  # type: ignore[assignment]
    return command_status(list(words))


if __name__ == "__main__":
    # By its own name, so that other processes find what their calls are pickled with.
    from tests.support.runs import lab_of_functions

    sys.exit(lab_of_functions.main(*sys.argv[1:]))
