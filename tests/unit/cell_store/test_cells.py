"""Cells from the store are those that would have run, to the byte; whatever is wrong is named."""

from __future__ import annotations

import collections
import dataclasses
import errno
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model import plain_files, run_folder
from model.cell import Cell, cell_id
from model.errors import RunError
from testbed.campaign import again, digests
from testbed.campaign.run_cells import Outcome, Part, Progress, run_parts
from testbed.labs.contract.lab import Ran
from testbed.planning.plan import PlannedCell
from testbed.store import cells, identity, share
from tests.support.fake_lab import ENVIRONMENT, FakeLab, write_recorded
from tests.support.recorded import wireless_cell

pytestmark = pytest.mark.usefixtures("cells_here")

LAB = {"name": "virtual", "kernel_digest": "k"}


def act(cell: Cell, folder: Path) -> None:
    """Leave what follows from the cell that the guest is shown, seed included."""
    write_recorded(cell, folder)
    shown = json.loads((folder / run_folder.CELL).read_text())
    (folder / run_folder.ENV).write_text(json.dumps({**ENVIRONMENT, "seed": shown["seed"]}))


def planned(*seeds: int, **changes: Any) -> list[PlannedCell]:
    """Return a calibration and measuring cells of these seeds."""
    made = [wireless_cell(seed=seeds[0], purpose="calibrate", lab=LAB, **changes)]
    made += [
        wireless_cell(seed=seed, replicate=number, lab=LAB, **changes)
        for number, seed in enumerate(seeds, start=1)
    ]
    return [PlannedCell(id=cell_id(cell), cell=cell) for cell in made]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "store"
    monkeypatch.setenv(cells.VARIABLE, str(place))
    return place


class Said(list[Progress]):
    """Remembers each report as it was."""

    def __call__(self, progress: Progress) -> None:
        self.append(dataclasses.replace(progress))


def run(
    folder: Path, these: list[PlannedCell], lab: FakeLab | None = None, said: Said | None = None
) -> tuple[Outcome, list[int]]:
    """Run cells with the store; return what came of it, and the seeds that the lab ran."""
    lab, report = lab or FakeLab(act), Said() if said is None else said
    (outcome,) = run_parts(
        [Part(run=folder, cells=these, lab=lab)], jobs=1, report=report, use_store=True
    )
    return outcome, lab.ran


def content(run: Path) -> dict[str, bytes]:
    """Return all of a run's cells that another run of them must leave the same."""
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in run.rglob("*")
        if path.is_file() and path.name not in (run_folder.TIMING, run_folder.CONSOLE)
    }


def kept(store: Path) -> dict[str, bytes]:
    return {str(p.relative_to(store)): p.read_bytes() for p in store.rglob("*") if p.is_file()}


def entries(store: Path, kind: str) -> list[Path]:
    return sorted(path.parent for path in store.glob(f"{kind}/*/*/entry.json"))


def test_more_seeds_of_a_study_run_only_the_new_ones(tmp_path: Path) -> None:
    outcome, ran = run(tmp_path / "five", planned(1, 2, 3, 4, 5))
    assert (outcome.finished_cells, outcome.stored_cells, len(ran)) == (6, 0, 6)
    said = Said()
    outcome, ran = run(tmp_path / "ten", planned(*range(1, 11)), said=said)
    assert outcome == Outcome(finished_cells=11, failures=(), stored_cells=6)
    assert ran == [6, 7, 8, 9, 10]
    last = said[-1]
    assert (last.done_cells, last.stored_cells, last.total_cells) == (11, 6, 11)
    assert last.total_virtual_s == last.done_virtual_s == 5 * 100
    assert last.said == ()


def test_what_came_from_the_store_is_the_same_to_the_byte(tmp_path: Path) -> None:
    these = planned(1, 2)
    run(tmp_path / "a", these)
    _, ran = run(tmp_path / "b", these)
    assert ran == []
    (outcome,) = run_parts(
        [Part(run=tmp_path / "c", cells=these, lab=FakeLab(act))], jobs=1, report=Said()
    )
    assert outcome.stored_cells == 0
    assert content(tmp_path / "a") == content(tmp_path / "b") == content(tmp_path / "c")
    assert digests.changed(tmp_path / "b", [one.id for one in these]) == {}


