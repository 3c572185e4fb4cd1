"""The reader on whole and on broken run folders: it reads exactly, or names the file."""

import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.errors import ParseError
from model.run_files.point import Point
from reports.store.run import read_run
from tests.support.runs.report_run import build_run, cell_name, only_cell, write_json

LOSSES = (0.01, 0.02)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return build_run(tmp_path / "run", losses=LOSSES, seeds=2)


def test_reads_what_was_written(run: Path) -> None:
    found = read_run(run)
    assert found.study.source is not None
    assert (found.study.id, found.study.source.year, found.study.seeds) == (
        "wireless",
        2005,
        (1, 2),
    )
    assert [cell.plan.point for cell in found.measured()] == [
        Point.of({"loss_frac": loss}) for loss in (0.01, 0.01, 0.02, 0.02)
    ]
    assert [cell.plan.seed for cell in found.measured()] == [1, 2, 1, 2]
    assert len(found.calibrated()) == 2
    first = found.measured()[0]
    assert [(row.flow, row.goodput_bps) for row in first.flows] == [("T", 98_000.0), ("S", 1.1e5)]
    assert first.flows[0].loss_dropped_pkts == 100
    assert first.cell.wired.bottleneck.forward.rate_bps == 3_000_000
    assert first.ledger[0].knobs[0].read_back == {"t1": "1", "t2": "1"}
    assert first.checks[0].agrees is True
    assert found.unplanned == ()


def test_published_numbers_keep_their_digits(run: Path) -> None:
    published = read_run(run).study.published
    assert published is not None
    (row,) = published.rows_at(Point.of({"loss_frac": 0.02}))
    assert row.where == "Table 2"
    assert row.values["pct_increase"] == Decimal("17.0")
    assert str(row.values["pct_increase"]) == "17.0"


def test_the_order_is_the_studys_whatever_the_plan_says(run: Path) -> None:
    plan = json.loads((run / run_folder.PLAN).read_text())
    wanted = [cell.plan.id for cell in read_run(run).finished]
    write_json(run / run_folder.PLAN, {**plan, "cells": plan["cells"][::-1]})
    assert [cell.plan.id for cell in read_run(run).finished] == wanted


def test_a_cell_without_done_is_not_read(run: Path) -> None:
    folder = only_cell(run)
    (folder / run_folder.DONE).unlink()
    (folder / run_folder.CELL).write_text("{ cut")
    found = read_run(run)
    assert folder.name not in {cell.plan.id for cell in found.finished}
    assert [(cell.plan.id, cell.started) for cell in found.unfinished] == [(folder.name, True)]


def test_no_cells_at_all(run: Path) -> None:
    shutil.rmtree(run / "cells")
    found = read_run(run)
    assert found.finished == ()
    assert [cell.started for cell in found.unfinished] == [False] * 6
    assert len(found.plan) == 6


def test_an_unplanned_folder_is_named_and_not_read(run: Path) -> None:
    (run / "cells" / "stranger").mkdir()
    assert read_run(run).unplanned == ("stranger",)


def test_an_unfinished_cell_is_read_for_its_checks_only(run: Path) -> None:
    folder = only_cell(run)
    (folder / run_folder.DONE).unlink()
    (folder / run_folder.LEDGER).write_text("{ cut")
    (attempt,) = read_run(run).unfinished
    assert [check.check for check in attempt.checks] == ["rtt"]
    assert attempt.ledger == ()


def test_provenance_is_optional_but_must_be_sound(run: Path) -> None:
    assert read_run(run).provenance == {}
    write_json(run / run_folder.PROVENANCE, {"command": ["groundtruth", "run"]})
    assert read_run(run).provenance == {"command": ["groundtruth", "run"]}
    (run / run_folder.PROVENANCE).write_text("[]")
    with pytest.raises(ParseError, match="provenance"):
        read_run(run)


def test_published_digits_survive_as_printed(run: Path) -> None:
    path = run / run_folder.RESOLVED
    path.write_text(path.read_text().replace("27.6", "27.60").replace("17.8", "18"))
    published = read_run(run).study.published
    assert published is not None
    values = published.rows[0].values
    assert [str(values[name]) for name in ("pct_increase", "utilisation_pct")] == ["27.60", "18"]


def refusal(run: Path) -> str:
    """Return why the run cannot be read, or the one cell of it that cannot be believed."""
    try:
        found = read_run(run)
    except ParseError as error:
        return str(error).replace(f"{run}/", "")
    (damaged,) = found.damaged
    assert len(found.finished) == len(found.plan) - 1
    return damaged.why


def test_a_cell_known_to_be_changed_is_not_read(run: Path) -> None:
    folder = only_cell(run)
    (folder / run_folder.CELL).write_text("{ cut")
    (damaged,) = read_run(run, {folder.name: "raw/x: missing now"}).damaged
    assert (damaged.plan.id, damaged.why) == (folder.name, "raw/x: missing now")


def test_why_cells_failed_is_read_from_the_run(run: Path) -> None:
    assert read_run(run).failures == ()
    failure = {"rule": "cell-failed", "where": "cells/x", "text": "raw/a.pcap: byte 24: cut short"}
    write_json(run / run_folder.WARNINGS, [failure])
    (found,) = read_run(run).failures
    assert (found.where, found.text) == (failure["where"], failure["text"])
    (run / run_folder.WARNINGS).write_text("[")
    with pytest.raises(ParseError, match=r"warnings\.json"):
        read_run(run)


