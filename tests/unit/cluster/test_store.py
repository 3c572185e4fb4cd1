"""The store of finished cells here, of cells that ran elsewhere: as if they had run here."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from model import run_folder
from model.cell import cell_id
from model.errors import RunError
from testbed.campaign import digests, run_cell
from testbed.campaign.run_cell import execute
from testbed.campaign.run_cells import Outcome, Part, Progress, run_parts
from testbed.cluster import cells_here, giving, parcel
from testbed.cluster.parcel import Returned
from testbed.planning.plan import PlannedCell
from testbed.store import cells as store
from testbed.store import elsewhere
from tests.support.fake_lab import FakeLab
from tests.support.runs.cluster_cells import WITHIN_S, Act, Lab, planned, run, until

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)


def of_both_purposes() -> list[PlannedCell]:
    """Return a measuring and a calibrating cell: of each, files are changed as it is finished."""
    one = planned(1)[0]
    calibrating = dataclasses.replace(one.cell, purpose="calibrate")
    return [one, PlannedCell(id=cell_id(calibrating), cell=calibrating)]


def told(folder: Path) -> dict[str, str]:
    """Return the digest of each file below a folder, by its name there."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def alone(place: Path, cells: list[PlannedCell], lab: FakeLab) -> Outcome:
    part = Part(run=place, cells=cells, lab=lab)
    (outcome,) = run_parts([part], jobs=1, report=lambda _: None, use_store=True)
    return outcome


