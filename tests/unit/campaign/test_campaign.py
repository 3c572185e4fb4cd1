"""A campaign keeps what is finished, tells failures apart, counts right, and stops when told."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from model.cell import Cell, cell_id
from model.errors import ParseError, RunError
from testbed.campaign.run_cells import Outcome, Progress, raise_if_failed, run_cells, unfinished
from testbed.labs.contract.lab import Ran
from testbed.machine import workers
from testbed.planning.plan import CALIBRATION_VIRTUAL_S, PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell


def planned(count: int) -> list[PlannedCell]:
    """Return cells with seeds 1, 2, ...; the first one calibrates."""
    cells = [
        wireless_cell(seed=seed, purpose="calibrate" if seed == 1 else "measure")
        for seed in range(1, count + 1)
    ]
    return [PlannedCell(id=cell_id(cell), cell=cell) for cell in cells]


class Reports(list[Progress]):
    """Remembers each report as it was."""

    def __call__(self, progress: Progress) -> None:
        self.append(copy.copy(progress))


def nothing(_: Progress) -> None:
    pass


def failing(*seeds: int) -> Callable[[Cell, Path], None]:
    def act(cell: Cell, folder: Path) -> None:
        if cell.seed in seeds:
            raise RunError(f"seed {cell.seed} fails")
        write_recorded(cell, folder)

    return act


@dataclass(frozen=True)
class Act:
    """What cells do in processes of their own, which leave their ids and cores in a folder."""

    begun: Path
    together: int = 1
    raises: Exception | None = None
    by_seed: int = 0
    killed: int = 0

    def __call__(self, cell: Cell, folder: Path) -> None:
        cores = " ".join(map(str, sorted(os.sched_getaffinity(0))))
        (self.begun / f"{cell.seed}").write_text(f"{os.getpid()}: {cores}")
        deadline_s = time.monotonic() + 20
        while len(list(self.begun.iterdir())) < self.together:  # so many run at once
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        if cell.seed == self.killed:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.raises and self.by_seed in (0, cell.seed):
            raise self.raises
        write_recorded(cell, folder)

    def processes(self) -> dict[int, set[int]]:
        """Return the processes there were, and what cores each had."""
        lines = [path.read_text().split(": ") for path in self.begun.iterdir()]
        return {int(pid): set(map(int, cores.split())) for pid, cores in lines}


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """Return a folder in which cells tell that they began."""
    folder = tmp_path / "begun"
    folder.mkdir()
    return folder


def gone(processes: Iterable[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in processes)


@pytest.mark.usefixtures("cells_here")
def test_all_cells_run_and_are_counted(tmp_path: Path) -> None:
    cells, reports, lab = planned(4), Reports(), FakeLab()
    outcome = run_cells(tmp_path, cells, lab, jobs=2, report=reports)
    assert outcome == Outcome(finished_cells=4, failures=())
    assert sorted(lab.ran) == [1, 2, 3, 4]
    assert unfinished(tmp_path, cells) == []
    total_s = CALIBRATION_VIRTUAL_S + 3 * 100
    assert [(r.done_cells, r.kept_cells, r.failed_cells) for r in reports] == [
        (done, 0, 0) for done in range(5)
    ]
    assert {(r.total_cells, r.total_virtual_s) for r in reports} == {(4, total_s)}
    assert (reports[0].done_virtual_s, reports[-1].done_virtual_s) == (0, total_s)


@pytest.mark.usefixtures("cells_here")
def test_failures_are_kept_apart_and_only_they_run_again(tmp_path: Path) -> None:
    cells, reports = planned(5), Reports()
    outcome = run_cells(tmp_path, cells, FakeLab(failing(2, 4)), jobs=1, report=reports)
    assert outcome == Outcome(
        finished_cells=3,
        failures=((cells[1].id, "seed 2 fails"), (cells[3].id, "seed 4 fails")),
    )
    assert unfinished(tmp_path, cells) == [cells[1], cells[3]]
    assert (reports[-1].done_cells, reports[-1].failed_cells) == (3, 2)
    assert reports[-1].first_failure in {why for _, why in outcome.failures}
    assert reports[-1].done_virtual_s == CALIBRATION_VIRTUAL_S + 2 * 100

    again, lab = Reports(), FakeLab()
    outcome = run_cells(tmp_path, cells, lab, jobs=1, report=again)
    assert outcome == Outcome(finished_cells=5, failures=())
    assert lab.ran == [2, 4]
    assert [(r.total_cells, r.done_cells, r.kept_cells) for r in again] == [
        (2, 0, 3),
        (2, 1, 3),
        (2, 2, 3),
    ]
    assert again[-1].total_virtual_s == again[-1].done_virtual_s == 200


@pytest.mark.usefixtures("cells_here")
def test_a_finished_campaign_runs_nothing(tmp_path: Path) -> None:
    cells, lab = planned(2), FakeLab()
    run_cells(tmp_path, cells, lab, jobs=2, report=nothing)
    assert run_cells(tmp_path, cells, lab, jobs=2, report=nothing).finished_cells == 2
    assert sorted(lab.ran) == [1, 2]


def test_no_cells_are_done_at_once(tmp_path: Path) -> None:
    assert run_cells(tmp_path, [], FakeLab(), jobs=2, report=nothing) == Outcome(
        finished_cells=0, failures=()
    )


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_cells_at_once_as_asked_for(tmp_path: Path, begun: Path, jobs: int) -> None:
    act = Act(begun, together=jobs)
    outcome = run_cells(tmp_path, planned(6), FakeLab(act), jobs=jobs, report=nothing)
    assert outcome == Outcome(finished_cells=6, failures=())
    assert len(act.processes()) == jobs
    assert gone(act.processes())


def test_each_process_keeps_to_one_core_and_the_caller_to_all(tmp_path: Path, begun: Path) -> None:
    before, act = os.sched_getaffinity(0), Act(begun)
    run_cells(tmp_path, planned(3), FakeLab(act), jobs=1, report=nothing)
    ((pid, cores),) = act.processes().items()
    assert pid != os.getpid()
    assert len(cores) == 1
    assert cores < before or cores == before
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (RunError("no"), ""),
        (ParseError("no"), ""),
        # Of the machine: tried again, and what each try left is kept.
        (PermissionError("no"), " (tried 3 times: failed/{})"),
    ],
    ids=["RunError", "ParseError", "PermissionError"],
)
def test_expected_errors_fail_the_cell_only(
    tmp_path: Path, begun: Path, error: Exception, more: str
) -> None:
    cells, lab = planned(3), FakeLab(Act(begun, raises=error, by_seed=2))
    outcome = run_cells(tmp_path, cells, lab, jobs=2, report=nothing)
    said = f"no{more.format(cells[1].id)}"
    assert outcome == Outcome(finished_cells=2, failures=((cells[1].id, said),))


def test_a_programming_error_ends_the_campaign(tmp_path: Path, begun: Path) -> None:
    act = Act(begun, raises=ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run_cells(tmp_path, planned(3), FakeLab(act), jobs=1, report=nothing)
    assert len(act.processes()) == 1
    assert gone(act.processes())


class Waiting(FakeLab):
    """A lab that runs until it is told to end, and tells that it was."""

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        super().run(cell, folder, cancelled)
        deadline_s = time.monotonic() + 60
        while not cancelled.is_set():
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        (folder / "ended").touch()
        raise InterruptedError("cancelled")


def test_an_interrupt_stops_the_labs_and_keeps_what_is_finished(
    tmp_path: Path, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, act = planned(6), Act(begun)
    run_cells(tmp_path, cells[:2], FakeLab(), jobs=1, report=nothing)

    def interrupt(ready: list[Any], timeout_s: float | None = None) -> list[Any]:
        if len(act.processes()) == 2 and timeout_s == workers.WAKE_S:
            raise KeyboardInterrupt
        return connection.wait(ready, timeout_s)

    monkeypatch.setattr(workers, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_cells(tmp_path, cells, Waiting(act), jobs=2, report=nothing)
    # Two were running and saw the event; the other two never began.
    ended = [path.parent.parent.name for path in tmp_path.glob("cells/*/*/ended")]
    assert sorted(ended) == sorted(planned.id for planned in cells[2:4])
    assert len(act.processes()) == 2
    assert gone(act.processes())
    assert unfinished(tmp_path, cells) == cells[2:]


def test_an_error_while_reporting_stops_the_labs_too(tmp_path: Path, begun: Path) -> None:
    def report(progress: Progress) -> None:
        if progress.done_cells or progress.failed_cells:
            raise BrokenPipeError

    act = Act(begun, raises=RunError("at once"))
    with pytest.raises(BrokenPipeError):
        run_cells(tmp_path, planned(4), FakeLab(act), jobs=1, report=report)
    assert gone(act.processes())


def test_a_cell_whose_process_is_killed_fails_alone_and_after_three_tries(
    tmp_path: Path, begun: Path
) -> None:
    cells, act = planned(4), Act(begun, killed=2)
    outcome = run_cells(tmp_path, cells, FakeLab(act), jobs=1, report=nothing)
    assert outcome.finished_cells == 3
    ((failed, why),) = outcome.failures
    assert failed == cells[1].id
    assert why.startswith(f"cell {failed}: the process that worked on it was ended from outside: ")
    assert why.endswith(f" (tried 3 times: failed/{failed})")
    kept = sorted(path.parent.name for path in tmp_path.glob(f"failed/{failed}/*/failure.json"))
    assert kept == ["attempt-1", "attempt-2"]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (1, "1 cell failed:\n  m0 (5 finished"),
        (3, "3 cells failed:\n  m0\n  m1\n  m2 (5 finished"),
        (5, "5 cells failed:\n  m0\n  m1\n  m2\n  and 2 more (5 finished"),
    ],
)
def test_failures_are_told_with_how_to_go_on(count: int, shown: str) -> None:
    outcome = Outcome(finished_cells=5, failures=tuple((f"id{i}", f"m{i}") for i in range(count)))
    with pytest.raises(RunError) as caught:
        raise_if_failed(outcome, Path("results/x"))
    assert str(caught.value) == (f"{shown} cells kept; go on with: groundtruth resume results/x)")
    assert caught.value.exit_status == 3


def test_nothing_is_raised_when_nothing_failed() -> None:
    raise_if_failed(Outcome(finished_cells=1, failures=()), Path("x"))


def test_a_folder_without_done_is_unfinished(tmp_path: Path) -> None:
    cells = planned(2)
    for cell in cells:
        run_folder.cell_folder(tmp_path, cell.id).mkdir(parents=True)
    (run_folder.cell_folder(tmp_path, cells[0].id) / run_folder.DONE).touch()
    (run_folder.cell_folder(tmp_path, cells[1].id) / ".DONE").touch()
    assert unfinished(tmp_path, cells) == [cells[1]]


@pytest.mark.usefixtures("cells_here")
def test_the_order_changes_no_byte_of_any_cell(tmp_path: Path) -> None:
    cells, found = planned(4), []
    for name, order in (("a", cells), ("b", cells[::-1])):
        run_cells(tmp_path / name, order, FakeLab(), jobs=1, report=nothing)
        found.append({
            str(path.relative_to(tmp_path / name)): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        })  # fmt: skip
    assert found[0] == found[1]
    assert len([name for name in found[0] if name.endswith(run_folder.DONE)]) == 4
