"""Commands on several studies and on sets of runs, on a lab that boots nothing, without reports."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell
from model.errors import RunError
from testbed.campaign import new_runs, saved_runs, study_sets
from testbed.campaign.study_sets import Found
from testbed.command.cli import command_status
from testbed.command.runs import commands, run_and_report
from testbed.command.runs.run_and_report import Errors
from testbed.labs.virtual import virtual_lab
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.one_point import STUDY, choices
from tests.support.said import Said


@pytest.fixture
def fails() -> set[tuple[str, int]]:
    """Hold which measuring cells fail: studies and seeds."""
    return set()


@pytest.fixture
def lab(
    cells_here: None, fails: set[tuple[str, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> FakeLab:
    def act(cell: Cell, folder: Path) -> None:
        if (cell.study, cell.seed) in fails and cell.purpose == "measure":
            raise RunError("the lab's kernel panicked", where=f"cell {folder.name}")
        write_recorded(cell, folder)

    made = FakeLab(act)
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", lambda versions, report, check=None: made)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    for name in ("one", "two"):
        text = STUDY.replace("study: wireless", f"study: {name}", 1)
        (tmp_path / f"{name}.yaml").write_text(text)
    return made


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Remember the names of the runs each report was asked of."""
    names: list[str] = []

    def several(
        found: Found, changed: dict[Path, object], jobs: int, told: str = "screen"
    ) -> Errors:
        assert told == "screen"
        names.extend(run.name for run in changed)
        return {}

    monkeypatch.setattr(run_and_report, "report_set", several)
    monkeypatch.setattr(
        run_and_report, "report_run", lambda run, changed, told="screen": names.append(run.name)
    )
    return names


def run_both(*more: str) -> int:
    words = ["run", "one.yaml", "two.yaml", "--reps", "2", "-j", "1", "-D", "r", *more]
    return command_status(words)


def done(run: Path) -> int:
    return len(list(run.glob(f"cells/*/{run_folder.DONE}")))


def test_several_studies_make_a_set_of_ordinary_runs(
    lab: FakeLab, reported: list[str], said: Said, tmp_path: Path
) -> None:
    assert run_both() == 0
    folder = Path("r", (tmp_path / "r" / "latest").readlink())
    assert folder.name.endswith("Z-studies")
    assert json.loads((folder / run_folder.SET).read_text()) == {
        "schema": 1, "studies": ["one", "two"],
    }  # fmt: skip
    assert {path.name for path in folder.iterdir()} == {run_folder.SET, "one", "two"}
    assert [done(folder / name) for name in ("one", "two")] == [3, 3]
    one, two = (saved_runs.load_cells(folder / name) for name in ("one", "two"))
    # One queue: both advance evenly, each in its own drawn order.
    assert lab.ran == [cell.cell.seed for both in zip(one, two, strict=True) for cell in both]
    assert sorted(lab.ran) == [1, 1, 1, 1, 2, 2]
    assert reported == ["one", "two"]
    assert f"set: {folder}" in said()[1].splitlines()

    assert command_status(["verify", "r/latest", "--cells", "1"]) == 0
    out, _ = said()
    assert [line.split(" cell ")[0] for line in out.splitlines()] == ["one: 1", "two: 1"]
    assert command_status(["verify", "r/latest/two", "--cells", "1"]) == 0
    assert said()[0].startswith("1 cell repeated, ")
    assert command_status(["parse", "r/latest"]) == 0
    assert {"one: 2 cells parsed", "two: 2 cells parsed"} < set(said()[0].splitlines())