def never(cell: object, folder: Path) -> None:
    raise RunError("it ran")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the store here, which workers begun before have none of."""
    folder = tmp_path / "store"
    monkeypatch.setenv(store.VARIABLE, str(folder))
    return folder


def test_what_ran_there_is_kept_here_as_if_it_had_run_here(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "2")  # its store is off
    cells, lab = of_both_purposes(), Lab(Act(begun))
    for name, act in (("there", run), ("here", alone)):
        monkeypatch.setenv(store.VARIABLE, str(tmp_path / f"store-{name}"))
        given: dict[str, Any] = {"use_store": True} if act is run else {}
        assert act(tmp_path / name, cells, lab, **given).finished_cells == 2
    kept = told(tmp_path / "store-there")
    assert len([name for name in kept if name.endswith("entry.json")]) == 4
    assert kept == told(tmp_path / "store-here")


def test_more_seeds_run_on_a_cluster_are_those_that_are_missing(
    tmp_path: Path, begun: Path, here: str, start: Start, own: Path
) -> None:
    del own
    start("scheduler", here)
    start("worker", here, "--jobs", "2")
    cells, lab, seen = planned(4), Lab(Act(begun)), []

    def report(progress: Progress) -> None:
        seen.append((progress.done_cells, progress.stored_cells))

    assert run(tmp_path / "two", cells[:2], lab, use_store=True).stored_cells == 0
    outcome = run(tmp_path / "four", cells, lab, report, use_store=True)
    assert outcome == Outcome(finished_cells=4, failures=(), stored_cells=2)
    assert seen[-1] == (4, 2)
    seeds = [path.name.partition("-")[0] for path in begun.iterdir()]
    assert sorted(seeds) == ["1", "2", "3", "4"]
    again = run_folder.cell_folder(tmp_path / "four", cells[0].id)
    assert json.loads((again / run_folder.TIMING).read_text())["from_store"]["wall_s"] == 1.235


def test_what_a_workers_store_had_counts_as_from_a_store_and_is_kept_here_too(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "theirs"))
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    cells, lab = of_both_purposes(), Lab(Act(begun))
    assert run(tmp_path / "one", cells, lab, use_store=False).stored_cells == 0
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "own"))
    outcome = run(tmp_path / "two", cells, lab, use_store=True)
    assert outcome == Outcome(finished_cells=2, failures=(), stored_cells=2)
    assert len(list(begun.iterdir())) == 2
    assert told(tmp_path / "own") == told(tmp_path / "theirs")
    assert alone(tmp_path / "three", cells, Lab(never)).stored_cells == 2


def test_what_the_store_here_has_needs_no_worker(
    tmp_path: Path, begun: Path, here: str, start: Start, own: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    del own
    cells = planned(9)
    assert alone(tmp_path / "one", cells, Lab(Act(begun))).finished_cells == 9
    start("scheduler", here)
    monkeypatch.setattr(giving, "NO_WORKER_S", 0.0)
    assert run(tmp_path / "two", cells, Lab(never), use_store=True).stored_cells == 9


def test_a_slow_store_keeps_no_worker_waiting(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    cells, looked_for = planned(3), run_cell.from_store

    def slow(cell: Any, *rest: Any) -> Any:
        deadline_s = time.monotonic() + WITHIN_S
        while cell.seed == 1 and len(list(begun.iterdir())) < 2:  # the others have begun
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        return looked_for(cell, *rest)

    monkeypatch.setattr(cells_here, "from_store", slow)
    assert run(tmp_path / "run", cells, Lab(Act(begun))).finished_cells == 3


@pytest.mark.parametrize("place", ["store", store.OFF])
def test_only_a_cell_that_a_worker_has_counts_as_begun(
    tmp_path: Path, begun: Path, here: str, start: Start, place: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv(store.VARIABLE, place if place == store.OFF else str(tmp_path / place))
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    gate = tmp_path / "gate"
    told_of: list[Path] = []

    def look() -> None:
        until(lambda: list(begun.iterdir()))
        time.sleep(1)  # enough for the store to be looked into for the others
        told_of.extend((tmp_path / "run").glob(f"cells/*/{run_folder.CELL}"))
        gate.touch()

    looking = threading.Thread(target=look)
    looking.start()
    outcome = run(tmp_path / "run", planned(4), Lab(Act(begun, gate)), use_store=True)
    looking.join()
    assert (outcome.finished_cells, len(told_of)) == (4, 1)


def test_a_store_that_cannot_be_written_fails_no_cell_and_is_named(
    tmp_path: Path, begun: Path, here: str, start: Start, own: Path
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    own.write_text("no folder")
    said: set[str] = set()
    cells = planned(2)
    outcome = run(
        tmp_path / "run", cells, Lab(Act(begun)), lambda seen: said.update(seen.said),
        use_store=True,
    )  # fmt: skip
    assert outcome.finished_cells == 2
    assert any(f"cells cannot be kept in the store, {own}" in one for one in said)


@pytest.mark.parametrize("what", ["flipped", "missing", "another's"])
def test_damaged_evidence_is_not_kept_and_costs_no_cell(
    tmp_path: Path, begun: Path, own: Path, what: str
) -> None:
    lab, planned_ = Lab(Act(begun)), planned(1)[0]
    labs = {lab.properties.name: lab.properties}
    theirs = store.opened_at(tmp_path / "theirs", labs)
    mine = store.opened(labs)
    assert theirs is not None
    assert mine is not None
    folder = tmp_path / "there" / "cells" / planned_.id
    execute(planned_.cell, folder, lab, threading.Event(), (), theirs)
    besides = tmp_path / "besides"
    besides.mkdir()
    shelf = theirs.shelf(planned_.cell, lab.properties)
    record = elsewhere.besides(shelf, besides, digests.read_done(folder))
    assert record is not None
    changed = besides / run_folder.VERIFY  # checks are added to it as the cell is finished
    assert [path.name for path in besides.iterdir()] == [changed.name]
    if what == "another's":
        record = dataclasses.replace(record, identity={**record.identity, "starts": "other"})
    elif what == "missing":
        changed.unlink()
    else:
        changed.chmod(0o644)
        changed.write_bytes(changed.read_bytes()[:-1] + b" ")
    kept = mine.shelf(planned_.cell, lab.properties)
    returned = Returned(worker="lab1", packed=parcel.pack(folder, besides), evidence=record)
    parcel.take_over(returned, tmp_path / "run", planned_.id, planned_.cell, kept)
    assert run_folder.is_done(run_folder.cell_folder(tmp_path / "run", planned_.id))
    assert kept.said == ["a cell from elsewhere is not in the store: its evidence came damaged"]
    assert not kept.evidence.is_there()
    assert not own.exists()
