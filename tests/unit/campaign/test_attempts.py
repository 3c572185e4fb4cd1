"""Cells that fail for the machine's sake are tried again; what every attempt left is kept."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model import plain_files, run_folder
from model.cell import Cell, cell_id
from model.errors import (
    GroundtruthError,
    LateError,
    MachineError,
    ParseError,
    RunError,
    VerifyError,
)
from testbed.campaign import attempts
from testbed.campaign.run_cells import Outcome, Part, Progress, run_parts
from testbed.machine import room
from testbed.machine.room import FullDiskError
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell

pytestmark = pytest.mark.usefixtures("cells_here")

CELLS = [
    PlannedCell(id=cell_id(cell), cell=cell)
    for cell in (wireless_cell(seed=seed) for seed in (1, 2, 3))
]
SECOND = CELLS[1].id


class Reports(list[dict[str, Any]]):
    """Remembers how far each report says the campaign is."""

    def __call__(self, progress: Progress) -> None:
        self.append({**vars(progress)})


class Failing:
    """Fails the second cell so many times, and leaves what it had recorded by then."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.left, self.tried = error, times, 0

    def __call__(self, cell: Cell, folder: Path) -> None:
        if cell.seed == 2:
            self.tried += 1
            if self.left:
                self.left -= 1
                (folder / "env.json").write_text(json.dumps({"attempt": self.tried}))
                raise self.error
        write_recorded(cell, folder)


def run(
    folder: Path, act: Callable[[Cell, Path], object], retries: int = attempts.RETRIES
) -> tuple[Outcome, Reports]:
    reports = Reports()
    part = Part(run=folder, cells=CELLS, lab=FakeLab(act))
    (outcome,) = run_parts([part], jobs=1, report=reports, retries=retries)
    return outcome, reports


def kept(run: Path) -> dict[str, dict[str, Any]]:
    """Return what each failed attempt left: the lab's words, and why it failed."""
    return {
        str(path.parent.relative_to(run)): {
            **json.loads((path.parent / "env.json").read_text()),
            **json.loads(path.read_text()),
        }
        for path in run.rglob(run_folder.FAILURE)
    }


OF_THE_MACHINE = [
    MachineError("killed"), OSError(errno.ENOMEM, "no memory"), PermissionError("no"),
]  # fmt: skip
OF_THE_CELL = [
    RunError("the agent failed"), ParseError("not JSON"), VerifyError("another delay"),
    LateError("late"), GroundtruthError("whatever"),
]  # fmt: skip


@pytest.mark.parametrize("error", OF_THE_MACHINE, ids=repr)
def test_what_the_machine_spoils_is_tried_again_and_its_evidence_kept(
    tmp_path: Path, error: Exception
) -> None:
    act = Failing(error, times=2)
    outcome, reports = run(tmp_path, act)
    assert outcome == Outcome(finished_cells=3, failures=())
    assert act.tried == 1 + attempts.RETRIES == 3
    assert kept(tmp_path) == {
        f"failed/{SECOND}/attempt-{n}": {"attempt": n, "schema": 1, "message": str(error)}
        for n in (1, 2)
    }
    last = reports[-1]
    assert (last["done_cells"], last["failed_cells"], last["retried_cells"]) == (3, 0, 0)
    assert last["said"] == (f"to be tried again: {error}",)
    assert max(one["retried_cells"] for one in reports) == 1


def test_after_so_many_tries_it_has_failed_and_says_how_often(tmp_path: Path) -> None:
    act = Failing(MachineError("killed"), times=9)
    outcome, reports = run(tmp_path, act)
    words = f"killed (tried 3 times: failed/{SECOND})"
    assert outcome == Outcome(finished_cells=2, failures=((SECOND, words),))
    assert act.tried == 3
    assert sorted(kept(tmp_path)) == [
        f"cells/{SECOND}", *(f"failed/{SECOND}/attempt-{n}" for n in (1, 2))
    ]  # fmt: skip
    # The last one stays where reports look for what a cell left.
    assert kept(tmp_path)[f"cells/{SECOND}"] == {"attempt": 3, "schema": 1, "message": words}
    assert (reports[-1]["failed_cells"], reports[-1]["retried_cells"]) == (1, 0)


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_it_is_tried_again_as_often_as_is_asked_for(tmp_path: Path, retries: int) -> None:
    act = Failing(MachineError("killed"), times=9)
    outcome, _ = run(tmp_path, act, retries)
    assert [failed for failed, _ in outcome.failures] == [SECOND]
    assert act.tried == 1 + retries
    assert len(list((tmp_path / run_folder.FAILED).glob("*/*"))) == retries