def test_one_study_that_fails_loses_no_other_and_goes_on_later(
    lab: FakeLab, fails: set[tuple[str, int]], reported: list[str], said: Said
) -> None:
    fails.add(("one", 2))
    assert run_both() == 3
    _, err = said()
    assert reported == ["one", "two"]
    assert "1 of the set's studies went wrong:" in err
    assert "\n  one: 1 cell failed:" in err
    assert "the lab's kernel panicked" in err
    assert "groundtruth resume r/" in err
    assert [done(Path("r/latest", name)) for name in ("one", "two")] == [2, 3]
    (warning,) = json.loads(Path("r/latest/one", run_folder.WARNINGS).read_text())
    assert warning["rule"] == "cell-failed"
    assert json.loads(Path("r/latest/two", run_folder.WARNINGS).read_text()) == []

    fails.clear()
    ran = len(lab.ran)
    assert command_status(["resume", "r/latest", "-j", "1"]) == 0
    assert lab.ran[ran:] == [2]
    assert reported[2:] == ["one", "two"]


def test_one_run_of_a_set_is_resumed_alone(
    lab: FakeLab, fails: set[tuple[str, int]], reported: list[str]
) -> None:
    fails |= {("one", 2), ("two", 2)}
    assert run_both() == 3
    fails.clear()
    del reported[:]
    assert command_status(["resume", "r/latest/two", "-j", "1"]) == 0
    assert [done(Path("r/latest", name)) for name in ("one", "two")] == [2, 3]
    assert reported == ["two"]


def test_a_moved_set_is_resumed_where_it_is(
    lab: FakeLab, fails: set[tuple[str, int]], reported: list[str], tmp_path: Path
) -> None:
    fails.add(("two", 2))
    assert run_both() == 3
    fails.clear()
    place = tmp_path / "else where, moved"
    Path("r/latest").resolve().rename(place)
    assert command_status(["resume", str(place)]) == 0
    assert [done(place / name) for name in ("one", "two")] == [3, 3]


def test_a_damaged_cell_is_named_with_its_study_and_run_again(
    lab: FakeLab, reported: list[str], said: Said
) -> None:
    assert run_both() == 0
    counters = sorted(Path("r/latest/two/cells").glob("*/raw/counters.json"))[0]
    whole = counters.read_bytes()
    counters.write_bytes(whole[:-2])
    said()
    assert command_status(["verify", "r/latest", "--cells", "1"]) == 1
    out, err = said()
    assert out.startswith("one: 1 cell repeated, ")
    assert "\n  two: " in err
    assert "raw/counters.json" in err
    assert command_status(["resume", "r/latest"]) == 0
    assert f"run again: two: cells/{counters.parts[-3]}: raw/counters.json: " in said()[1]
    assert counters.read_bytes() == whole


@pytest.mark.parametrize("command", ["resume", "parse", "verify"])
def test_a_run_that_is_gone_keeps_no_other_from_its_turn(
    lab: FakeLab, reported: list[str], said: Said, command: str
) -> None:
    assert run_both() == 0
    shutil.rmtree("r/latest/one")
    said()
    del reported[:]
    assert command_status([command, "r/latest"]) == 3
    out, err = said()
    assert "1 of the set's studies went wrong:" in err
    assert "\n  one: " in err
    assert "one/manifest.json: file is missing" in err
    if command == "resume":
        assert reported == ["two"]
    else:
        assert "two: 2 cells parsed" in out or "two: 3 cells repeated" in out


def test_a_set_that_is_damaged_is_named(lab: FakeLab, reported: list[str], said: Said) -> None:
    assert run_both() == 0
    record = Path("r/latest", run_folder.SET)
    for text in (
        "",
        "{",
        "[]",
        '{"studies": []}',
        '{"studies": ["../x"]}',
        '{"studies": ["one", "one"]}',
    ):
        record.write_text(text)
        assert command_status(["resume", "r/latest"]) == 3
        assert f"{run_folder.SET}: cannot read a set" in said()[1]


def test_a_set_is_held_while_it_is_worked_on(lab: FakeLab, reported: list[str], said: Said) -> None:
    assert run_both() == 0
    with saved_runs.locked(Path("r/latest/two")):
        assert command_status(["resume", "r/latest"]) == 2
        assert "another groundtruth is working on this run" in said()[1]
        assert command_status(["resume", "r/latest/one"]) == 0
    with study_sets.locked(study_sets.find("r/latest")):
        assert command_status(["resume", "r/latest/one"]) == 2