def test_another_study_that_shares_points_has_its_cells_with_its_own_names(tmp_path: Path) -> None:
    run(tmp_path / "a", planned(1, 2))
    other = planned(2, 1, study="another", point={"loss": 0.01, "sources": 4})
    outcome, ran = run(tmp_path / "b", other[1:])
    assert (outcome.stored_cells, ran) == (2, [])
    for one in other[1:]:
        folder = run_folder.cell_folder(tmp_path / "b", one.id)
        shown = json.loads((folder / run_folder.CELL).read_text())
        assert (shown["study"], shown["point"]) == ("another", {"loss": 0.01, "sources": 4})
        assert (shown["seed"], shown["replicate"]) == (one.cell.seed, one.cell.replicate)
    run_parts([Part(run=tmp_path / "c", cells=other[1:], lab=FakeLab(act))], jobs=1, report=Said())
    assert content(tmp_path / "b") == content(tmp_path / "c")


def test_a_guest_is_not_told_which_cell_of_which_study_it_is(tmp_path: Path) -> None:
    shown = []

    def look(cell: Cell, folder: Path) -> None:
        shown.append(json.loads((folder / run_folder.CELL).read_text()))
        act(cell, folder)

    run(tmp_path / "a", planned(7, 8), FakeLab(look))
    assert [(one["study"], one["point"], one["replicate"]) for one in shown] == [("", {}, 0)] * 3
    assert [one["seed"] for one in shown] == [7, 7, 8]


def test_a_cell_says_that_it_came_from_the_store(tmp_path: Path, store: Path) -> None:
    these = planned(1)[1:]
    for name in ("a", "b"):
        run(tmp_path / name, these)
    folder = run_folder.cell_folder(tmp_path / "b", these[0].id)
    (entry,) = entries(store, "evidence")
    assert json.loads((folder / run_folder.TIMING).read_text()) == {
        "wall_s": 0.0,
        "from_store": {"evidence": entry.name, "parsed": False, "wall_s": 1.235},
    }
    words = (folder / run_folder.CONSOLE).read_text()
    assert words == f"groundtruth: no lab ran here: from the store, evidence {entry.name}\n"
    before = run_folder.cell_folder(tmp_path / "a", these[0].id)
    assert "from_store" not in (before / run_folder.TIMING).read_text()


def test_other_parsers_parse_the_evidence_again_and_run_nothing(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    these = planned(1, 2)
    run(tmp_path / "a", these)
    monkeypatch.setattr(cells, "_parses", lambda: "another parser")
    said = Said()
    outcome, ran = run(tmp_path / "b", these, said=said)
    assert (outcome.stored_cells, ran, said[-1].said) == (3, [], ())
    assert content(tmp_path / "a") == content(tmp_path / "b")
    folder = run_folder.cell_folder(tmp_path / "b", these[1].id)
    assert json.loads((folder / run_folder.TIMING).read_text())["from_store"]["parsed"] is True
    # Each has its tables now, of the same evidence.
    assert (len(entries(store, "evidence")), len(entries(store, "tables"))) == (3, 6)
    run(tmp_path / "c", these)
    folder = run_folder.cell_folder(tmp_path / "c", these[1].id)
    assert json.loads((folder / run_folder.TIMING).read_text())["from_store"]["parsed"] is False


def test_another_lab_or_what_starts_it_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "a", planned(1))
    built = [dataclasses.replace(p.cell, lab={**LAB, "kernel_digest": "l"}) for p in planned(1)]
    _, ran = run(tmp_path / "b", [PlannedCell(id=cell_id(cell), cell=cell) for cell in built])
    assert len(ran) == 2
    monkeypatch.setattr(identity, "starts_digest", lambda _: "another command line")
    assert len(run(tmp_path / "c", planned(1))[1]) == 2


