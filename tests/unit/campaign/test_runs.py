"""Run folders: made whole, found again, and never written where they cannot be."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model import plain_files, run_folder
from model.cell import to_dict
from model.errors import DisagreementError, ParseError, StudyError
from testbed.campaign import manifest, new_runs
from testbed.campaign.new_runs import check_writable, create
from testbed.campaign.saved_runs import (  # fmt: skip
    LATEST,
    find_run,
    lab_of,
    load_candidates,
    load_cells,
    locked,
    looked_at,
    record_lab,
)
from testbed.labs.virtual import virtual_lab
from testbed.planning.findings import find
from testbed.planning.plan import Plan, PlannedCell, make_plan
from tests.support.fake_lab import FakeLab, nothing
from tests.support.recorded import wireless_cell
from tests.support.study_file import WIRELESS, study

LAB = FakeLab().describe()


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(study(), seeds=[1], lab=LAB)


def new_run(data_dir: Path, plan: Plan) -> Path:
    findings = find(plan.study, seeds=plan.seeds)
    return create(data_dir, plan, findings, ["groundtruth", "run", "wireless"])


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all runs begin in the same second."""

    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
            return cls(2026, 11, 20, 13, 5, 9, 999_999, tzinfo=tz)

    monkeypatch.setattr(datetime, "datetime", Clock)


def everything(folder: Path) -> dict[str, float]:
    return {str(path): path.lstat().st_mtime for path in folder.rglob("*")}


@pytest.mark.usefixtures("frozen")
def test_a_run_folder_has_everything_but_its_cells(tmp_path: Path, plan: Plan) -> None:
    run = new_run(tmp_path / "results", plan)
    assert run == tmp_path / "results" / "20261120T130509Z-wireless"
    assert sorted(path.name for path in run.iterdir()) == sorted(
        [
            run_folder.STUDY,
            run_folder.RESOLVED,
            run_folder.PLAN,
            run_folder.CELLS,
            run_folder.PROVENANCE,
            run_folder.MANIFEST,
        ]
    )
    assert (run / run_folder.STUDY).read_text() == WIRELESS
    assert json.loads((run / run_folder.RESOLVED).read_text())["study"] == "wireless"
    planned = json.loads((run / run_folder.PLAN).read_text())["cells"]
    assert [cell["id"] for cell in planned] == [cell.id for cell in plan.cells]
    provenance = json.loads((run / run_folder.PROVENANCE).read_text())
    assert provenance["started"] == "2026-11-20T13:05:09+00:00"
    assert provenance["command"] == ["groundtruth", "run", "wireless"]
    assert set(provenance["profiles"]) == {"paper"}
    assert set(provenance["host"]) == {"machine", "kernel", "python", "cpus"}


def test_cells_come_back_as_they_were(tmp_path: Path, plan: Plan) -> None:
    assert load_cells(new_run(tmp_path, plan)) == list(plan.cells)


@pytest.mark.usefixtures("frozen")
def test_two_runs_in_one_second_and_the_newest_is_latest(tmp_path: Path, plan: Plan) -> None:
    first = new_run(tmp_path, plan)
    assert (tmp_path / LATEST).readlink() == Path(first.name)
    second, third = new_run(tmp_path, plan), new_run(tmp_path, plan)
    assert [run.name for run in (second, third)] == [f"{first.name}-2", f"{first.name}-3"]
    assert (tmp_path / LATEST).readlink() == Path(third.name)
    assert find_run(str(tmp_path / LATEST)) == third
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [first.name, second.name, third.name, LATEST]
    )


@pytest.mark.usefixtures("frozen")
def test_a_hundred_runs_in_one_second_are_too_many(tmp_path: Path, plan: Plan) -> None:
    stem = tmp_path / "20261120T130509Z-wireless"
    for name in (stem, *(Path(f"{stem}-{number}") for number in range(2, 100))):
        name.mkdir()
    with pytest.raises(StudyError, match="too many runs within one second"):
        new_run(tmp_path, plan)


def test_latest_may_point_to_a_run_that_is_gone(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / LATEST).symlink_to("gone")
    run = new_run(tmp_path, plan)
    assert (tmp_path / LATEST).resolve() == run


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda put: None,
            "/run: not a run folder: wanted a folder with plan.json or set.json, got no such",
        ),
        (lambda put: put.mkdir(), "got a folder without"),
        (lambda put: put.touch(), "got no such folder"),
        (lambda put: put.symlink_to("loop-a"), "got no such folder"),
    ],
    ids=["nothing", "empty", "file", "dangling link"],
)
def test_what_is_no_run(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / "run")
    before = everything(tmp_path)
    with pytest.raises(StudyError) as caught:
        find_run(str(tmp_path / "run"))
    assert message in str(caught.value)
    assert "the newest is results/latest" in str(caught.value)
    assert everything(tmp_path) == before


