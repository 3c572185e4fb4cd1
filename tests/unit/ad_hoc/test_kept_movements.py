"""What a run keeps of a trace: known by its digest, given to the lab, seen when it is not there."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from pathlib import Path

import pytest

from model import run_folder
from model.cell import Cell, to_dict
from model.errors import DisagreementError, GroundtruthError, ParseError, RunError
from model.movement import kept
from model.movement.movement_csv import movement_of
from model.movement.paths import MOST_MM, MOST_NODES, MOST_NS
from reports.figures.moving.of_run import moving_nodes
from reports.store import run as store
from simulators.movements.claimed import MOST_ROWS
from testbed.campaign import again, manifest, new_runs, run_cell, run_cells, saved_runs
from testbed.guest.build_network import _moved
from testbed.labs.contract import accept
from testbed.labs.contract.lab import Ran
from testbed.labs.virtual.virtual_lab import PROPERTIES
from testbed.planning import plan as planning
from testbed.planning.findings import find
from tests.support import ad_hoc_study
from tests.support.fake_lab import FakeLab
from tests.support.radio.traced_study import MOVEMENT, TRACE, cell_of, read
from tests.support.runs.report_run import build_run, only_cell

SHA256 = hashlib.sha256(MOVEMENT.encode()).hexdigest()
NAME = f"movements/{SHA256}.csv"


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return cell_of(read(tmp_path / "study"), lab={"name": "virtual"})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A new run of a study whose file is gone since."""
    study = read(tmp_path / "study")
    plan = planning.make_plan(study, seeds=(1, 2), lab={"name": "virtual"})
    for file in (tmp_path / "study").iterdir():
        file.unlink()
    return new_runs.create(tmp_path / "r", plan, find(study, seeds=(1, 2)), ["groundtruth"])


