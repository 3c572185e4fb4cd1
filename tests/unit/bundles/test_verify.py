"""``groundtruth verify BUNDLE``: what is checked, repeated and said, here and in another lab."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from model import plain_files, run_folder
from model.cell import Cell
from testbed.bundles import archive, make
from testbed.bundles.crate import METADATA
from testbed.campaign import digests
from testbed.command import bundling
from testbed.command.cli import command_status
from testbed.labs import registry
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs import repacking
from tests.support.runs.repacking import in_text
from tests.support.said import Said
from tests.unit.bundles.conftest import run_one

Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where bundles are unpacked."""
    folder = tmp_path / "unpacked"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(params=[[], ["--evidence"]], ids=["documents", "evidence"])
def bundle(run: Path, request: pytest.FixtureRequest) -> Path:
    assert command_status(["bundle", str(run), "--to", "b.tar.gz", *request.param]) == 0
    return Path("b.tar.gz")


def repacked(bundle: Path, change: Change, *, sums: bool = False) -> None:
    """Change what a bundle holds; with ``sums`` write its digests anew as well."""
    Path("x").mkdir()
    folder = archive.unpack(bundle, Path("x"))
    change(folder)
    bundle.write_bytes(repacking.packed(folder, sums=sums))


def write_another(cell: Cell, folder: Path) -> None:
    """Leave what the run's lab left, but for a byte."""
    write_recorded(cell, folder)
    (folder / run_folder.ENV).write_text((folder / run_folder.ENV).read_text() + "\n")


def only(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def test_a_sample_is_repeated_and_nothing_is_left(
    lab: FakeLab, bundle: Path, place: Path, said: Said
) -> None:
    said()
    lab.ran.clear()
    assert command_status(["verify", str(bundle), "--sample", "2", "-j", "1"]) == 0
    told, left_out = said()
    packed, repeated = told.splitlines()
    assert packed.endswith(" files as packed")
    assert repeated == "2 cells repeated, every file the same to the byte"
    assert "verdicts were not made again from tables: --sample 0 does that" in left_out
    assert len(lab.ran) == 2
    assert list(place.iterdir()) == []
    assert command_status(["verify", str(bundle), "--cells", "0", "-j", "1"]) == 0
    assert len(lab.ran) == 5
    assert said()[0].splitlines()[-1] == "summaries are what the tables give"


def test_a_set_is_verified_study_by_study(lab: FakeLab, said: Said) -> None:
    run = run_one("two.yaml")
    assert command_status(["bundle", str(run), "--to", "b.tar.gz"]) == 0
    said()
    assert command_status(["verify", "b.tar.gz", "--sample", "1", "-j", "1"]) == 0
    lines = said()[0].splitlines()[1:]
    assert [line.split(" cell ")[0] for line in lines] == ["one: 1", "two: 1"]


def test_other_bytes_are_told(lab: FakeLab, bundle: Path, place: Path, said: Said) -> None:
    lab.act = write_another
    assert command_status(["verify", str(bundle), "--sample", "0", "-j", "1"]) == 1
    err = said()[1]
    assert "of 3 cells not the same" in err
    assert "env.json: " in err
    assert list(place.iterdir()) == []


def test_another_lab_is_said_before_its_bytes_count(
    lab: FakeLab, bundle: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe = lab.describe
    monkeypatch.setattr(lab, "describe", lambda kernel: {**describe(kernel), "code_digest": "d"})
    assert command_status(["verify", str(bundle), "--sample", "1", "-j", "1"]) == 0
    out, err = said()
    assert out.splitlines()[-1].endswith("the same to the byte, though in another lab")
    assert "wanted code_digest c, got code_digest d" in err
    assert "bytes may rightly differ" in err
    lab.act = write_another
    assert command_status(["verify", str(bundle), "--sample", "1", "-j", "1"]) == 1
    assert "repeated in another lab, with other bytes in 1 file" in " ".join(said()[1].split())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda at: (at / "README.md").write_text("x"), "README.md: "),
        (lambda at: (at / "more").write_text("x"), "more: was not there before"),
        (lambda at: only(at, "run/cells/*/DONE").unlink(), "DONE: missing now"),
        (lambda at: (at / make.SUMS).unlink(), "SHA256SUMS"),
        (lambda at: (at / make.SUMS).write_text("x\n"), "SHA256SUMS:1"),
    ],
)
def test_what_is_not_as_packed_is_named_and_not_run(
    lab: FakeLab, bundle: Path, said: Said, place: Path, change: Change, message: str
) -> None:
    repacked(bundle, change)
    lab.ran.clear()
    assert command_status(["verify", str(bundle), "-j", "1"]) in (1, 3)
    assert message in said()[1]
    assert lab.ran == []
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda at: only(at, "run/cells/*/env.json").write_text("{}"), "env.json: "),
        (lambda at: only(at, "run/cells/*/DONE").write_text("{}"), "not a finished cell"),
        (lambda at: (at / "run/study.yaml").write_text("x"), "study.yaml: "),
        (lambda at: (at / "bundle.json").write_text("{}"), "not a bundle"),
        (lambda at: (at / "bundle.json").write_text('{"schema": 2, "evidence": true}'),
         "not a bundle this version reads"),
        (lambda at: (at / "run/plan.json").unlink(), "not a run folder"),
        (lambda at: in_text(at / "run/manifest.json", '"schema": 1', '"schema": 1 '),
         "not as a run writes it"),
    ],
)  # fmt: skip
def test_who_writes_digests_anew_meets_the_runs_own(
    lab: FakeLab, bundle: Path, said: Said, change: Change, message: str
) -> None:
    repacked(bundle, change, sums=True)
    lab.ran.clear()
    assert command_status(["verify", str(bundle), "-j", "1"]) in (1, 2, 3)
    assert message in " ".join(said()[1].split())
    assert lab.ran == []


