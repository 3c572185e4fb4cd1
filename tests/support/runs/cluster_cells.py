"""Cells that run on a cluster of a test: what they do, and campaigns of them."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import signal
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil

from model.cell import Cell, cell_id
from model.errors import RunError
from testbed.campaign import attempts
from testbed.campaign.run_cells import Outcome, Part, Progress, run_parts
from testbed.cluster import address
from testbed.cluster.engine import Cluster
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell
from tests.support.runs import clusters

#: Much more than it takes, also on a slow machine that does much else.
WITHIN_S = 240.0


def planned(count: int, first: int = 1) -> list[PlannedCell]:
    cells = [
        dataclasses.replace(wireless_cell(seed=seed), lab=FakeLab().describe("7.3"))
        for seed in range(first, first + count)
    ]
    return [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]


def until(what: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def _note(begun: Path, cell: Cell) -> None:
    """Leave a file that tells that a cell began."""
    (begun / f"{cell.seed}-{uuid.uuid4().hex}").touch()


@dataclasses.dataclass(frozen=True)
class Act:
    """What cells do: tell that they began, and wait until they may go on, if there is such."""

    begun: Path
    gate: Path | None = None
    fails: int = 0

    def __call__(self, cell: Cell, folder: Path) -> None:
        _note(self.begun, cell)
        until(lambda: self.gate is None or self.gate.exists())
        if cell.seed == self.fails:
            (folder / "raw").mkdir()
            raise RunError("it fails")
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class Full:
    """Cells that find no room in the process that has begun the one with this seed."""

    begun: Path
    by: int

    def __call__(self, cell: Cell, folder: Path) -> None:
        _note(self.begun, cell)
        mark = self.begun.parent / f"full-{os.getpid()}"
        others = [one for one in self.begun.parent.glob("full-*") if one != mark]
        if mark.exists() or (cell.seed == self.by and not others):
            mark.touch()
            raise OSError(errno.ENOSPC, "no space left")
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class Ends:
    """Cells of which the one with this seed ends the process that runs it."""

    begun: Path
    seed: int

    def __call__(self, cell: Cell, folder: Path) -> None:
        _note(self.begun, cell)
        if cell.seed == self.seed:
            os.kill(os.getpid(), signal.SIGKILL)
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class EndsAll:
    """Cells of which the one with this seed ends all workers of a scheduler; the others last."""

    begun: Path
    seed: int
    here: str

    def __call__(self, cell: Cell, folder: Path) -> None:
        _note(self.begun, cell)
        time.sleep(1.0)
        if cell.seed == self.seed:
            named = [one for one in psutil.process_iter(["cmdline"])
                     if self.here in (one.info["cmdline"] or ())]  # fmt: skip
            beside = [worker for one in named for worker in clusters.worker_processes(one)]
            for one in sorted(beside, key=lambda one: one.pid == os.getpid()):  # itself last
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class FullOnce:
    """Cells: the first finds no room the first time, the second waits until it may go on."""

    begun: Path
    gate: Path

    def __call__(self, cell: Cell, folder: Path) -> None:
        is_first = not list(self.begun.glob(f"{cell.seed}-*"))
        _note(self.begun, cell)
        if cell.seed == 1 and is_first:
            raise OSError(errno.ENOSPC, "no space left")
        until(lambda: cell.seed == 1 or self.gate.exists())
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