class Lab(FakeLab):
    """Keeps what it is given, and fails."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, bytes] = {}

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        self.given = {path.name: path.read_bytes() for path in folder.iterdir()}
        raise RunError("enough seen")


def test_a_run_keeps_the_movement_without_the_file(run: Path) -> None:
    assert (run / NAME).read_text() == MOVEMENT
    assert [path.name for path in (run / run_folder.MOVEMENTS).iterdir()] == [f"{SHA256}.csv"]
    manifest.check(run)
    cells = saved_runs.load_cells(run)
    assert [one.cell.ad_hoc.mobility.movement_sha256 for one in cells if one.cell.ad_hoc] == [
        "", SHA256, SHA256,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_text(MOVEMENT + "1,5,0,0\n"), f"{NAME}: {SHA256[:12]} before, "),
        (Path.unlink, f"{NAME}: missing now"),
    ],
)
def test_a_changed_or_missing_movement_is_told(damage, said: str, run: Path) -> None:  # type: ignore[no-untyped-def]
    damage(run / NAME)
    with pytest.raises(DisagreementError, match=f"1 file is not what .*\n  {said}"):
        saved_runs.load_cells(run)


def test_a_manifest_names_no_file_elsewhere(run: Path) -> None:
    strange = ("movements/../study.yaml", "movements/x.csv", f"movements/{SHA256}.csv\n")
    one = manifest.Manifest(sha256=dict.fromkeys((*strange, NAME), "0" * 64))
    assert one.movements() == (NAME,)


def test_a_lab_is_given_the_movement(run: Path) -> None:
    planned = saved_runs.load_cells(run)[1]
    folder, lab = run_folder.cell_folder(run, planned.id), Lab()
    with pytest.raises(RunError, match="enough seen"):
        run_cell.execute(planned.cell, folder, lab, threading.Event())
    assert set(lab.given) == {run_folder.CELL, run_folder.GIVEN_MOVEMENT}
    assert lab.given[run_folder.GIVEN_MOVEMENT].decode() == MOVEMENT
    assert sorted(path.name for path in folder.iterdir()) == [run_folder.CELL]


def test_a_calibrating_lab_is_not(run: Path) -> None:
    planned, lab = saved_runs.load_cells(run)[0], Lab()
    with pytest.raises(RunError, match="enough seen"):
        run_cell.execute(planned.cell, run / "cells" / "c", lab, threading.Event())
    assert set(lab.given) == {run_folder.CELL}


def test_no_cell_begins_without_its_movement(run: Path) -> None:
    planned, lab = saved_runs.load_cells(run)[1], Lab()
    (run / NAME).unlink()
    with pytest.raises(ParseError, match="the movement that nodes follow cannot be read: got No"):
        run_cell.execute(planned.cell, run / "cells" / "c", lab, threading.Event())
    assert lab.given == {}
    assert not (run / "cells" / "c").exists()


def test_cells_that_are_repeated_follow_the_same(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def run_all(place: Path, *_: object, **_also: object) -> run_cells.Outcome:
        found.append((place / NAME).read_text())
        return run_cells.Outcome(finished_cells=0, failures=())

    monkeypatch.setattr(run_cells, "run_cells", run_all)
    assert again.repeat(run, [], Lab(), jobs=1, report=lambda _: None) == {}
    assert found == [MOVEMENT]
    assert list(run.glob(".verify-*")) == []
    assert (run / NAME).read_text() == MOVEMENT


def test_what_a_lab_was_given_is_not_taken_back(cell: Cell, tmp_path: Path) -> None:
    guest, into = tmp_path / "c" / run_folder.GUEST, tmp_path / "c"
    guest.mkdir(parents=True)
    (into / run_folder.CELL).write_text("{}")
    (guest / run_folder.GIVEN_MOVEMENT).write_text("changed by the guest")
    (guest / "env.json").write_text("{}")
    accept.take(guest, into, cell)
    assert sorted(path.name for path in into.iterdir()) == ["cell.json", "env.json"]


def test_only_who_follows_a_file_may_leave_one(tmp_path: Path) -> None:
    guest = tmp_path / "c" / run_folder.GUEST
    guest.mkdir(parents=True)
    (guest / run_folder.GIVEN_MOVEMENT).write_text(MOVEMENT)
    with pytest.raises(RunError, match=r"movement\.csv'.*wanted no such name"):
        accept.take(guest, tmp_path / "c", ad_hoc_study.cell())


def test_any_file_that_a_study_may_have_can_be_kept(cell: Cell) -> None:
    longest = f"{MOST_NS},{MOST_NODES - 1},{MOST_MM},{MOST_MM}\n"
    assert MOST_ROWS * len(longest) < kept.MOST_BYTES
    assert accept.expected(cell)[run_folder.MOVEMENT] == kept.MOST_BYTES


def test_the_guest_hands_on_what_it_was_given(cell: Cell, tmp_path: Path) -> None:
    (tmp_path / run_folder.GIVEN_MOVEMENT).write_text(MOVEMENT)
    assert cell.ad_hoc is not None
    assert _moved(cell, cell.ad_hoc, tmp_path).decode() == MOVEMENT
    calibrating = dataclasses.replace(cell, purpose="calibrate")
    assert _moved(calibrating, cell.ad_hoc, tmp_path / "none").startswith(b"t_ns,node,x_mm,y_mm\n")
    (tmp_path / run_folder.GIVEN_MOVEMENT).write_text(MOVEMENT.replace("700000", "699999"))
    with pytest.raises(ParseError, match="not the movement that nodes follow: wanted SHA-256"):
        _moved(cell, cell.ad_hoc, tmp_path)


def test_what_is_read_is_what_the_settings_name(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text(MOVEMENT)
    assert kept.digest(MOVEMENT) == SHA256
    assert kept.read(file, SHA256).decode() == MOVEMENT
    assert kept.movement(file, SHA256) == movement_of(MOVEMENT, "m")


@pytest.mark.parametrize(
    ("sha256", "said"),
    [
        ("../../../etc/passwd", r"a cell names no movement: wanted a SHA-256, got '\.\./"),
        (SHA256.upper(), "a cell names no movement"),
        (f"{SHA256}\n", "a cell names no movement"),
        (
            "0" * 64,
            f"not the movement that nodes follow: wanted SHA-256 000000000000, got {SHA256[:12]}",
        ),
    ],
)
def test_what_is_not_it(sha256: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(MOVEMENT)
    with pytest.raises(ParseError, match=said):
        kept.read(tmp_path / "m.csv", sha256)


def test_a_link_is_not_followed_and_no_text_is_no_movement(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(MOVEMENT)
    (tmp_path / "link.csv").symlink_to(tmp_path / "m.csv")
    with pytest.raises(ParseError, match="cannot be read: got wanted a plain file, got a link"):
        kept.read(tmp_path / "link.csv", SHA256)
    (tmp_path / "b.csv").write_bytes(b"\xff")
    with pytest.raises(ParseError, match="not text"):
        kept.movement(tmp_path / "b.csv", hashlib.sha256(b"\xff").hexdigest())


def test_a_report_shows_what_the_run_keeps(cell: Cell, tmp_path: Path) -> None:
    run = build_run(tmp_path / "run", losses=(0.01,), seeds=1)
    path = only_cell(run) / run_folder.CELL
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "network": to_dict(cell)["network"]}))
    with pytest.raises(GroundtruthError, match="the movement that nodes follow cannot be read"):
        store.read_run(run)
    (run / run_folder.MOVEMENTS).mkdir()
    (run / NAME).write_text(MOVEMENT)
    found = store.read_run(run)
    assert found.damaged == ()
    assert found.traced == movement_of(MOVEMENT, "m")
    shown = str(moving_nodes(found, "moving"))
    assert f"file {hashlib.sha256(TRACE.encode()).hexdigest()[:12]} (SHA-256)" in shown


def test_a_run_of_links_keeps_none(tmp_path: Path) -> None:
    assert store.read_run(build_run(tmp_path, losses=(0.01,), seeds=1)).traced is None
    assert PROPERTIES.repeatable, "or repeating would refuse before it lends anything"
