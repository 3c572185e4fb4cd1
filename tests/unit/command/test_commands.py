"""Whole runs through the command, on a lab that boots nothing and without the slow report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import MachineError
from reports.store.run import read_study
from testbed.campaign.again import choose
from testbed.command.cli import command_status
from testbed.command.runs import run_and_report
from testbed.command.runs.run_and_report import jobs_or_cores
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.recorded import wireless_cell
from tests.support.runs.one_point import STUDY, Broken
from tests.support.said import Said


def cells_of(run: Path) -> list[Path]:
    return sorted((run / "cells").iterdir())


def test_a_run_from_study_to_report_and_back(
    lab: FakeLab, reported: list[Path], said: Said, tmp_path: Path
) -> None:
    assert command_status(["run", "w.yaml", "--reps", "2", "-j", "2", "-D", "r"]) == 0
    _, err = said()
    run = Path("r", (tmp_path / "r" / "latest").readlink())
    assert sorted(lab.ran) == [1, 1, 2]
    assert len(cells_of(run)) == 3
    assert all((cell / run_folder.DONE).is_file() for cell in cells_of(run))
    assert json.loads((run / run_folder.WARNINGS).read_text()) == []
    assert f"run folder: {run}" in err.splitlines()

    # Nothing is left to resume; what whoever was killed left beside cells goes.
    for prefix in run_folder.SCRATCH:
        (run / f"{prefix}left").mkdir()
    for words in (["resume", "r/latest"], ["report", "r/latest"]):
        assert command_status(words) == 0
    assert reported == [run, run.resolve(), run.resolve()]
    assert len(lab.ran) == 3
    assert [path.name for path in run.glob(".*")] == []
    said()

    assert command_status(["verify", "r/latest", "--cells", "0"]) == 0
    assert said()[0] == "3 cells repeated, every file the same to the byte\n"
    assert len(lab.ran) == 6
    assert [path.name for path in run.glob(".verify-*")] == []

    path = cells_of(run)[0] / run_folder.CELL
    path.write_text(path.read_text() + "\n")
    assert command_status(["verify", "r/latest", "--cells", "0"]) == 1
    assert "cell.json: " in said()[1]
    assert [path.name for path in run.glob(".verify-*")] == []


def kernels_of(run: Path) -> list[str]:
    cells = [json.loads((cell / run_folder.CELL).read_text()) for cell in cells_of(run)]
    return sorted(f"{cell['purpose']} {cell['lab']['kernel']}" for cell in cells)


def test_a_run_on_two_kernels_and_on_the_one_that_is_asked_for(
    lab: FakeLab, reported: list[Path], said: Said, tmp_path: Path
) -> None:
    alternative = '    alternatives: [{kernel: "6.12"}]\n'
    Path("w.yaml").write_text(STUDY.replace("  - id: payload\n", f"{alternative}  - id: payload\n"))
    assert command_status(["run", "w.yaml", "--reps", "1", "-j", "1", "-D", "two"]) == 0
    run = tmp_path / "two" / "latest"
    both = ["calibrate 6.12", "calibrate 7.3", "measure 6.12", "measure 7.3"]
    assert kernels_of(run) == both
    (next(run.glob("cells/*")) / run_folder.DONE).unlink()
    assert command_status(["resume", "two/latest", "-j", "1"]) == 0
    assert len(lab.ran) == 5
    said()
    assert command_status(["verify", "two/latest", "--cells", "0"]) == 0
    assert "4 cells repeated, " in said()[0]

    assert command_status(["run", "w.yaml", "--reps", "1", "--kernel", "6.12", "-D", "one"]) == 0
    assert kernels_of(tmp_path / "one" / "latest") == ["calibrate 6.12", "measure 6.12"]
    err = said()[1]
    assert "kernel 6.12 stands in for all that hosts and studies name\n" in err
    assert "not tried, because of --kernel: kernel 6.12\n" in err


def test_a_scaled_run_is_scaled_when_it_is_resumed(
    lab: FakeLab, reported: list[Path], said: Said, tmp_path: Path
) -> None:
    for scale, folder in (("0.1", "short"), ("1", "full")):
        asked = ["run", "w.yaml", "--reps", "1", "-j", "1", "--scale", scale, "-D", folder]
        assert command_status(asked) == 0
    run = tmp_path / "short" / "latest"
    (next(run.glob("cells/*")) / run_folder.DONE).unlink()
    assert command_status(["resume", "short/latest", "-j", "1"]) == 0
    assert len(lab.ran) == 5
    lengths = {json.loads((cell / run_folder.CELL).read_text())["duration_s"]
               for cell in cells_of(run)}  # fmt: skip
    assert lengths == {100}
    found = read_study(run)
    assert (found.scale, found.duration_s) == (0.1, 100)
    assert found.title.endswith(" (times scaled by 0.1)")
    full = tmp_path / "full" / "latest"
    assert read_study(full).scale == 1
    assert not {cell.name for cell in cells_of(run)} & {cell.name for cell in cells_of(full)}


def test_some_points_run_alone_have_the_cells_of_the_whole_sweep(
    lab: FakeLab, reported: list[Path], said: Said, tmp_path: Path
) -> None:
    swept = STUDY.replace("loss.data: [1 %]", "loss.data: [0.8 %, 1 %, 2 %]")
    (tmp_path / "w.yaml").write_text(swept)
    at = ["--at", "loss=2%,1%"]
    for options, folder in ((at, "some"), ([], "whole")):
        asked = ["run", "w.yaml", "--reps", "2", "-j", "1", "-D", folder, *options]
        assert command_status(asked) == 0
    assert "wireless: 2 of 3 points; claims that need others are not judged\n" in said()[1]
    some, whole = (tmp_path / name / "latest" for name in ("some", "whole"))
    names = {cell.name for cell in cells_of(some)}
    assert len(names) == 2 + 2 * 2
    assert names < {cell.name for cell in cells_of(whole)}
    for name in names:  # to the byte: what says that a cell is done has the digest of each file
        done = run_folder.cell_folder(some, name) / run_folder.DONE
        assert (
            done.read_bytes()
            == (run_folder.cell_folder(whole, name) / run_folder.DONE).read_bytes()
        )
    (next(some.glob("cells/*")) / run_folder.DONE).unlink()
    before = len(lab.ran)
    assert command_status(["resume", "some/latest", "-j", "1"]) == 0
    assert len(lab.ran) == before + 1
    assert read_study(some).at == ("network.bottleneck.loss.data=2%,1%",)


def test_a_failed_cell_is_told_kept_apart_and_run_again(
    lab: FakeLab, broken: Broken, reported: list[Path], said: Said, tmp_path: Path
) -> None:
    broken.seeds = {2}
    assert command_status(["run", "w.yaml", "--reps", "2", "-j", "1", "-D", "r"]) == 3
    _, err = said()
    run = Path("r", (tmp_path / "r" / "latest").readlink())
    assert "1 cell failed" in err
    assert "the lab's kernel panicked" in err
    assert f"2 finished cells kept; go on with: groundtruth resume {run}" in err
    (warning,) = json.loads((run / run_folder.WARNINGS).read_text())
    assert warning["rule"] == "cell-failed"
    assert reported == [run]  # what is finished is reported all the same

    broken.seeds = set()
    assert command_status(["resume", "r/latest", "-j", "1"]) == 0
    assert (lab.ran[0], sorted(lab.ran[1:3]), lab.ran[3:]) == (1, [1, 2], [2])
    assert json.loads((run / run_folder.WARNINGS).read_text()) == []


def test_cells_that_the_machine_lets_fail_are_tried_again_as_often_as_asked_for(
    lab: FakeLab, reported: list[Path], said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def short_of_memory(cell: Cell, folder: Path) -> None:
        raise MachineError("the lab was killed")

    monkeypatch.setattr(lab, "act", short_of_memory)
    asked = ["run", "w.yaml", "--reps", "1", "-j", "1", "-D", "r", "--retries"]
    assert command_status([*asked, "0"]) == 3
    assert len(lab.ran) == 2
    assert "tried" not in said()[1]
    run = str((tmp_path / "r" / "latest").resolve())
    assert command_status(["resume", run, "-j", "1", "--retries", "3"]) == 3
    assert len(lab.ran) == 2 + 2 * 4
    assert "the lab was killed (tried 4 times: failed/" in said()[1]
    for wrong in ("-1", "101", "some"):
        assert command_status([*asked, wrong]) == 2
    assert len(lab.ran) == 2 + 2 * 4


def test_a_run_of_which_no_cell_is_finished_cannot_be_verified(
    lab: FakeLab, reported: list[Path], said: Said
) -> None:
    assert command_status(["run", "w.yaml", "--reps", "1", "-j", "1", "-D", "r"]) == 0
    for done in Path("r/latest/cells").glob(f"*/{run_folder.DONE}"):
        done.unlink()
    said()
    assert command_status(["verify", "r/latest"]) == 2
    assert "no finished cell to verify" in said()[1]


def planned(count: int) -> list[PlannedCell]:
    return [PlannedCell(id=str(number), cell=wireless_cell()) for number in range(count)]


@pytest.mark.parametrize(
    ("cells", "count", "chosen"),
    [
        (10, 3, [0, 3, 6]),
        (10, 1, [0]),
        (10, 0, list(range(10))),
        (3, 3, [0, 1, 2]),
        (3, 9, [0, 1, 2]),
        (7, 6, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_cells_to_repeat_are_spread_evenly(cells: int, count: int, chosen: list[int]) -> None:
    assert [int(cell.id) for cell in choose(planned(cells), count)] == chosen


def test_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 3, 5})
    assert jobs_or_cores(None) == 3
    assert jobs_or_cores(7) == 7


def raw_counters(run: Path, purpose: str = "measure") -> Path:
    """Return the counters of the first finished cell of a purpose."""
    cells = json.loads((run / run_folder.CELLS).read_text())
    cell_id = next(cell["id"] for cell in cells if cell["cell"]["purpose"] == purpose)
    return run_folder.cell_folder(run, cell_id) / "raw" / "counters.json"


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Remember which cells each report was told to leave out."""
    found: list[dict[str, str]] = []
    monkeypatch.setattr(
        run_and_report, "report_run", lambda run, changed, told: found.append(dict(changed))
    )
    return found