def test_a_name_the_file_system_refuses_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"not a run folder: .*got .*File name too long"):
        find_run(str(tmp_path / ("x" * 300)))


@pytest.mark.parametrize(
    "content",
    [None, "", "{", "5", "null", '{"a": 1}', "[5]", "[{}]", '[{"id": "x"}]',
     '[{"id": "x", "cell": []}]', '[{"id": "x", "cell": {"schema": 1}}]'],
)  # fmt: skip
def test_cells_that_cannot_be_read_are_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / run_folder.CELLS).write_text(content)
    with pytest.raises(ParseError, match=rf"^{tmp_path}/cells\.json: cannot read a run's cells"):
        load_candidates(tmp_path)


@pytest.mark.parametrize("below", ["", "new", "new/deep/er"])
def test_a_place_that_can_be_written_is_not_written(tmp_path: Path, below: str) -> None:
    check_writable(tmp_path / below)
    assert list(tmp_path.iterdir()) == []


def unwritable(place: Path) -> str:
    """Return what is said of a place that cannot be written, and check that nothing was."""
    above = next(p for p in place.parents if p.is_dir())
    before = everything(above)
    with pytest.raises(StudyError, match=rf"^{place}: cannot write results: ") as caught:
        check_writable(place)
    assert caught.value.hint == "choose another with --data-dir"
    assert everything(above) == before
    return caught.value.got


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for below in ("file", "file/results"):
        assert unwritable(tmp_path / below) == f"{tmp_path / 'file'} is not a folder"


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    assert unwritable(tmp_path / "results") == f"{tmp_path} is not writable"


def test_a_file_system_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_runs, "_read_only", lambda place: True)
    assert unwritable(tmp_path / "results") == f"{tmp_path} is not writable"


def test_a_folder_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", refused)
        with pytest.raises(StudyError, match=r"cannot write results: .*Permission denied"):
            check_writable(tmp_path / "results")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    assert "File name too long" in unwritable(tmp_path / ("x" * 300))


def test_what_fails_while_it_is_written_is_named(tmp_path: Path, plan: Plan) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        StudyError, match=rf"^{tmp_path}/file: cannot write results: wanted .*, got "
    ):
        new_run(tmp_path / "file", plan)


def cells_on(lab: dict[str, str]) -> list[PlannedCell]:
    return [PlannedCell(id="x", cell=wireless_cell(lab=lab))]


def test_a_run_gets_the_lab_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[list[str]] = []

    def ensure(versions: list[str], report: Any, check: Any) -> FakeLab:
        built.append(versions)
        return FakeLab()

    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", ensure)
    assert isinstance(lab_of(tmp_path, cells_on(LAB), nothing), FakeLab)
    assert built == [["7.3"]]
    older = FakeLab().describe("6.12")
    lab_of(tmp_path, [*cells_on(LAB), *cells_on(older), *cells_on(LAB)], nothing)
    assert built[1] == ["7.3", "6.12"]
    with pytest.raises(StudyError, match=r"wanted kernel_package old, got kernel_package 6.12.4-1"):
        lab_of(tmp_path, [*cells_on(LAB), *cells_on({**older, "kernel_package": "old"})], nothing)
    with pytest.raises(StudyError) as caught:
        lab_of(tmp_path, cells_on({**LAB, "kernel_package": "old", "code_digest": "old"}), nothing)
    assert str(caught.value) == (
        "this lab is not the one the run was made with: "
        "wanted kernel_package old; code_digest old, got kernel_package 7.3.4-1; code_digest c "
        "(check out the run's commit (see its provenance.json), or start a new run)"
    )


def image_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: dict[str, str]) -> str:
    """Return what is said of a run made with another image, with these packages in it."""

    def ensure(versions: list[str], report: Any, check: Any) -> None:
        check({"image_digest": "new", "code_digest": "c"}, FakeLab().packages())
        raise AssertionError("a kernel would be built now, for minutes")

    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", ensure)
    record_lab(tmp_path, packages)
    with pytest.raises(StudyError) as caught:
        lab_of(tmp_path, cells_on({**LAB, "image_digest": "old"}), nothing)
    return str(caught.value)


def test_a_package_that_moved_is_named_before_a_kernel_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {"iproute2": "6.15.0-1", "iperf3": "3.18-1", "ethtool": "1:6.14-1"}
    assert image_moved(tmp_path, monkeypatch, packages) == (
        "this lab is not the one the run was made with: wanted image_digest old; package ethtool "
        "1:6.14-1; package iperf3 3.18-1, got image_digest new; package ethtool absent; package "
        "iperf3 3.18-2 (check out the run's commit (see its provenance.json), or start a new run)"
    )