def test_the_same_study_twice_is_refused_before_anything_is_made(
    lab: FakeLab, said: Said, tmp_path: Path
) -> None:
    for again in ("one.yaml", "./one.yaml", str(tmp_path / "one.yaml")):
        assert command_status(["run", "one.yaml", again, "-D", "r"]) == 2
        assert "STUDY: the same study twice: wanted each study once, got one.yaml and" in said()[1]
    assert not Path("r").exists()


def test_two_files_of_one_study_get_folders_of_their_own(
    lab: FakeLab, reported: list[str], tmp_path: Path
) -> None:
    shutil.copy("one.yaml", "my one, again.yaml")
    words = ["run", "one.yaml", "my one, again.yaml", "--reps", "1", "-j", "1", "-D", "r"]
    assert command_status(words) == 0
    assert reported == ["one", "one-2"]
    assert [done(Path("r/latest", name)) for name in reported] == [2, 2]


def test_one_study_of_several_that_cannot_be_read_stops_all_before_anything_is_made(
    lab: FakeLab, said: Said
) -> None:
    assert command_status(["run", "one.yaml", "nonesuch", "-D", "r"]) == 2
    assert "no such study" in said()[1]
    assert command_status(["run", "one.yaml,two.yaml", "-D", "r"]) == 2
    assert "one.yaml,two.yaml: cannot read" in said()[1]
    assert command_status(["run", "one.yaml", "", "-D", "r"]) == 2
    assert "no study named" in said()[1]
    assert not Path("r").exists()


def test_a_place_that_cannot_be_written_is_named_and_leaves_nothing(
    lab: FakeLab, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_runs, "_read_only", lambda place: True)
    assert run_both() == 2
    assert "r: cannot write results: wanted a folder that can be written" in said()[1]
    assert not Path("r").exists()