def test_a_damaged_cell_is_left_out_and_run_again(
    lab: FakeLab, changes: list[dict[str, str]], said: Said, tmp_path: Path
) -> None:
    assert command_status(["run", "w.yaml", "--reps", "3", "-j", "2", "-D", "r"]) == 0
    run = Path("r/latest")
    path = raw_counters(run)
    whole = path.read_bytes()
    path.write_bytes(whole[:-2])
    said()

    assert command_status(["report", "r/latest"]) == 0  # the report itself raises, see reports
    (told,) = changes[-1].items()
    assert told[0] == path.parents[1].name
    assert "raw/counters.json: " in told[1]

    ran = len(lab.ran)
    assert command_status(["verify", "r/latest", "--cells", "0"]) == 1
    assert f"1 of 4 cells not the same:\n  cells/{told[0]}: raw/counters.json" in said()[1]
    assert len(lab.ran) == ran + 3  # the other two, and the calibration

    assert command_status(["resume", "r/latest", "-j", "1"]) == 0
    assert f"run again: cells/{told[0]}: raw/counters.json: " in said()[1]
    assert path.read_bytes() == whole
    assert len(lab.ran) == ran + 4
    assert command_status(["verify", "r/latest", "--cells", "0"]) == 0


def test_a_cell_whose_raw_files_cannot_be_parsed_fails_alone_and_says_where(
    lab: FakeLab, changes: list[dict[str, str]], said: Said
) -> None:
    def act(cell: Cell, folder: Path) -> None:
        write_recorded(cell, folder)
        if cell.seed == 2 and cell.purpose == "measure":
            path = folder / "raw" / "flows" / "T.sender.jsonl"
            path.write_text(path.read_text()[:-20])

    lab.act = act
    assert command_status(["run", "w.yaml", "--reps", "3", "-j", "1", "-D", "r"]) == 3
    run = Path("r/latest")
    (warning,) = json.loads((run / run_folder.WARNINGS).read_text())
    assert warning["text"].startswith(f"{warning['where']}/raw/flows/T.sender.jsonl:4: not JSON")
    assert changes == [{}]
    assert "1 cell failed:" in said()[1]
    assert sum((cell / run_folder.DONE).is_file() for cell in cells_of(run)) == 3


def test_variations_are_run_unless_they_are_left_out(
    lab: FakeLab, reported: list[Path], tmp_path: Path
) -> None:
    varied = STUDY.replace(
        "assumptions:\n",
        "assumptions:\n  - {id: rate, text: It is 3., why: Nobody says., alternatives:"
        " [{flows.T.message: 1000 bytes}]}\n",
    )
    (tmp_path / "w.yaml").write_text(varied)
    assert command_status(["run", "w.yaml", "--reps", "2", "-j", "1", "-D", "r"]) == 0
    # The path is the same: one calibration is enough. Runs of the study itself come first.
    assert (lab.ran[0], sorted(lab.ran[1:3]), sorted(lab.ran[3:])) == (1, [1, 2], [1, 2])
    left = ["run", "w.yaml", "--reps", "2", "-j", "1", "-D", "r", "--no-sensitivity"]
    assert command_status(left) == 0
    assert sorted(lab.ran[5:]) == [1, 1, 2]