def test_many_packages_that_moved_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = image_moved(tmp_path, monkeypatch, {f"lib{number:02}": "1" for number in range(20)})
    assert "package lib05 1, got" in said
    assert "(22 packages moved, all are in lab.json; " in said


def test_an_image_set_up_in_another_way_is_told_from_moved_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = image_moved(tmp_path, monkeypatch, FakeLab().packages())
    assert "(no package moved: the image was set up in another way; " in said


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([], "the run has no cells"),
        (cells_on({}), "no such lab: wanted virtual or stock or host or remote or ns2, got ''"),
        (
            cells_on({"name": "mars"}),
            "no such lab: wanted virtual or stock or host or remote or ns2, got 'mars'",
        ),
        (cells_on({"name": "virtual"}), "no such kernel"),
    ],
)
def test_runs_that_name_no_lab(cells: list[PlannedCell], message: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=message):
        lab_of(tmp_path, cells, nothing)


def test_git_state(monkeypatch: pytest.MonkeyPatch) -> None:
    found = new_runs.git_state()
    assert set(found) == {"commit", "dirty"}
    answers = {"rev-parse": (0, "abc\n"), "status": (0, " M x\n")}

    def run(argv: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        status, out = answers[argv[3]]
        return subprocess.CompletedProcess(argv, status, out, "")

    monkeypatch.setattr(subprocess, "run", run)
    assert new_runs.git_state() == {"commit": "abc", "dirty": True}
    answers["status"] = (0, "")
    assert new_runs.git_state() == {"commit": "abc", "dirty": False}
    answers.update({"rev-parse": (128, ""), "status": (128, "")})
    assert new_runs.git_state() == {"commit": None, "dirty": None}


def test_changes_are_of_the_programs_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", "-C", tmp_path, *name, *words], check=True, capture_output=True)

    git("init")
    for name in ("testbed/a.py", "studies/a.yaml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("a\n")
    git("add", ".")
    git("commit", "-m", "a")
    monkeypatch.setattr(new_runs, "PROJECT", tmp_path)
    # A study of one's own, an edited one, results: none of it is the program.
    for name in ("mine.yaml", "studies/a.yaml", "studies/b.yaml", "results"):
        (tmp_path / name).write_text("b\n")
    assert new_runs.git_state()["dirty"] is False
    (tmp_path / "testbed" / "b.py").write_text("b\n")
    assert new_runs.git_state()["dirty"] is True
    below = tmp_path / "lib"  # installed below a checkout, of which it is no part
    below.mkdir()
    monkeypatch.setattr(new_runs, "PROJECT", below)
    assert new_runs.git_state() == {"commit": None, "dirty": None}


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 30)])
def test_without_git_nothing_is_known(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def run(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    assert new_runs.git_state() == {"commit": None, "dirty": None}


def test_json_is_what_the_cell_says(tmp_path: Path, plan: Plan) -> None:
    stored = json.loads((new_run(tmp_path, plan) / run_folder.CELLS).read_text())
    assert stored[0] == {"id": plan.cells[0].id, "cell": to_dict(plan.cells[0].cell)}
    assert stored[0]["cell"]["lab"] == LAB
    assert dataclasses.is_dataclass(plan.cells[0])


def test_one_run_is_worked_on_by_one_process(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(StudyError, match="another groundtruth is working on this run"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):  # free again
        pass


def test_a_file_that_is_written_while_it_is_looked_at_is_no_change(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, digest, left = new_run(tmp_path, plan), plain_files.sha256, [1, 2, 3]

    def written_first(path: Path) -> str:
        """Let another process write the file after the manifest was read."""
        if path.name == run_folder.WARNINGS and left:
            manifest.write(run, {run_folder.WARNINGS: f"[{left.pop()}]"})
        return digest(path)

    monkeypatch.setattr(plain_files, "sha256", written_first)
    manifest.check(run)
    assert left == []
    (run / run_folder.WARNINGS).write_text("[edited]")
    with pytest.raises(DisagreementError, match=r"^.*: 1 file is not .*\n  warnings\.json: "):
        manifest.check(run)


def test_a_folder_that_goes_while_it_is_looked_at_is_no_damage(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, scandir = new_run(tmp_path, plan), os.scandir
    stale = run_folder.cell_folder(run, plan.cells[0].id) / "raw"
    stale.mkdir(parents=True)

    def emptied_first(folder: Path) -> Any:
        if Path(folder) == stale and stale.exists():
            stale.rmdir()
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", emptied_first)
    assert looked_at(run) == run
    assert not stale.exists()
    (stale.parent / "raw").symlink_to(tmp_path)
    with pytest.raises(ParseError, match="nothing but plain files and folders"):
        looked_at(run)
