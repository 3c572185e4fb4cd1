"""Cells that run on a cluster of a test: what they do, and campaigns of them."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from model.cell import Cell, cell_id
from model.errors import RunError
from testbed.campaign import attempts
from testbed.campaign.run_cells import Outcome, Part, Progress, run_parts
from testbed.cluster import address
from testbed.cluster.engine import Cluster
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell

#: Much more than it takes, also on a slow machine that does much else.
WITHIN_S = 240.0


def planned(count: int, first: int = 1) -> list[PlannedCell]:
    cells = [
        dataclasses.replace(wireless_cell(seed=seed), lab=FakeLab().describe("7.3"))
        for seed in range(first, first + count)
    ]
    return [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]


@dataclasses.dataclass(frozen=True)
class Act:
    """What cells do: tell that they began, and wait until they may go on, if there is such."""

    begun: Path
    gate: Path | None = None
    fails: int = 0

    def __call__(self, cell: Cell, folder: Path) -> None:
        (self.begun / f"{cell.seed}-{uuid.uuid4().hex}").touch()
        deadline_s = time.monotonic() + WITHIN_S
        while self.gate and not self.gate.exists():
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        if cell.seed == self.fails:
            (folder / "raw").mkdir()
            raise RunError("it fails")
        write_recorded(cell, folder)


class Lab(FakeLab):
    """A lab of functions, which remembers nothing: it is on several machines."""

    def __init__(self, act: Callable[[Cell, Path], object]) -> None:
        super().__init__(act)


def run(
    place: Path,
    cells: list[PlannedCell],
    lab: FakeLab,
    report: Callable[[Progress], None] = lambda _: None,
    *,
    use_store: bool = False,
    retries: int = attempts.RETRIES,
) -> Outcome:
    where = address.named()
    assert where is not None
    part = Part(run=place, cells=cells, lab=lab)
    (outcome,) = run_parts(
        [part], jobs=1, report=report, use_store=use_store, elsewhere=Cluster(address=where),
        retries=retries,
    )  # fmt: skip
    return outcome


def until(what: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