def test_without_a_store_and_in_labs_that_do_not_repeat_every_cell_runs(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Once(FakeLab):
        properties = dataclasses.replace(FakeLab.properties, repeatable=False)

    these = planned(1)
    for name in ("a", "b"):
        assert len(run(tmp_path / name, these, Once(act))[1]) == 2
    monkeypatch.setenv(cells.VARIABLE, cells.OFF)
    for name in ("c", "d"):
        assert len(run(tmp_path / name, these)[1]) == 2
    assert not store.exists()


def test_verify_runs_cells_whatever_the_store_has(tmp_path: Path) -> None:
    these, lab = planned(1, 2), FakeLab(act)
    run(tmp_path, these)
    assert again.repeat(tmp_path, these, lab, jobs=1, report=Said()) == {}
    assert lab.ran == [1, 1, 2]

    def otherwise(cell: Cell, folder: Path) -> None:
        act(cell, folder)
        (folder / run_folder.ENV).write_text(json.dumps({**ENVIRONMENT, "seed": -1}))

    differ = again.repeat(tmp_path, these, FakeLab(otherwise), jobs=1, report=Said())
    assert [where.rpartition("/")[2] for where in differ] == [run_folder.ENV] * 3


@pytest.fixture(params=["link", "copy"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How files come into the store, on whatever file system the tests run."""
    monkeypatch.setattr(share, "_cloned", lambda *_: False)
    if request.param == "copy":
        monkeypatch.setattr(share, "_linked", lambda *_: False)
    return str(request.param)


def test_no_file_is_read_twice_for_its_digest(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, sha256 = collections.Counter[int](), plain_files.sha256

    def counted(path: Path) -> str:
        if path.is_relative_to(tmp_path):
            read[path.stat().st_ino] += 1
        return sha256(path)

    monkeypatch.setattr(plain_files, "sha256", counted)
    (one,) = planned(1)[1:]
    run(tmp_path / "a", [one])
    trace = run_folder.cell_folder(tmp_path / "a", one.id) / "raw/trace/pages.bin.gz"
    assert trace.stat().st_nlink == (2 if how == "link" else 1)
    assert set(read.values()) == {1}


def test_the_store_has_the_digests_of_its_own_bytes(how: str, tmp_path: Path, store: Path) -> None:
    run(tmp_path / how, planned(1))
    for entry in (*entries(store, "evidence"), *entries(store, "tables")):
        said = json.loads((entry / "entry.json").read_text())["sha256"]
        there = {
            str(path.relative_to(entry / "files")): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (entry / "files").rglob("*")
            if path.is_file()
        }
        assert said == there
        assert run_folder.VERIFY in said  # of the lab, and with what was checked: two files


def test_what_fails_is_not_kept(tmp_path: Path, store: Path) -> None:
    def fails(cell: Cell, folder: Path) -> None:
        act(cell, folder)
        if cell.seed == 2:
            (folder / run_folder.LEDGER).unlink()
        if cell.seed == 3:
            raise RunError("the lab's kernel panicked")

    outcome, _ = run(tmp_path / "a", planned(1, 2, 3), FakeLab(fails))
    assert len(outcome.failures) == 2
    assert (len(entries(store, "evidence")), len(entries(store, "tables"))) == (2, 2)
    assert [path.name for path in store.iterdir() if path.name.startswith(".")] == []
    _, ran = run(tmp_path / "b", planned(1, 2, 3))
    assert ran == [2, 3]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, path.stat().st_size // 2)


def lose(path: Path) -> None:
    path.unlink()


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def foreign(path: Path) -> None:
    path.with_name("another").write_text("not of this cell")


@pytest.mark.parametrize("damage", [flip, cut, lose, link, foreign])
@pytest.mark.parametrize(
    ("kind", "name", "again"),
    [
        ("evidence", "files/raw/trace/pages.bin.gz", [1]),
        ("evidence", "entry.json", [1]),
        ("tables", "files/tables/flows.parquet", []),
        ("tables", "files/audit.json", []),
        ("tables", "entry.json", []),
    ],
)
def test_what_is_damaged_is_named_set_aside_and_never_used(
    tmp_path: Path, store: Path, damage: Callable[[Path], None], kind: str, name: str,
    again: list[int],
) -> None:  # fmt: skip
    these = planned(1)[1:]
    run(tmp_path / "a", these)
    before, entry = content(tmp_path / "a"), entries(store, kind)[0]
    shutil.copytree(tmp_path / "a", tmp_path / "whole")
    if damage is foreign and name == "entry.json":
        name = "files/raw/more" if kind == "evidence" else "files/tables/more"
    damage(entry / name)
    said = Said()
    outcome, ran = run(tmp_path / "b", these, said=said)
    assert (outcome.finished_cells, ran) == (1, again)
    assert content(tmp_path / "b") == content(tmp_path / "whole")
    (words,) = said[-1].said
    aside = store / "damaged" / f"{kind}-{entry.name[:16]}-1"
    assert words.startswith(f"the store's {kind} {entry.name[:16]} are not what they were: ")
    assert words.endswith(f"; moved to {aside}")
    assert aside.is_dir()
    # What was run or parsed instead is kept, and is good.
    said = Said()
    outcome, ran = run(tmp_path / "c", these, said=said)
    assert (outcome.stored_cells, ran, said[-1].said) == (1, [], ())
    assert content(tmp_path / "c") == before


def test_an_entry_of_another_cell_is_not_taken_for_this_one(tmp_path: Path, store: Path) -> None:
    one, other = planned(1)[1:], planned(2)[1:]
    run(tmp_path / "a", one)
    (mine,) = entries(store, "evidence")
    run(tmp_path / "b", other)
    (theirs,) = {*entries(store, "evidence")} - {mine}
    shutil.rmtree(theirs)
    shutil.copytree(mine, theirs)
    said = Said()
    _, ran = run(tmp_path / "c", other, said=said)
    assert ran == [2]
    assert "entry.json: not of an entry of this name" in said[-1].said[0]


def test_tables_of_other_evidence_are_not_put_beside_this_one(tmp_path: Path, store: Path) -> None:
    """Evidence that was lost came back otherwise: no lab that repeats does so, but a broken one."""
    these = planned(1)[1:]
    run(tmp_path / "a", these)
    (lost,) = entries(store, "evidence")
    shutil.rmtree(lost)

    def otherwise(cell: Cell, folder: Path) -> None:
        act(cell, folder)
        (folder / run_folder.ENV).write_text(json.dumps({**ENVIRONMENT, "seed": -1}))

    run(tmp_path / "b", these, FakeLab(otherwise))
    said = Said()
    outcome, ran = run(tmp_path / "c", these, said=said)
    assert (outcome.stored_cells, ran) == (1, [])
    assert "env.json: not of its evidence" in said[-1].said[0]
    assert content(tmp_path / "c") == content(tmp_path / "b")


def test_whatever_happens_to_a_run_folder_leaves_the_store_as_it_was(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    these = planned(1, 2)
    run(tmp_path / "a", these)
    before = kept(store)
    folder = run_folder.cell_folder(tmp_path / "a", these[1].id)
    for path in (folder / run_folder.FLOWS_TABLE, folder / "raw/trace/pages.bin.gz"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o222 or path.stat().st_nlink == 1

    def write_tables(view: Path, cell: object, _tolerances: object) -> None:
        (view / "tables").mkdir()
        (view / run_folder.FLOWS_TABLE).write_bytes(b"other tables")
        (view / run_folder.AUDIT).write_text("{}")

    with monkeypatch.context() as patched:
        patched.setattr("collectors.tables.write.write_tables", write_tables)
        assert again.parse_cells(tmp_path / "a", these, jobs=1, report=Said()).failures == []
    assert (folder / run_folder.FLOWS_TABLE).read_bytes() == b"other tables"
    assert kept(store) == before
    (folder / run_folder.DONE).unlink()  # as resume does with a cell that was changed
    outcome, ran = run(tmp_path / "a", these)
    assert (outcome.stored_cells, ran) == (1, [])
    shutil.rmtree(tmp_path / "a")
    assert kept(store) == before


def test_who_comes_second_loses_nothing_and_a_difference_is_told(
    tmp_path: Path, store: Path
) -> None:
    these = planned(1)[1:]

    def also(cell: Cell, folder: Path) -> None:
        """Another process finishes the same cell while this one runs it."""
        run(tmp_path / "first", these)
        act(cell, folder)

    said = Said()
    outcome, ran = run(tmp_path / "second", these, FakeLab(also), said=said)
    assert (outcome.finished_cells, ran, said[-1].said) == (1, [1], ())
    assert len(entries(store, "evidence")) == 1
    assert content(tmp_path / "first") == content(tmp_path / "second")

    def otherwise(cell: Cell, folder: Path) -> None:
        also(cell, folder)
        (folder / run_folder.ENV).write_text(json.dumps({**ENVIRONMENT, "seed": -1}))

    shutil.rmtree(store)
    shutil.rmtree(tmp_path / "first")
    said = Said()
    run(tmp_path / "third", these, FakeLab(otherwise), said=said)
    (words,) = said[-1].said
    assert words.startswith("this cell left other evidence than another run of it, which the store")


def test_a_store_that_cannot_be_written_fails_no_cell(tmp_path: Path, store: Path) -> None:
    store.write_text("a file in its place")
    said = Said()
    outcome, ran = run(tmp_path / "a", planned(1, 2), said=said)
    assert (outcome.finished_cells, len(ran)) == (3, 3)
    assert said[-1].said == (f"cells cannot be kept in the store, {store}: File exists",)


def test_a_store_that_is_full_is_told_with_what_makes_room(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(share, "share", full)
    said = Said()
    outcome, ran = run(tmp_path / "a", planned(1, 2), said=said)
    assert (outcome.finished_cells, len(ran)) == (3, 3)
    (words,) = said[-1].said
    assert words == (
        f"cells cannot be kept in the store, {store}: No space left on device; groundtruth gc "
        "--older DAYS makes room there"
    )
    assert not entries(store, "evidence")


def test_where_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for given, found in (
        ("", tmp_path / "groundtruth" / "store"),
        ("off", None),
        ("/shared/cells", Path("/shared/cells")),
        ("cells", Path.cwd() / "cells"),
    ):
        monkeypatch.setenv(cells.VARIABLE, given)
        assert cells.place() == found


def test_how_long_a_lab_ran_is_kept_with_its_evidence(tmp_path: Path, store: Path) -> None:
    class Slow(FakeLab):
        def run(self, *words: Any) -> Ran:
            super().run(*words)
            return Ran(wall_s=77.5)

    run(tmp_path / "a", planned(1)[1:], Slow(act))
    (entry,) = entries(store, "evidence")
    assert json.loads((entry / "entry.json").read_text())["wall_s"] == 77.5


@pytest.mark.parametrize("mode", [0o2775, 0o700])
def test_who_may_write_in_the_store_may_write_below_whoever_made_it(
    mode: int, tmp_path: Path, store: Path
) -> None:
    store.mkdir()
    store.chmod(mode)
    before = os.umask(0o077 if mode & 0o070 else 0)
    try:
        run(tmp_path / "a", planned(1))
        flip(entries(store, "evidence")[0] / "entry.json")
        run(tmp_path / "b", planned(1))
    finally:
        os.umask(before)
    folders = [path for path in store.rglob("*") if path.is_dir()]
    assert {"damaged", "evidence", "files", "raw"} <= {path.name for path in folders}
    assert {path.stat().st_mode & 0o7777 for path in folders} == {mode}
    records = [
        entry / "entry.json" for kind in ("evidence", "tables") for entry in entries(store, kind)
    ]
    assert {path.stat().st_mode & 0o777 for path in records} == {mode & 0o666}
