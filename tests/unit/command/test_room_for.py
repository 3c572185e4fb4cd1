"""Disk and memory that are too small for a run are told before anything runs."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from testbed.campaign.study_sets import Found
from testbed.command.cli import command_status
from testbed.command.runs import full_disk, run_and_report
from testbed.machine import room
from testbed.machine.room import FullDiskError
from testbed.store import cells, upkeep
from testbed.store.entries import Entry
from testbed.store.upkeep import Held
from tests.support.fake_lab import FakeLab
from tests.support.said import Said

RUN = ["run", "w.yaml", "--reps", "2", "-j", "2", "-D", "r"]


def test_what_a_run_takes_is_said_by_plan_and_when_it_begins(
    lab: FakeLab, reported: list[Path], said: Said
) -> None:
    assert command_status(["plan", "w.yaml", "--reps", "2", "-j", "2", "--no-sensitivity"]) == 0
    planned = next(line for line in said()[0].splitlines() if " of disk" in line)
    assert planned.startswith("about ")
    assert planned.endswith(" of memory with 2 jobs")
    assert command_status([*RUN, "--no-sensitivity"]) == 0
    assert f"this takes {planned}\n" in said()[1]


@pytest.mark.parametrize(
    ("of", "what", "hint"),
    [
        ("free_bytes", "r: not enough room on the disk", "groundtruth gc RUN"),
        ("available_memory_bytes", "2 cells at once: not enough memory", "--jobs"),
    ],
)
def test_too_little_is_refused_before_anything_is_made(
    of: str, what: str, hint: str, lab: FakeLab, reported: list[Path], said: Said,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(room, of, lambda *_: 1_000_000)
    assert command_status(RUN) == 4
    err = said()[1]
    assert what in err
    assert "got 1.0 MB" in err
    assert hint in err
    assert "--no-check-room" in err
    assert not Path("r").exists()
    assert command_status([*RUN, "--no-check-room"]) == 0
    assert sorted(lab.ran) == [1, 1, 2]


def test_a_disk_that_fills_ends_the_run_with_what_to_free(
    lab: FakeLab, reported: list[Path], said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole, at = lab.act, tmp_path / "r"

    def full(cell: Cell, folder: Path) -> None:
        if cell.seed == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder / "raw"))
        whole(cell, folder)

    monkeypatch.setattr(lab, "act", full)
    assert command_status([*RUN, "-j", "1"]) == 3
    err = said()[1]
    run = (at / "latest").resolve()
    assert ": the disk is full: got " in err
    assert "No space left on device" in err
    assert f"groundtruth gc {Path('r') / run.name} frees " in err
    assert f"then go on with: groundtruth resume {Path('r') / run.name}" in err
    assert reported == []
    monkeypatch.setattr(lab, "act", whole)
    assert command_status(["resume", "r/latest", "-j", "1"]) == 0
    assert len(reported) == 1
    assert len(list(run.glob(f"cells/*/{run_folder.DONE}"))) == 3
    assert not (run / run_folder.FAILED).exists()


@pytest.mark.parametrize("studies", [["w.yaml"], ["w.yaml", "v.yaml"]], ids=["a run", "a set"])
def test_a_report_that_finds_no_room_says_what_to_free(
    studies: list[str], lab: FakeLab, reported: list[Path], said: Said,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    shutil.copy("w.yaml", "v.yaml")

    def full(*_: object, **__: object) -> object:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "r" / "report"))

    def each_full(changed: Mapping[Path, object], jobs: int) -> dict[Path, OSError]:
        return dict.fromkeys(changed, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(run_and_report, "report_run", full)
    monkeypatch.setattr(run_and_report, "write_reports", each_full)
    for words in (
        ["run", *studies, "--reps", "1", "-j", "1", "-D", "r"], ["report", "r/latest"],
        ["resume", "r/latest"],
    ):  # fmt: skip
        assert command_status(words) == 3
        err = said()[1]
        assert ": the disk is full: got " in err
        assert "groundtruth gc " in err
        assert "then go on with: groundtruth resume " in err


def test_a_run_that_goes_on_needs_room_for_what_is_left(
    lab: FakeLab, reported: list[Path], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_status(RUN) == 0
    monkeypatch.setattr(room, "free_bytes", lambda _: 1_000_000)
    assert command_status(["resume", "r/latest", "-j", "1"]) == 0, "nothing is left to run"
    next(Path("r/latest").glob(f"cells/*/{run_folder.DONE}")).unlink()
    assert command_status(["resume", "r/latest", "-j", "1"]) == 4
    assert len(lab.ran) == 3
    assert command_status(["resume", "r/latest", "-j", "1", "--no-check-room"]) == 0
    assert len(lab.ran) == 4


@pytest.mark.parametrize("full", ["run", "scratch"])
def test_the_disk_with_little_room_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    places = {"run": tmp_path / "run", "scratch": tmp_path / "scratch"}
    for place in places.values():
        place.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(places["scratch"]))
    monkeypatch.setattr(room, "has_little", lambda place: place == places[full])
    found = Found(folder=places["run"], runs=(), is_set=False)
    with pytest.raises(FullDiskError) as caught, full_disk.told(found):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.where == str(places[full])


@pytest.mark.parametrize("store", ["there", "/proc"], ids=["on that disk", "on another"])
def test_only_a_store_on_the_full_disk_is_told_to_be_made_smaller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.setenv(cells.VARIABLE, str(tmp_path / store))
    entry = Entry(root=tmp_path / store, kind="tables", key="k")
    held = Held(entry=entry, size_bytes=5_000_000, own_bytes=5_000_000, used_s=0.0)
    monkeypatch.setattr(upkeep, "held", lambda _: iter([held]))
    found = Found(folder=tmp_path, runs=(), is_set=False)
    with pytest.raises(FullDiskError) as caught, full_disk.told(found):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "raw"))
    told = "groundtruth gc --older DAYS frees up to 5.0 MB of the store's"
    assert (told in str(caught.value)) == (store == "there")
