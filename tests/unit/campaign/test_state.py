"""How far a run is, from its folder alone: while it runs, after a kill, and when all is done."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from model.errors import ParseError
from testbed.campaign import new_runs, saved_runs, state
from testbed.campaign.state import How, RunState
from testbed.labs import registry
from testbed.planning.findings import find
from testbed.planning.plan import Plan, PlannedCell, make_plan
from tests.support.study_file import study

LAB = {"name": "virtual", "kernel": "7.3"}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(study(), seeds=[1, 2], lab=LAB)


@pytest.fixture
def run(tmp_path: Path, plan: Plan) -> Path:
    return new_runs.create(tmp_path, plan, find(plan.study, seeds=plan.seeds), ["groundtruth"])


def write(path: Path, text: str, at_s: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (at_s, at_s))


def begin(run: Path, planned: PlannedCell, at_s: float) -> Path:
    folder = run_folder.cell_folder(run, planned.id)
    write(folder / run_folder.CELL, "{}", at_s)
    return folder


def finish(
    run: Path, planned: PlannedCell, began_s: float, took_s: float, timing: str = '{"wall_s": 1}'
) -> None:
    folder = begin(run, planned, began_s)
    write(folder / run_folder.TIMING, timing, began_s + took_s)
    # Parsing writes it anew, years later: how long the cell took is not told by it.
    write(folder / run_folder.DONE, "", began_s + 1e8)


def hows(found: RunState) -> dict[How, int]:
    return {how: found.number(how) for how in state.CALLED if found.number(how)}


def test_a_run_that_nobody_has_begun(run: Path, plan: Plan) -> None:
    found = state.read(run)
    assert hows(found) == {"left": 21}
    assert (found.held, found.is_finished, found.failures()) == (False, False, [])
    assert [one.planned.id for one in found.cells] == [planned.id for planned in plan.cells]
    assert {name: len(cells) for name, cells in found.points().items()} == {
        f"loss_frac={loss}": 3 for loss in (0.008, 0.009, 0.01, 0.015, 0.02, 0.025, 0.03)
    }
    assert state.remaining_s([found]) is None


def test_each_cell_is_what_its_folder_says(run: Path, plan: Plan) -> None:
    cells, now_s = plan.cells, time.time()
    finish(run, cells[0], now_s - 900, 30)
    stored = '{"wall_s": 0.0, "from_store": {"evidence": "e", "parsed": false, "wall_s": 9}}'
    finish(run, cells[1], now_s - 800, 1, stored)
    folder = begin(run, cells[2], now_s - 700)
    write(folder / run_folder.FAILURE, '{"schema": 1, "message": "no [luck]"}', now_s - 600)
    (run_folder.failed_attempts(run, cells[2].id) / "attempt-1").mkdir(parents=True)
    begin(run, cells[3], now_s - 500)  # cut short: nobody works on it
    found = state.read(run)
    assert hows(found) == {"done": 1, "stored": 1, "failed": 1, "left": 18}
    assert found.cells[0].took_s == pytest.approx(30)
    (failed,) = found.failures()
    assert (failed.why, failed.attempts, failed.planned.id) == ("no [luck]", 1, cells[2].id)


def test_while_a_process_runs_it_cells_are_kept_done_or_running(run: Path, plan: Plan) -> None:
    cells, now_s = plan.cells, time.time()
    finish(run, cells[0], now_s - 9e6, 30)  # before this process began
    begin(run, cells[1], now_s - 9e6)  # cut short by then
    begin(run, cells[2], now_s)
    with saved_runs.locked(run):
        finish(run, cells[3], now_s, 1)
        found = state.read(run)
        with saved_runs.locked(run.parent):  # looking has taken nobody's lock
            pass
    assert found.held
    assert hows(found) == {"kept": 1, "running": 1, "done": 1, "left": 18}
    assert found.cells[2].took_s < 60
    assert not state.read(run).held


def expected_s(planned: PlannedCell) -> float:
    return registry.named("virtual").cell_wall_s(planned.cell)


def test_what_is_left_takes_as_long_as_cells_took_so_far(run: Path, plan: Plan) -> None:
    cells, now_s = plan.cells, time.time()
    for planned in cells[:9]:  # this machine takes twice what was expected
        finish(run, planned, now_s - 9e6, 2 * expected_s(planned))
    left_s = sum(2 * expected_s(planned) for planned in cells[9:])
    assert state.remaining_s([state.read(run)]) == pytest.approx(left_s)
    for planned in cells[9:11]:
        begin(run, planned, now_s + 9e6)
    with saved_runs.locked(run):
        found = state.read(run)
    # Two at once, of which nothing is done yet.
    assert state.remaining_s([found]) == pytest.approx(left_s / 2)
    assert state.remaining_s([found, found]) == pytest.approx(left_s / 2)


def test_a_cell_that_came_from_elsewhere_took_as_long_as_its_lab_ran(run: Path, plan: Plan) -> None:
    finish(run, plan.cells[0], time.time(), 0.1, '{"wall_s": 36.5}')
    assert state.read(run).cells[0].took_s == pytest.approx(36.5)


def test_a_run_that_has_finished(run: Path, plan: Plan) -> None:
    for planned in plan.cells:
        finish(run, planned, time.time() - 900, 30)
    found = state.read(run)
    assert (hows(found), found.is_finished) == ({"done": 21}, True)
    assert state.all_finished([found])
    assert state.remaining_s([found]) == 0


def lost(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_text('{"wall_')


def odd(path: Path) -> None:
    path.write_text("[]")


def word(path: Path) -> None:
    path.write_text('{"wall_s": "1", "message": 2}')


@pytest.mark.parametrize("change", [lost, cut, odd, word])
def test_what_changes_while_it_is_looked_at_is_told_somehow(
    run: Path, plan: Plan, change: Callable[[Path], None]
) -> None:
    finish(run, plan.cells[0], time.time() - 900, 30)
    folder = begin(run, plan.cells[1], time.time() - 900)
    write(folder / run_folder.FAILURE, '{"message": "no"}', 0)
    change(run_folder.cell_folder(run, plan.cells[0].id) / run_folder.TIMING)
    change(folder / run_folder.FAILURE)
    found = state.read(run)
    assert found.number("done") == 1
    assert found.number("failed", "left") == 20


def test_a_process_began_when_it_began_and_not_when_it_was_looked_at() -> None:
    before_s = time.time()
    with subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL) as process:
        after_s = time.time()
        try:
            time.sleep(2.5)
            # The kernel tells when it was booted to the second.
            assert before_s - 1.1 < state._began_s(str(process.pid)) < after_s + 1.1
        finally:
            process.kill()
    assert state._began_s(str(process.pid)) == 0


def test_no_lock_is_known_where_the_kernel_does_not_tell(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "LOCKS", tmp_path / "none")
    with saved_runs.locked(run):
        assert not state.read(run).held


def test_a_run_whose_plan_cannot_be_read_is_named(run: Path) -> None:
    (run / run_folder.PLAN).write_text(json.dumps({"cells": 5}))
    with pytest.raises(ParseError, match="cannot read a run's plan"):
        state.read(run)