def test_who_writes_all_digests_anew_is_found_by_repeating(
    lab: FakeLab, bundle: Path, said: Said
) -> None:
    def change(at: Path) -> None:
        for done in at.glob("run/cells/*/DONE"):
            env = done.parent / run_folder.ENV
            env.write_text("{}\n")
            told = {**digests.read_done(done.parent), run_folder.ENV: plain_files.sha256(env)}
            done.write_text(digests.done_text(told))

    repacked(bundle, change, sums=True)
    assert command_status(["verify", str(bundle), "--sample", "1", "-j", "1"]) == 1
    assert "env.json: " in said()[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda at: in_text(at / make.README, "A run of", "The run of"), "README.md: "),
        (lambda at: in_text(at / METADATA, '"contentSize": "', '"contentSize": "1'),
         "bytes described"),
        (lambda at: in_text(at / METADATA, '"contentSize": "', '"contentSize": "-'),
         "a size of"),
        (lambda at: in_text(at / METADATA, plain_files.sha256(at / make.CITATION), "f" * 64),
         "CITATION.cff: 'ffffffffffff' described"),
        (lambda at: (at / "more").write_text("x"), "more: not described"),
        (lambda at: (at / make.CITATION).unlink(), "CITATION.cff: not there"),
        (lambda at: (at / METADATA).write_text("[]"), "not a bundle"),
        (lambda at: (at / METADATA).unlink(), METADATA),
    ],
)  # fmt: skip
def test_what_the_description_says_is_held_against_the_files(
    lab: FakeLab, run: Path, said: Said, change: Change, message: str
) -> None:
    bundle = Path("b.tar.gz")
    assert command_status(["bundle", str(run), "--to", str(bundle)]) == 0
    Path("x").mkdir()
    folder = archive.unpack(bundle, Path("x"))
    change(folder)
    bundle.write_bytes(repacking.packed(folder, sums=True, described=False))
    lab.ran.clear()
    assert command_status(["verify", str(bundle), "-j", "1"]) in (1, 3)
    assert message in " ".join(said()[1].split())
    assert lab.ran == []


def test_a_summary_that_is_not_what_the_tables_give_is_told(
    lab: FakeLab, bundle: Path, said: Said
) -> None:
    def change(at: Path) -> None:
        in_text(at / "run/summary.json", '"mean": ', '"mean": 1')

    repacked(bundle, change, sums=True)
    assert command_status(["verify", str(bundle), "--sample", "0", "-j", "1"]) == 1
    assert "not what tables give here: summary.json" in " ".join(said()[1].split())


def test_one_run_of_a_set_with_another_summary_is_told(lab: FakeLab, said: Said) -> None:
    run = run_one("two.yaml")
    assert command_status(["bundle", str(run), "--to", "b.tar.gz"]) == 0

    def change(at: Path) -> None:
        in_text(at / "run/two/summary.json", '"mean": ', '"mean": 1')

    repacked(Path("b.tar.gz"), change, sums=True)
    assert command_status(["verify", "b.tar.gz", "--sample", "0", "-j", "1"]) == 1
    told = " ".join(said()[1].split())
    assert "not what tables give here: two: summary.json, summary.json of the set" in told


@pytest.mark.parametrize("name", ["host", "remote", "moon"])
def test_a_strangers_cells_get_no_lab_that_is_not_confined(
    lab: FakeLab, run: Path, said: Said, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    bundle = Path("b.tar.gz")
    assert command_status(["bundle", str(run), "--to", str(bundle)]) == 0

    def ready(*_words: object) -> None:
        raise AssertionError("made ready for a stranger")

    for kind in registry.LABS.values():
        monkeypatch.setattr(type(kind), "ready", ready)
    repacked(bundle, lambda at: repacking.in_lab(at / "run", name), sums=True)
    assert command_status(["verify", str(bundle), "-j", "1"]) in (2, 4)
    told = " ".join(said()[1].split())
    assert ("no such lab" if name == "moon" else "cells of this lab cannot be verified") in told


def test_its_path_may_be_a_link(lab: FakeLab, bundle: Path, said: Said) -> None:
    Path("link.tar.gz").symlink_to(bundle)
    assert command_status(["verify", "link.tar.gz", "--sample", "1", "-j", "1"]) == 0


def test_what_is_no_bundle(lab: FakeLab, said: Said) -> None:
    Path("b.tar.gz").write_bytes(b"no gzip")
    assert command_status(["verify", "b.tar.gz"]) == 3
    assert "not a bundle" in said()[1]
    assert not bundling.is_bundle("missing.tar.gz")