RUN_FILES = [run_folder.RESOLVED, run_folder.PLAN]
CELL_FILES = [
    run_folder.CELL,
    run_folder.ENV,
    run_folder.VERIFY,
    run_folder.LEDGER,
    run_folder.FLOWS_TABLE,
]


def _path(run: Path, name: str) -> Path:
    return run / name if name in RUN_FILES else only_cell(run) / name


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _scramble(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(b"\xff\xfe" + bytes(255 - byte for byte in content))


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "harm",
    [Path.unlink, _cut, _scramble, _make_folder, lambda path: path.write_bytes(b"")],
    ids=["missing", "truncated", "scrambled", "folder", "empty"],
)
@pytest.mark.parametrize("name", [*RUN_FILES, *CELL_FILES])
def test_a_harmed_file_is_named(run: Path, name: str, harm: Callable[[Path], object]) -> None:
    path = _path(run, name)
    harm(path)
    assert str(path.relative_to(run)) in refusal(run)


@pytest.mark.parametrize(
    ("name", "keys", "value", "where"),
    [
        ("resolved.json", ["schema"], 2, ""),
        ("resolved.json", ["title"], None, "title"),
        ("resolved.json", ["seeds", 0], 1.5, "seeds[0]"),
        ("resolved.json", ["seeds", 0], True, "seeds[0]"),
        ("resolved.json", ["groups", 0, "id"], "../T", "groups[0].id"),
        ("resolved.json", ["compare", "of"], "X", "compare.of"),
        ("resolved.json", ["published", "rows", 0, "values", "pct_increase"], "6", "rows[0]"),
        ("plan.json", ["cells", 0, "purpose"], "guess", "cells[0]"),
        ("plan.json", ["cells", 0, "id"], "../../etc", "cells[0].id"),
        ("plan.json", ["cells", 1, "point", "loss_frac"], 0.5, "cells[1]"),
        ("cell.json", ["seed"], 99, ""),
        ("cell.json", ["duration_s"], "long", ""),
        ("env.json", ["kernel_release"], None, "kernel_release"),
        ("verify.json", ["checks", 0, "agrees"], "yes", "checks[0].agrees"),
        ("raw/ledger.json", [0, "knobs"], {}, "[0].knobs"),
    ],
)
def test_a_wrong_value_is_named(
    run: Path, name: str, keys: list[str | int], value: object, where: str
) -> None:
    path = _path(run, name)
    content = json.loads(path.read_text())
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    write_json(path, content)
    said = refusal(run)
    assert str(path.relative_to(run)) in said
    assert where in said


def test_nan_is_not_json(run: Path) -> None:
    path = only_cell(run) / run_folder.ENV
    path.write_text('{"kernel_release": "6", "warnings": [], "load": NaN}')
    assert "NaN" in refusal(run)


def test_half_a_surrogate_pair_is_no_text(run: Path) -> None:
    path = run / run_folder.RESOLVED
    path.write_text(path.read_text().replace("SCTP against", "\\ud800 against"))
    with pytest.raises(ParseError, match="surrogates"):
        read_run(run)


TABLE_FAULTS: list[tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = [
    (lambda table: table.drop("loss_offered_pkts"), "columns are missing"),
    (lambda table: table.with_columns(goodput_bps=pl.lit("fast")), "column goodput_bps"),
    (lambda table: table.with_columns(goodput_bps=pl.lit(float("nan"))), "is no rate"),
    (lambda table: table.with_columns(goodput_bps=-pl.col("goodput_bps")), "is no rate"),
    (lambda table: table.with_columns(group=pl.lit("X")), "unknown group"),
    (lambda table: table.head(1), "not one row per flow"),
    (lambda table: pl.concat([table, table]), "not one row per flow"),
    (lambda table: table.clear(), "not one row per flow"),
]


@pytest.mark.parametrize(("harm", "message"), TABLE_FAULTS)
def test_a_wrong_table_is_named(
    run: Path, harm: Callable[[pl.DataFrame], pl.DataFrame], message: str
) -> None:
    path = only_cell(run) / run_folder.FLOWS_TABLE
    harm(pl.read_parquet(path)).write_parquet(path)
    said = refusal(run)
    assert message in said
    assert said.startswith(f"{path.relative_to(run)}: ")


def test_unknown_counts_are_null_not_an_error(run: Path) -> None:
    path = only_cell(run) / run_folder.FLOWS_TABLE
    pl.read_parquet(path).with_columns(loss_dropped_pkts=None).write_parquet(path)
    assert read_run(run).measured()[0].flows[0].loss_dropped_pkts is None


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="no such run folder"):
        read_run(tmp_path / "nowhere")


def test_a_study_without_published_numbers_or_comparison(tmp_path: Path) -> None:
    changes = {"published": None, "compare": None}
    found = read_run(build_run(tmp_path, losses=(0.01,), seeds=1, changes=changes))
    assert (found.study.published, found.study.compare) == (None, None)
    assert found.finished[0].plan.id == cell_name("calibrate", 0.01, 1)
