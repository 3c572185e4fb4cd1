"""Disks that are truly full: of a run, of the store, of a report; what is said and what is left."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.killing import differences
from tests.support.runs import small_disk
from tests.support.runs.lab_run import CELLS, LabRun, contents

pytestmark = pytest.mark.timeout(1800)  # on a machine that does much else
DISK_BYTES = 64 << 20


def on_small_disk(how: str, tmp_path: Path, room_bytes: int) -> Any:
    """Return what the program tells that is run where a folder is such a disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    module = "tests.lab.disturbed.programs.full_disk"
    words = [sys.executable, "-m", module, how, str(disk), str(tmp_path), str(room_bytes)]
    printed = small_disk.run(disk, DISK_BYTES, words, 1500)
    assert not list(disk.iterdir())  # of this namespace: it was never written to
    return json.loads(printed)


def cells_bytes(run: LabRun) -> int:
    """Return how much a run's cells take of a disk."""
    return sum(
        path.stat().st_blocks * 512 for path in run.folder.glob("cells/**/*") if path.is_file()
    )


def test_a_full_disk_ends_a_run_with_what_to_free_and_room_lets_it_go_on(
    undisturbed: LabRun, wanted: dict[str, bytes], tmp_path: Path,
    machine: Callable[[], list[str]],
) -> None:  # fmt: skip
    told = on_small_disk("run", tmp_path, cells_bytes(undisturbed) // 2)
    assert machine() == []
    assert 1 <= told["finished"] < CELLS
    assert told["left"] == []
    folder = f"{tmp_path}/disk/results/"
    assert f"{tmp_path}/disk" in told["said"]
    assert "the disk is full: got " in told["said"]
    assert f"groundtruth gc {folder}" in told["said"]
    assert f"then go on with: groundtruth resume {folder}" in told["said"]
    assert differences(wanted, contents(tmp_path / "ended")) == []


def test_a_full_store_fails_no_cell_and_holds_nothing_half(
    undisturbed: LabRun, wanted: dict[str, bytes], tmp_path: Path,
    machine: Callable[[], list[str]],
) -> None:  # fmt: skip
    told = on_small_disk("store", tmp_path, cells_bytes(undisturbed) // 2)
    assert machine() == []
    full, room = told["full"], told["room"]
    words = f"cells cannot be kept in the store, {tmp_path}/disk/store: No space left on device"
    assert words in full["said"]
    assert "groundtruth gc --older DAYS" in full["said"]
    assert 1 <= full["evidence"] < CELLS
    assert (full["stored"], room["stored"]) == (0, full["evidence"])
    assert room["evidence"] == CELLS
    assert [one["left"] + one["damage"] for one in (full, room)] == [[], []]
    for name in ("full", "room"):
        (run,) = (tmp_path / name).glob("results/2*")
        assert differences(wanted, contents(run)) == []


def test_a_report_that_finds_no_room_says_what_to_free_and_the_old_one_stays(
    undisturbed: LabRun, wanted: dict[str, bytes], tmp_path: Path,
    machine: Callable[[], list[str]],
) -> None:  # fmt: skip
    folder = undisturbed.folder
    shutil.copytree(folder, tmp_path / "finished" / folder.name)
    told = on_small_disk("report", tmp_path, 16 << 10)
    assert machine() == []
    there = f"{tmp_path}/disk/results/{folder.name}"
    assert f"groundtruth gc {there}" in told["said"]
    assert "finished cells are kept" in told["said"]
    assert told["left"] == []
    for name in ("between", "ended"):
        assert differences(wanted, contents(tmp_path / name)) == []
