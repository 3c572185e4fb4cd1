"""The command: what it writes where, what it refuses, and that nothing else is touched."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from model import plain_files, run_folder
from model.cell import cell_id, cell_json
from model.errors import Interrupted
from reports.exports.formats import FORMATS
from testbed.campaign import new_runs
from testbed.campaign.run_cell import finish
from testbed.command import export
from testbed.command.cli import command_status
from tests.support.exported_cell import recorded_cell
from tests.unit.exports.export_run import write_run

Status = Callable[..., tuple[int, str]]
#: How many files the run has of each format: one per cell, one per flow, one per table and two.
COUNTS = {"flent": 1, "omnetpp": 1, "qlog": 2, "csv": 10}


def only(folder: Path) -> Path:
    (found,) = (folder / "cells").iterdir()
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {name: plain_files.read_bytes(path) for name, path in plain_files.files(folder)}


def another_cell(run: Path) -> Path:
    """Add a second cell: the same with another seed, measured just like the first."""
    cell = dataclasses.replace(recorded_cell(), seed=3, replicate=2)
    folder = run / "cells" / cell_id(cell)
    shutil.copytree(only(run), folder)
    (folder / run_folder.CELL).write_text(cell_json(cell))
    finish(folder)
    write_run(run, [recorded_cell(), cell])
    return folder


def test_formats_are_those_that_are_made() -> None:
    assert tuple(FORMATS) == export.FORMATS


@pytest.mark.parametrize("kind", export.FORMATS)
def test_a_run_is_exported_and_otherwise_untouched(run: Path, status: Status, kind: str) -> None:
    before = contents(run)
    found, said = status(run, "--format", kind)
    assert found == 0, said
    folder = run / run_folder.EXPORT / kind
    count = COUNTS[kind]
    assert f"{folder}: {count} file{'s' * (count > 1)}" in said
    assert f"open: {FORMATS[kind].opens}" in said
    made = contents(folder)
    assert len(made) == count
    assert all(made.values())
    after = contents(run)
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + count

    # Again: the same bytes, whoever asks.
    assert status(run, "-f", kind)[0] == 0
    assert contents(folder) == made


def test_several_formats_go_to_one_folder(run: Path, status: Status, tmp_path: Path) -> None:
    to = tmp_path / "some" / "where"
    found, said = status(run, "-f", "flent", "-f", "omnetpp", "--to", to)
    assert found == 0, said
    assert sorted(path.suffix for path in to.iterdir()) == [".gz", ".sca"]
    assert not (run / run_folder.EXPORT).exists()


def test_no_file_of_others_is_overwritten_unasked(
    run: Path, status: Status, tmp_path: Path
) -> None:
    to = tmp_path / "to"
    assert status(run, "-f", "csv", "--to", to)[0] == 0
    there = to / "wireless-metrics.csv"
    there.write_text("mine")
    (to / "wireless-columns.csv").unlink()
    found, said = status(run, "-f", "csv", "--to", to)
    assert found == 2
    assert "a file is there" in said
    assert "--force to overwrite" in said
    assert there.read_text() == "mine"
    assert not (to / "wireless-columns.csv").exists()
    assert status(run, "-f", "csv", "--to", to, "--force")[0] == 0
    assert there.read_text() != "mine"


@pytest.mark.parametrize(("more", "how"), [([], ""), (["--to", "to"], " with --force")])
def test_who_interrupts_is_told_how_to_go_on(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, more: list[str], how: str
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Interrupted

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plain_files, "write_pieces", stopped)
    with pytest.raises(Interrupted) as found:
        command_status(["export", str(run), "-f", "omnetpp", *more])
    assert found.value.how == f"the same command{how}"


def test_evidence_is_no_place_for_exports(run: Path, status: Status) -> None:
    for to in (run, only(run) / "tables"):
        found, said = status(run, "-f", "csv", "--to", to)
        assert found == 2
        assert "what a run left is not written to" in said
    file = run.parent / "file"
    file.touch()
    assert "not a folder" in status(run, "-f", "csv", "--to", file)[1]


def test_a_place_that_cannot_be_written_is_told_before_anything_is(
    run: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = run.parent / "file"
    file.touch()
    found, said = status(run, "-f", "csv", "--to", file / "below")
    assert found == 2
    assert f"{file / 'below'}: cannot write exports: wanted a folder that can be written" in said
    assert f"got {file} is not a folder (another folder: --to FOLDER)" in said
    monkeypatch.setattr(new_runs, "_read_only", lambda place: True)
    found, said = status(run, "-f", "csv", "-f", "omnetpp")
    assert found == 2
    assert f"got {run} is not writable" in said
    assert not (run / run_folder.EXPORT).exists()


def test_usage(run: Path, status: Status) -> None:
    assert status(run)[0] == 2
    assert "wanted one of flent, omnetpp, qlog, csv, got xls" in status(run, "-f", "xls")[1]
    assert "goes with --to" in status(run, "-f", "csv", "--force")[1]
    assert status("no/such/run", "-f", "csv")[0] == 2
    assert "scalar file" in status("--help")[1]


def test_cells_are_named_by_the_beginning_of_their_id(run: Path, status: Status) -> None:
    other = another_cell(run)
    assert status(run, "-f", "omnetpp", "--cell", other.name[:6])[0] == 0
    (file,) = (run / run_folder.EXPORT / "omnetpp").iterdir()
    assert file.name.endswith(f"{other.name}.sca")
    for word in ("zz", ""):
        found, said = status(run, "-f", "omnetpp", "--cell", word)
        assert found == 2
        assert f"{word!r}, which no finished measuring cells begin with" in said


def test_a_changed_cell_is_left_out_and_named(run: Path, status: Status) -> None:
    other = another_cell(run)
    file = other / run_folder.INTERVALS_TABLE
    pl.read_parquet(file).with_columns(goodput_bytes=0).write_parquet(file)
    found, said = status(run, "-f", "flent")
    assert found == 1
    assert "1 cells are changed, and left out" in said
    assert f"cells/{other.name}: tables/intervals.parquet" in said
    (written,) = (run / run_folder.EXPORT / "flent").iterdir()
    assert other.name not in written.name


def test_a_changed_run_is_refused(run: Path, status: Status) -> None:
    plan = run / run_folder.PLAN
    plan.write_text(plan.read_text().replace('"seed": 2', '"seed": 7'))
    found, said = status(run, "-f", "flent")
    assert found == 1
    assert run_folder.PLAN in said
    assert not (run / run_folder.EXPORT).exists()


def test_what_is_not_finished_is_told(run: Path, status: Status) -> None:
    (another_cell(run) / run_folder.DONE).unlink()
    found, said = status(run, "-f", "flent")
    assert found == 0
    assert "1 cell not finished, and left out" in said
    (only_done,) = (cell for cell in (run / "cells").iterdir() if (cell / "DONE").exists())
    (only_done / run_folder.DONE).unlink()
    found, said = status(run, "-f", "csv")
    assert found == 2
    assert "nothing to export as csv" in said


def test_a_run_without_events_has_nothing_for_qlog(run: Path, status: Status) -> None:
    for name in (
        run_folder.PACKETS_TABLE,
        run_folder.CONGESTION_TABLE,
        run_folder.EPISODES_TABLE,
    ):
        (only(run) / name).unlink()
    finish(only(run))
    found, said = status(run, "-f", "qlog")
    assert found == 2
    assert "nothing to export as qlog (it needs a TCP or SCTP flow" in said
    assert status(run, "-f", "csv")[0] == 0


def test_a_table_of_an_older_run_costs_its_file_alone(run: Path, status: Status) -> None:
    table = only(run) / run_folder.CONGESTION_TABLE
    pl.read_parquet(table).drop("srtt_s").write_parquet(table)
    finish(only(run))
    found, said = status(run, "-f", "csv")
    assert found == 3
    assert "1 file could not be made" in said
    assert "columns are missing: wanted srtt_s" in said
    made = [path.name for path in (run / run_folder.EXPORT / "csv").iterdir()]
    assert len(made) == COUNTS["csv"] - 1
    assert not [name for name in made if "congestion" in name or name.startswith(".")]


def test_of_a_set_each_run_is_exported(run: Path, status: Status, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    for name in ("one", "two"):
        shutil.copytree(run, folder / name)
    text = json.dumps({"schema": 1, "studies": ["one", "two"]}, indent=1, sort_keys=True) + "\n"
    (folder / run_folder.SET).write_text(text)
    found, said = status(folder, "-f", "omnetpp", "--to", tmp_path / "to")
    assert found == 0, said
    assert [len(list((tmp_path / "to" / name).iterdir())) for name in ("one", "two")] == [1, 1]
    assert "one: " in said
