"""Tables are made again from raw files alone: all of a cell or none, whenever it is stopped."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.cell import cell_id
from model.errors import RunError
from testbed.campaign import again, digests
from testbed.campaign.again import Outcome, parse_cells, raise_if_failed, table_lines
from testbed.campaign.run_cells import Progress, run_cells
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab
from tests.support.recorded import wireless_cell

# Parsed in this process, where parsers can be replaced.
pytestmark = pytest.mark.usefixtures("cells_here")

LAB = {"name": "virtual"}
CELLS = [
    PlannedCell(id=cell_id(cell), cell=cell)
    for cell in (
        wireless_cell(lab=LAB, seed=1, purpose="calibrate"),
        wireless_cell(lab=LAB, seed=2),
        wireless_cell(lab=LAB, seed=3),
    )
]
IDS = [planned.id for planned in CELLS]


def nothing(_: Progress) -> None:
    pass


def parse(run: Path) -> Outcome:
    return parse_cells(run, CELLS, jobs=2, report=nothing)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run_cells(tmp_path, CELLS, FakeLab(), jobs=2, report=nothing)
    return tmp_path


def state(run: Path) -> dict[str, bytes]:
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file()}


def folder(run: Path, number: int) -> Path:
    return run_folder.cell_folder(run, IDS[number])


def test_the_same_parsers_change_nothing(run: Path) -> None:
    before = state(run)
    outcome = parse(run)
    assert (outcome.cells, outcome.failures, outcome.unfinished) == (2, [], 0)
    assert {change for _, change in outcome.changes} == {"same"}
    assert table_lines(outcome)[:2] == ["2 cells parsed", "audit.json: 2 same"]
    assert state(run) == before


def test_missing_and_edited_tables_come_back(run: Path) -> None:
    before = state(run)
    (folder(run, 1) / run_folder.AUDIT_TABLE).unlink()
    (folder(run, 1) / run_folder.FLOWS_TABLE).write_bytes(b"")
    shutil.rmtree(folder(run, 2) / "tables")
    (folder(run, 2) / run_folder.AUDIT).write_text("{}")
    assert list(digests.changed(run, IDS)) == IDS[1:]
    outcome = parse(run)
    assert outcome.changes[run_folder.AUDIT_TABLE, "new"] == 2
    assert outcome.changes[run_folder.FLOWS_TABLE, "changed"] == 1
    assert outcome.changes[run_folder.AUDIT, "changed"] == 1
    assert state(run) == before


def test_another_parser_makes_other_tables_and_done_knows_them(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pl.DataFrame({"x": [1]})

    def write_tables(view: Path, cell: object, _tolerances: object) -> None:
        assert (view / "raw" / "epoch.json").is_file()
        (view / "tables").mkdir()
        made.write_parquet(view / "tables" / "episodes.parquet")
        (view / run_folder.AUDIT).write_text("{}")

    monkeypatch.setattr("collectors.tables.write.write_tables", write_tables)
    outcome = parse(run)
    assert outcome.changes["tables/episodes.parquet", "new"] == 2
    assert outcome.changes[run_folder.FLOWS_TABLE, "gone"] == 2
    assert digests.changed(run, IDS) == {}
    assert [path.name for path in (folder(run, 1) / "tables").iterdir()] == ["episodes.parquet"]


def test_damaged_evidence_is_named_and_its_cell_left_alone(run: Path) -> None:
    path = folder(run, 1) / "raw" / "counters.json"
    path.write_text("[]")
    (folder(run, 2) / run_folder.FLOWS_TABLE).unlink()
    before = state(folder(run, 1))
    outcome = parse(run)
    assert outcome.cells == 1
    ((failed, why),) = outcome.failures
    assert failed == IDS[1]
    assert why.startswith(f"cells/{failed}: raw files are not what the run left: got raw/counters.")
    assert state(folder(run, 1)) == before
    assert (folder(run, 2) / run_folder.FLOWS_TABLE).is_file()
    with pytest.raises(RunError, match=rf"1 cell could not be parsed:\n  cells/{failed}: "):
        raise_if_failed(outcome)


def test_evidence_that_cannot_be_parsed_keeps_its_tables(run: Path) -> None:
    """The run left it so: an older program made something of it, this one does not."""
    path = folder(run, 1) / "raw" / "counters.json"
    path.write_text("[{}]")
    (folder(run, 1) / run_folder.DONE).write_text(
        digests.done_text(digests.of_cell(folder(run, 1)))
    )
    before = state(run)
    ((failed, why),) = parse(run).failures
    assert why.startswith(f"cells/{failed}/raw/counters.json: not what the lab writes")
    assert state(run) == before


def test_unfinished_cells_are_counted_and_not_parsed(run: Path) -> None:
    (folder(run, 1) / run_folder.DONE).unlink()
    outcome = parse(run)
    assert (outcome.cells, outcome.unfinished) == (1, 1)
    assert table_lines(outcome)[0] == "1 cell parsed, 1 not finished"


STEPS = ("replace", "rename", "write_text", "unlink")


@pytest.mark.parametrize("after", range(7))
def test_killed_at_any_step_the_cell_is_whole_or_completed_by_parsing_again(
    run: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Every change of the swap is one call on a path: stop before each of them in turn."""
    before = state(run)
    (folder(run, 1) / run_folder.FLOWS_TABLE).write_bytes(b"old")
    (folder(run, 1) / run_folder.DONE).write_text(
        digests.done_text(digests.of_cell(folder(run, 1)))
    )
    calls = threading.local()

    class KilledError(BaseException):
        pass

    def counting(name: str) -> None:
        real = getattr(Path, name)

        def call(path: Path, *words: object, **options: object) -> object:
            calls.left = getattr(calls, "left", after) - 1
            if calls.left < 0:
                raise KilledError
            return real(path, *words, **options)

        monkeypatch.setattr(Path, name, call)

    swap = again._swap

    def slowly(*words: object) -> None:
        for name in STEPS:
            counting(name)
        swap(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(again, "_swap", slowly)
    with pytest.raises(KilledError):
        parse_cells(run, CELLS[:2], jobs=1, report=nothing)
    monkeypatch.undo()
    if (folder(run, 1) / run_folder.DONE).is_file():
        assert digests.changed(run, IDS) == {}
    outcome = parse(run)
    assert outcome.failures == []
    assert state(run) == before


def test_what_a_killed_program_left_is_cleared_away(run: Path) -> None:
    (run / ".parse-old" / "cells").mkdir(parents=True)
    parse(run)
    assert [path.name for path in run.iterdir()] == ["cells"]
