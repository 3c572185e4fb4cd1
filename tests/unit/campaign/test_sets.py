"""Sets of studies: made, found, moved, run as one queue, reported as one page; one may fail."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import DisagreementError, ParseError, RunError, StudyError
from testbed.campaign import manifest, run_cells, saved_runs, study_sets
from testbed.campaign.run_cell import json_text
from testbed.campaign.study_sets import Found
from testbed.command.cli import command_status
from testbed.command.runs import run_and_report
from testbed.command.runs.run_and_report import Errors
from testbed.labs.virtual import virtual_lab
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell
from tests.support.runs.one_point import STUDY
from tests.support.runs.report_run import build_run


@pytest.fixture
def lab(cells_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeLab:
    made = FakeLab()
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", lambda versions, report, check=None: made)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    for name in ("one.yaml", "two, too.yaml"):
        (tmp_path / name).write_text(STUDY)
    return made


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    runs: list[Path] = []

    def report(
        found: Found, changed: dict[Path, object], jobs: int, told: str = "screen"
    ) -> Errors:
        assert told == "screen"
        runs.extend(changed)
        return {}

    monkeypatch.setattr(run_and_report, "report_set", report)
    return runs


RUN = ["run", "one.yaml", "two, too.yaml", "--reps", "2", "-j", "1", "-D", "r"]


def test_two_studies_make_a_set_which_resumes_and_moves(
    lab: FakeLab, reported: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_status(RUN) == 0
    whole = tmp_path / "r" / "latest"
    assert whole.readlink().name.endswith("Z-studies")
    assert json.loads((whole / run_folder.SET).read_text()) == {
        "schema": 1, "studies": ["wireless", "wireless-2"],
    }  # fmt: skip
    # One calibration each, then replicate by replicate, as drawn, over both.
    assert lab.ran == [1, 1, 2, 2, 1, 1]
    assert [run.name for run in reported] == ["wireless", "wireless-2"]

    moved = tmp_path / "else where"
    whole.resolve().rename(moved)
    done = next((moved / "wireless-2" / "cells").glob(f"*/{run_folder.DONE}"))
    done.unlink()
    assert command_status(["resume", str(moved), "-j", "1"]) == 0
    assert len(lab.ran) == 7
    assert done.is_file()
    for words in (["report"], ["parse", "-j", "1"], ["verify", "--cells", "1", "-j", "1"]):
        assert command_status([words[0], str(moved), *words[1:]]) == 0
    said = capsys.readouterr().out
    assert "wireless-2: 1 cell repeated, " in said


def test_one_study_that_fails_is_told_and_the_other_reported(
    lab: FakeLab, reported: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def act(cell: Cell, folder: Path) -> None:
        if folder.parents[2].name == "wireless-2" and cell.purpose == "measure":
            raise RunError("the lab's kernel panicked")
        write_recorded(cell, folder)

    lab.act = act
    assert command_status(RUN) == 3
    assert [run.name for run in reported] == ["wireless", "wireless-2"]
    said = capsys.readouterr().err
    assert "1 of the set's studies went wrong:\n  wireless-2: 2 cells failed:" in said

    shutil.rmtree(tmp_path / "r" / "latest" / "wireless")
    reported.clear()
    lab.act = write_recorded
    assert command_status(["resume", "r/latest", "-j", "1"]) == 3
    assert [run.name for run in reported] == ["wireless-2"]
    assert "wireless/manifest.json: file is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["one.yaml", "./one.yaml"], "STUDY: the same study twice: wanted each study once"),
        ([" "], "STUDY: no study named: wanted a name or file"),
        (["wireless,wired"], "no such study"),
    ],
)
def test_selections_that_cannot_be_run(names: list[str], message: str, lab: FakeLab) -> None:
    with pytest.raises(StudyError, match=message):
        study_sets.check_names(names)


def test_names_of_folders() -> None:
    assert study_sets.folder_names(["a", "b", "a", "a-2", "report", "a"]) == [
        "a", "b", "a-2", "a-2-2", "report-2", "a-3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"studies": []}', '{"studies": ["a", "a"]}', '{"studies": ["../a"]}',
     '{"studies": [".."]}', '{"studies": [1]}', '{"studies": "ab"}',
     study_sets._text([".guest-x"]), study_sets._text([".verify-x"]),  # scratch: left alone
     study_sets._text(["a"], "explain; reboot"), study_sets._text(["a"], "-y"),
     json_text({"schema": 1, "studies": ["a"], "then": ""}),
     json_text({"schema": 1, "studies": ["a"], "then": ["explain"]})],
)  # fmt: skip
def test_what_is_no_set_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / run_folder.SET).write_text(text)
    with pytest.raises(ParseError, match=r"set\.json: cannot read a set"):
        study_sets.find(str(tmp_path))


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/x", ".making-x", "a\0b"])
def test_a_run_is_put_into_its_set_and_nowhere_else(name: str, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "set").mkdir()
    planned: Any = None  # not looked at
    with pytest.raises(StudyError, match="not a folder's name"):
        study_sets.add(tmp_path / "set", name, planned, [], "bisect")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["set", "x"]


def test_a_set_says_which_command_reads_it_and_how_to_go_on(tmp_path: Path) -> None:
    place = tmp_path / "a set"
    place.mkdir()
    quoted = f"'{place}'"
    for then, go_on, next_command in (
        ("", f"groundtruth resume {quoted}", ""),
        (
            "explain",
            f"groundtruth resume {quoted} && groundtruth explain {quoted}",
            f"groundtruth explain {quoted}",
        ),
    ):
        (place / run_folder.SET).write_text(study_sets._text(["one"], then))
        found = study_sets.find(str(place))
        assert (found.then, found.go_on, found.next_command) == (then, go_on, next_command)
        assert found.runs == (place / "one",)


def test_a_set_of_an_older_version_is_read(tmp_path: Path) -> None:
    text = '{\n "schema": 1,\n "studies": [\n  "unchanged",\n  "all"\n ]\n}\n'
    (tmp_path / run_folder.SET).write_text(text)
    found = study_sets.find(str(tmp_path))
    assert [run.name for run in found.runs] == ["unchanged", "all"]
    assert found.then == ""


def test_errors_of_several_studies_are_one_of_the_gravest_kind() -> None:
    differs, failed = DisagreementError("differs"), RunError("failed")
    both = study_sets.together({"a": differs, "b": failed}, "went wrong")
    assert isinstance(both, RunError)
    assert str(both) == "2 went wrong:\n  a: differs\n  b: failed"
    assert study_sets.together({"a": differs}, "x").exit_status == 1
    assert study_sets.together({"a": differs, "b": OSError(28, "full")}, "x").exit_status == 3


def test_parts_advance_evenly_and_keep_their_order(tmp_path: Path) -> None:
    def part(name: str, count: int) -> run_cells.Part:
        cells = [PlannedCell(id=f"{name}{n}", cell=wireless_cell()) for n in range(count)]
        return run_cells.Part(run=tmp_path / name, cells=cells, lab=FakeLab())

    queue = run_cells._queue([part("a", 4), part("b", 2)])
    assert [task.planned.id for task in queue] == ["a0", "a1", "b0", "a2", "a3", "b1"]


def outputs(folder: Path) -> dict[str, bytes]:
    names = ("summary.*", "report/**/*", "*/summary.*", "*/report/**/*")
    files = (path for name in names for path in folder.glob(name) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def build_set(folder: Path, *, started: str) -> Path:
    for name in ("wireless", "wireless-2"):
        run = build_run(folder / name, losses=(0.008, 0.01), seeds=2)
        provenance = {"command": [started], "started": started, "host": {"cpus": len(started)}}
        (run / run_folder.PROVENANCE).write_text(json.dumps(provenance))
    studies = {"schema": 1, "studies": ["wireless", "wireless-2", "gone"]}
    (folder / run_folder.SET).write_text(json_text(studies))
    return folder


def test_a_set_is_reported_to_the_byte_with_a_place_for_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_and_report, "finished", lambda run, cells: [])
    monkeypatch.setattr(saved_runs, "load_cells", _cells_unless_gone)
    folders = []
    for name, started in (("one", "2026-11-20"), ("another", "later")):
        folders.append(build_set(tmp_path / name, started=started))
        for run in folders[-1].glob(f"*/{run_folder.PLAN}"):
            seal(run.parent)
        with pytest.raises(RunError, match=r"gone: .*cannot read"):
            run_and_report.report_found(study_sets.find(str(folders[-1])), jobs=2)
    first, second = (outputs(folder) for folder in folders)
    assert first == second
    found = json.loads(first["summary.json"])
    assert found["studies"][0] == json.loads(first["wireless/summary.json"])
    assert len(found["studies"]) == 2
    assert [one["run"] for one in found["missing"]] == ["gone"]
    page = first["report/index.html"].decode()
    assert "gone" in page
    levels = [int(level) for level in re.findall(r"<h([1-6])\b", page)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def seal(run: Path) -> None:
    """Write the manifest of a run's files as they are."""
    there = [name for name in run_folder.COVERED if (run / name).exists()]
    manifest.write(run, {name: (run / name).read_text() for name in there})


def _cells_unless_gone(run: Path) -> list[PlannedCell]:
    if not run.is_dir():
        raise ParseError("cannot read a run's cells", where=str(run / run_folder.CELLS))
    return []
