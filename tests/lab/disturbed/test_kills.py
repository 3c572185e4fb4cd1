"""A command whose worker processes are killed again and again, and which is then killed itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from tests.support.killing import differences
from tests.support.runs.lab_run import CELLS, LabRun, at_work, forked_from


@pytest.mark.timeout(1800)  # on a machine that does much else
def test_killed_workers_and_a_killed_command_change_no_byte_and_repeat_no_finished_cell(
    tmp_path: Path, wanted: dict[str, bytes], machine: Callable[[], list[str]]
) -> None:
    run, chance = LabRun(place=tmp_path / "run"), random.Random(1)
    command = run.begin()
    for victims in (at_work, forked_from, at_work):
        run.disturb(command, victims, chance)
    run.until(lambda: len(run.done()) >= 2 and run.another_lab(), command)
    command.kill()
    command.wait()
    assert machine() == []
    assert 2 <= len(run.look()) < CELLS
    run.ended(run.resume())
    assert len(run.look()) == CELLS
    assert differences(wanted, run.contents()) == []
    # What was left of cells whose process was killed is kept apart.
    assert list((run.folder / run_folder.FAILED).glob("*/attempt-1"))
    assert run.left() == []