@pytest.mark.parametrize("error", OF_THE_CELL, ids=repr)
def test_what_fails_by_itself_is_not_tried_again(tmp_path: Path, error: Exception) -> None:
    act = Failing(error, times=9)
    outcome, _ = run(tmp_path, act)
    assert outcome == Outcome(finished_cells=2, failures=((SECOND, str(error)),))
    assert act.tried == 1
    assert list(kept(tmp_path)) == [f"cells/{SECOND}"]


def test_what_a_failed_cell_left_is_kept_when_its_run_goes_on(tmp_path: Path) -> None:
    for number in (1, 2):
        run(tmp_path, Failing(RunError(f"failure {number}"), times=1))
    outcome, _ = run(tmp_path, write_recorded)
    assert outcome == Outcome(finished_cells=3, failures=())
    assert {place: one["message"] for place, one in kept(tmp_path).items()} == {
        f"failed/{SECOND}/attempt-1": "failure 1", f"failed/{SECOND}/attempt-2": "failure 2"
    }  # fmt: skip
    assert run_folder.FAILURE not in {
        path.name for path in run_folder.cell_folder(tmp_path, SECOND).iterdir()
    }


def test_what_was_cut_short_with_its_run_is_no_failed_attempt(tmp_path: Path) -> None:
    stale = run_folder.cell_folder(tmp_path, SECOND) / "raw" / "stale.json"
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    run(tmp_path, write_recorded)
    assert not stale.exists()
    assert not (tmp_path / run_folder.FAILED).exists()


def full() -> RunError:
    error = RunError("cannot prepare a cell")
    error.__cause__ = OSError(errno.EDQUOT, "quota")
    return error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "disk full"), full()], ids=repr)
def test_a_full_disk_ends_the_campaign_and_is_no_failure_of_the_cell(
    tmp_path: Path, error: Exception
) -> None:
    act = Failing(error, times=1)
    with pytest.raises(FullDiskError, match=r"the disk is full: got .* free; ") as caught:
        run(tmp_path, act)
    assert caught.value.where == str(tmp_path)
    assert not list(tmp_path.rglob(run_folder.FAILURE))
    outcome, reports = run(tmp_path, act)
    assert outcome == Outcome(finished_cells=3, failures=())
    assert reports[0]["kept_cells"] + reports[0]["total_cells"] == 3
    assert not (tmp_path / run_folder.FAILED).exists()
    undisturbed, _ = run(tmp_path / "other", write_recorded)
    assert undisturbed.finished_cells == 3
    for one in CELLS:
        done = [
            (run_folder.cell_folder(place, one.id) / run_folder.DONE).read_bytes()
            for place in (tmp_path, tmp_path / "other")
        ]
        assert done[0] == done[1]


def test_a_lab_that_fails_where_hardly_anything_is_left_met_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LEAST_FREE_BYTES", 1 << 62)
    with pytest.raises(FullDiskError, match=r"free; the agent failed"):
        run(tmp_path, Failing(RunError("the agent failed"), times=1))
    outcome, _ = run(tmp_path, Failing(VerifyError("another delay"), times=1))
    assert [why for _, why in outcome.failures] == ["another delay"]


def test_a_disk_that_takes_no_words_fails_the_cell_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = plain_files.write

    def broken(path: Path, content: bytes, **options: Any) -> None:
        if path.name == run_folder.FAILURE:
            raise OSError(errno.EROFS, "read-only")
        write(path, content, **options)

    monkeypatch.setattr(plain_files, "write", broken)
    outcome, _ = run(tmp_path, Failing(OSError(errno.EIO, "broken"), times=9))
    assert [failed for failed, _ in outcome.failures] == [SECOND]