def test_a_kill_while_a_set_is_made_leaves_nothing_that_looks_like_one(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def killed(run: Path, *more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(new_runs, "fill", killed)
    with pytest.raises(KeyboardInterrupt):
        commands.run(["one.yaml", "two.yaml"], choices(reps=1), tmp_path / "r")
    assert list((tmp_path / "r").iterdir()) == []


def test_a_set_killed_at_any_cell_goes_on_as_if_it_had_not_been(
    lab: FakeLab, reported: list[str], tmp_path: Path
) -> None:
    assert run_both() == 0
    whole = Path("r/latest").resolve()
    for cells in range(1, 7):
        ran: list[Cell] = []

        def act(cell: Cell, folder: Path, ran: list[Cell] = ran, kill_at: int = cells) -> None:
            ran.append(cell)
            write_recorded(cell, folder)
            if len(ran) == kill_at:
                raise KeyboardInterrupt

        lab.act = act
        with pytest.raises(KeyboardInterrupt):
            commands.run(["one.yaml", "two.yaml"], choices(reps=2), tmp_path / f"r{cells}")
        lab.act = write_recorded
        latest = tmp_path / f"r{cells}" / "latest"
        kept = sum(done(latest / name) for name in ("one", "two"))
        assert cells - 1 <= kept < 6  # the thread may have begun another before all is stopped
        before = len(lab.ran)
        assert command_status(["resume", str(latest), "-j", "1"]) == 0
        assert len(lab.ran) == before + 6 - kept
        for name in ("one", "two"):
            for path in sorted((whole / name / "cells").glob(f"*/{run_folder.DONE}")):
                again = latest / path.relative_to(whole)
                assert again.read_bytes() == path.read_bytes()


def test_a_set_killed_while_it_is_reported_is_reported_by_resume(
    lab: FakeLab, said: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def killed(*told: object, **how: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_and_report, "report_set", killed)
        with pytest.raises(KeyboardInterrupt):
            commands.run(["one.yaml", "two.yaml"], choices(reps=1), tmp_path / "r")
    names: list[str] = []

    def report(found: Found, changed: dict[Path, object], jobs: int, told: str) -> Errors:
        assert told == "screen"
        names.extend(run.name for run in changed)
        return {}

    monkeypatch.setattr(run_and_report, "report_set", report)
    ran = len(lab.ran)
    assert command_status(["resume", "r/latest"]) == 0
    assert (names, len(lab.ran)) == (["one", "two"], ran)


def test_studies_add_seeds_round_by_round_until_all_have_stopped(
    lab: FakeLab,
    fails: set[tuple[str, int]],
    reported: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name, most in (("one", 3), ("two", 7)):
        auto = "replication: {metric: pct_increase, half_width: 3, at_least: 2, at_most: MOST}"
        path = tmp_path / f"{name}.yaml"
        text = path.read_text().replace("metrics:", f"{auto}\nmetrics:", 1)
        path.write_text(text.replace("MOST", str(most)))

    def next_cells(run: Path) -> tuple[PlannedCell, ...]:
        cells = saved_runs.load_cells(run)
        every = sorted(saved_runs.load_candidates(run), key=lambda one: one.cell.replicate)
        new = tuple(c for c in every if c not in cells)[: len(cells) - 1]
        saved_runs.record_plan(run, [*cells, *new])
        return new

    monkeypatch.setattr(run_and_report, "next_cells", next_cells)
    words = ["run", "one.yaml", "two.yaml", "--reps", "auto", "-j", "1", "-D", "r"]
    assert command_status(words) == 0
    # Two rounds of both (two seeds, then one and two more), then one of the second study alone.
    assert sorted(lab.ran[:6]) == [1, 1, 1, 1, 2, 2]
    assert sorted(lab.ran[6:9]) == [3, 3, 4]
    assert lab.ran[9:] == [5, 6, 7]
    assert [done(Path("r/latest", name)) for name in ("one", "two")] == [4, 8]
    assert reported == ["one", "two"]

    # A study of which a cell fails has no further round; the other has all of its own.
    fails.add(("two", 3))
    del lab.ran[:]
    assert command_status(words) == 3
    assert [done(Path("r/latest", name)) for name in ("one", "two")] == [4, 4]
    assert lab.ran.count(3) == 2  # the cell that failed is not tried again by itself


def test_plan_says_what_each_study_and_all_cost(lab: FakeLab, said: Said) -> None:
    assert command_status(["plan", "one.yaml", "two.yaml", "--reps", "2", "-j", "2"]) == 0
    lines = said()[0].splitlines()
    assert [line for line in lines if line.endswith(":")] == ["one:", "two:"]
    each = [line for line in lines if line.startswith("2 measuring cells and 1 calibration, ")]
    assert len(each) == 2
    (total,) = [line for line in lines if line.startswith("all together: ")]
    assert "4 measuring cells and 2 calibrations, " in total
    assert total.endswith(" on 2 cores")


def test_validate_takes_several_and_names_those_that_cannot_be_used(
    lab: FakeLab, said: Said
) -> None:
    assert command_status(["validate", "one.yaml", "two.yaml"]) == 0
    assert [line.split(":")[0] for line in said()[0].splitlines() if ": valid, " in line] == [
        "one", "two",
    ]  # fmt: skip
    Path("broken.yaml").write_text("study: [\n")
    assert command_status(["validate", "broken.yaml", "two.yaml"]) == 2
    out, err = said()
    assert "two: valid, " in out
    assert "1 of the studies cannot be used:\n  broken.yaml: broken.yaml" in err


def test_wireshark_says_that_no_run_of_a_set_has_captures(
    lab: FakeLab, reported: list[str], said: Said
) -> None:
    assert run_both() == 0
    assert command_status(["wireshark", "r/latest"]) == 2
    assert "r/latest: the run has no captures" in said()[1]
