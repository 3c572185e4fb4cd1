"""The smallest run through the command: one point of a study, on a lab that boots nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from model.cell import Cell
from model.errors import RunError
from testbed.command.runs import plans
from tests.support.fake_lab import write_recorded
from tests.support.study_file import WIRELESS

#: One point, so that a run is one calibration and as many measuring cells as seeds.
SWEEP = "[0.8 %, 0.9 %, 1 %, 1.5 %, 2 %, 2.5 %, 3 %]"
STUDY = (
    WIRELESS[: WIRELESS.index("published:")].replace(SWEEP, "[1 %]")
    + (WIRELESS[WIRELESS.index("assumptions:") :])
)


class Broken:
    """A lab whose cells fail while it is switched on."""

    def __init__(self) -> None:
        self.seeds: set[int] = set()

    def __call__(self, cell: Cell, folder: Path) -> None:
        if cell.seed in self.seeds and cell.purpose == "measure":
            raise RunError("the lab's kernel panicked", where=f"cell {folder.name}")
        write_recorded(cell, folder)


@pytest.fixture
def broken() -> Broken:
    return Broken()


def choices(reps: int | Literal["auto"]) -> plans.Choices:
    return plans.Choices(
        reps=reps, lab="virtual", kernel="7.3", jobs=1, hosts="", pcap=False, telemetry=True
    )
