"""What takes disk goes: raw files that no report needs, and entries of the store nobody uses."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from model import plain_files, run_folder
from model.words import size_text
from testbed.campaign import digests, saved_runs
from testbed.command import examine_machine
from testbed.command.cli import command_status
from testbed.labs.virtual import virtual_lab
from testbed.store import cells, upkeep
from testbed.store.entries import Entry
from tests.support.fake_lab import FakeLab
from tests.support.recorded import DATA
from tests.support.runs.one_point import STUDY

DAY_S = 86_400


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with a finished run, ``r/latest``, and the store that its cells are in."""
    place = tmp_path_factory.mktemp("gc")
    shutil.copytree(DATA / "study" / "hosts", place / "hosts")
    (place / "w.yaml").write_text(STUDY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cells.VARIABLE, str(place / "store"))
        patch.setattr(virtual_lab, "ensure_per_kernel", lambda *_: FakeLab())
        patch.chdir(place)
        assert command_status(["run", "w.yaml", "--reps", "2", "-j", "1", "-D", "r"]) == 0
        yield place


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree((made / "r" / "latest").resolve(), tmp_path / "run")


@pytest.fixture
def store(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = shutil.copytree(made / "store", tmp_path / "store")
    monkeypatch.setenv(cells.VARIABLE, str(place))
    return place


def sizes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }


def measuring(run: Path) -> Path:
    return min(path.parent for path in run.glob("cells/*/tables"))


def reported(run: Path) -> dict[str, bytes]:
    """Report a run, and return all that the report is."""
    for name in ("summary.json", "report"):
        place = run / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    assert command_status(["report", str(run)]) == 0
    files = (run / "summary.json", *(run / "report").rglob("*"))
    return {str(path.relative_to(run)): path.read_bytes() for path in files if path.is_file()}


def test_what_a_report_needs_stays_and_the_rest_is_told_of(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = run / run_folder.FAILED / "x" / "attempt-1" / "failure.json"
    failed.parent.mkdir(parents=True)
    failed.write_text("{}")
    before, report = sizes(run), reported(run)
    capsys.readouterr()
    assert command_status(["gc", str(run), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert sizes(run) == before
    assert command_status(["gc", str(run)]) == 0
    assert capsys.readouterr().out == said.replace("would be freed", "freed")
    after = sizes(run)
    gone = {name: before[name] for name in before.keys() - after.keys()}
    raw = {name for name in gone if "/raw/" in name}
    assert gone.keys() - raw == {str(failed.relative_to(run))}
    assert {name.split("/", 2)[2] for name in raw} >= {"raw/trace/pages.bin.gz", "raw/queue.jsonl"}
    assert not raw & {f"cells/x/{name}" for name in run_folder.RAW_DOCUMENTS}
    words = f"{size_text(sum(gone.values()))} freed: {len(raw)} raw files of 3 cells and what"
    assert said.replace("would be freed", "freed").startswith(f"{run}: {words} failed attempts")
    # Nothing is missed by who reads the run, and its report is the same to the byte.
    ids = [planned.id for planned in saved_runs.load_cells(run)]
    assert digests.changed(run, ids) == digests.changed(run, ids, run_folder.CAPTURES) == {}
    assert reported(run) == report
    freed = json.loads((measuring(run) / run_folder.FREED).read_text())["sha256"]
    assert freed.items() <= digests.read_done(measuring(run)).items()


def test_again_nothing_is_left_to_free(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command_status(["gc", str(run)])
    before = sizes(run)
    capsys.readouterr()
    assert command_status(["gc", str(run)]) == 0
    assert capsys.readouterr().out == f"{run}: 0.0 kB freed: 0 raw files of 0 cells\n"
    assert sizes(run) == before


def test_parsing_says_what_is_missing_and_verify_still_compares_all(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command_status(["gc", str(run)])
    before = sizes(run)
    capsys.readouterr()
    assert command_status(["parse", str(run), "-j", "1"]) == 3
    said = capsys.readouterr().err
    assert "2 cells could not be parsed" in said
    assert "raw files were removed to free the disk: got" in said
    assert "by groundtruth gc, see freed.json; a new run of the study has them" in said
    assert sizes(run) == before
    assert command_status(["verify", str(run), "-j", "1"]) == 0
    path = measuring(run) / run_folder.DONE
    name = "raw/trace/pages.bin.gz"
    recorded = {**digests.read_done(measuring(run)), name: "0" * 64}
    path.write_text(digests.done_text(recorded))
    freed = measuring(run) / run_folder.FREED
    freed.write_text(freed.read_text().replace(digests.freed(measuring(run))[name], "0" * 64))
    assert command_status(["verify", str(run), "--cells", "0", "-j", "1"]) == 1
    assert f"{name}: 000000000000 before" in capsys.readouterr().err


def test_what_went_otherwise_is_missed(run: Path) -> None:
    command_status(["gc", str(run)])
    folder = measuring(run)
    ledger = folder / run_folder.LEDGER
    content = ledger.read_bytes()
    ledger.unlink()
    assert digests.changed(run, [folder.name]) == {folder.name: f"{run_folder.LEDGER}: missing now"}
    ledger.write_bytes(content)
    (folder / run_folder.FREED).unlink()
    assert "missing now" in digests.changed(run, [folder.name])[folder.name]
    (folder / run_folder.FREED).write_text("[]")
    assert "cannot read what was freed" in digests.changed(run, [folder.name])[folder.name]


def test_a_changed_cell_is_left_as_it_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = measuring(run)
    (folder / "raw" / "queue.jsonl").chmod(0o644)
    (folder / "raw" / "queue.jsonl").write_text("edited")
    assert command_status(["gc", str(run)]) == 0
    assert f"left as it is: cells/{folder.name}: raw/queue.jsonl:" in capsys.readouterr().err
    assert (folder / "raw" / "trace" / "pages.bin.gz").exists()


def test_a_run_that_is_worked_on_is_not_touched(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sizes(run)
    with saved_runs.locked(run):
        assert command_status(["gc", str(run)]) == 2
    assert "another groundtruth is working on this run" in capsys.readouterr().err
    assert sizes(run) == before


def test_old_entries_of_the_store_go_and_used_ones_stay(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = list(upkeep.held(store))
    assert len(every) == 6
    old = [one for one in every if one.entry.kind == "tables"]
    for one in old:
        used_s = time.time() - 31 * DAY_S
        os.utime(one.entry.folder / "entry.json", (used_s, used_s))
    aside = every[0].entry.set_aside()
    assert aside is not None
    before = sizes(store)
    assert command_status(["gc", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert sizes(store) == before
    assert command_status(["gc"]) == 0
    assert capsys.readouterr().out == said.replace("would be freed", "freed")
    assert said.endswith("3 entries of no use for 30 days, 1 that were damaged\n")
    left = {one.entry.key for one in upkeep.held(store)}
    assert left == {one.entry.key for one in every[1:]} - {one.entry.key for one in old}
    assert upkeep.set_aside(store) == []
    assert [path.name for path in store.iterdir() if path.name.startswith(".")] == []
    assert command_status(["gc", "--store", "--older", "0"]) == 0
    assert list(upkeep.held(store)) == []
    assert command_status(["gc"]) == 0


def test_an_entry_that_goes_while_it_is_removed_is_no_error(store: Path) -> None:
    first = next(upkeep.held(store)).entry
    upkeep.remove(store, first.folder)
    upkeep.remove(store, first.folder)
    assert not first.is_there()


def test_without_a_store_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for off in ("off", "OFF"):
        monkeypatch.setenv(cells.VARIABLE, off)
        assert command_status(["gc"]) == 0
    monkeypatch.setenv(cells.VARIABLE, str(tmp_path / "none"))
    assert command_status(["gc"]) == 0
    assert capsys.readouterr().out == f"no store\nno store\n{tmp_path / 'none'}: nothing is there\n"


def test_what_is_no_folder_is_no_store(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(cells.VARIABLE, str(tmp_path / "file"))
    assert command_status(["gc"]) == 2
    said = capsys.readouterr().err
    assert "/file: the store is no folder (GROUNDTRUTH_STORE names another)" in said
    found = examine_machine._store()
    assert (found.well, found.state) == (False, f"{tmp_path / 'file'} is no folder")


def test_a_store_that_cannot_be_read_is_told_by_doctor(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object) -> list[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setenv(cells.VARIABLE, str(tmp_path))
    monkeypatch.setattr(os, "listdir", refused)
    found = examine_machine._store()
    assert (found.well, found.state) == (False, f"{tmp_path} cannot be read: Permission denied")


def test_what_cannot_be_removed_is_told(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(root: Path, folder: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder))

    monkeypatch.setattr(upkeep, "remove", refused)
    assert command_status(["gc", "--older", "0"]) == 4
    said = capsys.readouterr().err
    assert f"{store}: cannot remove entries of the store: got [Errno 30]" in said


def test_the_doctor_looks_at_every_byte_of_the_store(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = examine_machine._store()
    every = list(upkeep.held(store))
    assert found.well
    assert found.state.startswith(f"{store}, 6 entries of ")
    assert not found.needed
    path = next(path for path in sorted((every[0].entry.folder / "files").rglob("*"))
                if path.is_file() and path.stat().st_size)  # fmt: skip
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    before = plain_files.sha256(path)[:12]
    path.write_bytes(content)
    now = plain_files.sha256(path)[:12]
    shutil.rmtree(every[1].entry.folder / "files")
    assert every[2].entry.set_aside() is not None
    found = examine_machine._store()
    assert not found.well
    assert "5 entries of " in found.state
    assert ", 3 damaged: " in found.state
    name = path.relative_to(every[0].entry.folder / "files")
    changed = f"{name}: {before} before, {now} now"
    assert f"evidence/{every[0].entry.key[:16]}: {changed}" in found.state
    assert "damaged/evidence-" in found.state
    monkeypatch.setenv(cells.VARIABLE, cells.OFF)
    assert (examine_machine._store().state, examine_machine._store().well) == ("off", True)


@pytest.fixture
def spoiled(store: Path) -> list[Entry]:
    """Return entries in whose places there is what belongs in no store, each of another kind."""
    first, second, third, fourth, *_ = (one.entry for one in upkeep.held(store))
    (first.folder / "files" / "link").symlink_to("/etc/passwd")
    os.mkfifo(second.folder / "files" / "fifo")
    shutil.rmtree(third.folder)
    third.folder.write_text("half")
    shutil.rmtree(fourth.folder)
    fourth.folder.symlink_to(store)
    return [first, second, third, fourth]


def test_the_doctor_names_what_belongs_in_no_store(spoiled: list[Entry]) -> None:
    root = spoiled[0].root
    assert {f"{one.kind}/{one.key[:16]}" for one in spoiled} == upkeep.damaged(root).keys()
    found = examine_machine._store()
    assert not found.well
    assert "6 entries of " in found.state
    assert ", 4 damaged: " in found.state


def test_what_belongs_in_no_store_can_be_removed_from_it(
    spoiled: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    for one in spoiled:
        assert one.set_aside() is not None
    root = spoiled[0].root
    assert command_status(["gc"]) == 0
    assert capsys.readouterr().out.endswith(", 4 that were damaged\n")
    assert upkeep.set_aside(root) == []
    assert len(list(upkeep.held(root))) == 2
    assert command_status(["gc", "--older", "0"]) == 0
    assert list(upkeep.held(root)) == []


def test_a_store_may_be_a_link_to_another_disk(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(store)
    monkeypatch.setenv(cells.VARIABLE, str(link))
    assert command_status(["gc", "--older", "0"]) == 0
    assert list(upkeep.held(store)) == []
