"""CSV says what the tables say, to the last digit, and nothing in it is computed."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from model.run_files.tables import TABLES, fitted, schema
from reports.exports import csv_tables
from reports.exports.cell import ExportedCell, OutFile
from reports.exports.csv_tables import (
    FORMULA_STARTS,
    as_it_was,
    columns_file,
    metrics_file,
    plain_text,
    table_files,
)
from reports.measures.metrics import Value
from reports.store import columns
from tests.unit.exports.export_run import content, table

LISTS = ("sack_blocks", "gap_blocks", "data_chunks", "duplicate_tsns")


def lines(file: OutFile) -> list[list[str]]:
    text = content(file.pieces).decode()
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def rows(file: OutFile) -> list[dict[str, str]]:
    head, *found = lines(file)
    return [dict(zip(head, line, strict=True)) for line in found]


def typed(shown: list[dict[str, str]], kinds: dict[str, Any]) -> pl.DataFrame:
    """Return a table as a reader takes it that knows the columns' types."""
    convert: dict[Any, Callable[[str], Any]] = {
        pl.Int64: int,
        pl.Float64: float,
        pl.String: as_it_was,
        pl.Boolean: "true".__eq__,
    }
    plain = {name: convert[kind] for name, kind in kinds.items() if name not in LISTS}
    return pl.DataFrame(
        [{name: made(row[name]) if row[name] else None for name, made in plain.items()}
         for row in shown],
        schema={name: kinds[name] for name in plain},
    )  # fmt: skip


def test_every_table_is_a_file_that_gives_it_back(cell: ExportedCell) -> None:
    files = {file.name: file for file in table_files(cell)}
    there = {path.stem for path in (cell.folder / "tables").iterdir()}
    assert set(files) == {f"{cell.stem}-{name}.csv" for name in there}
    assert {"packets", "congestion", "flows", "intervals", "path"} <= there
    for name in there:
        kinds = schema(TABLES[name])
        shown = rows(files[f"{cell.stem}-{name}.csv"])
        assert_frame_equal(
            typed(shown, kinds),
            fitted(table(cell, name), kinds).select(pl.exclude(LISTS)),
            check_exact=True,
        )
        for column in set(LISTS) & set(kinds):
            known = [None if row[column] == "" else json.loads(row[column]) for row in shown]
            wanted = [
                None if one is None
                else [list(x.values()) if isinstance(x, dict) else x for x in one]
                for one in table(cell, name)[column].to_list()
            ]  # fmt: skip
            assert known == wanted


def test_lines_end_as_rfc_4180_has_it(cell: ExportedCell) -> None:
    for file in (*table_files(cell), metrics_file("wireless", [], [cell]), columns_file("w")):
        text = content(file.pieces)
        assert text.endswith(b"\r\n")
        assert text.count(b"\r\n") == text.count(b"\n") == text.count(b"\r")


def test_a_table_is_written_piece_by_piece(
    cell: ExportedCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = {file.name: content(file.pieces) for file in table_files(cell)}
    held: list[int] = []

    def slices(path: Path, row_type: type) -> Any:
        for found in columns.read_slices(path, row_type, at_once=7):
            held.append(len(found))
            yield found

    monkeypatch.setattr(csv_tables, "read_slices", slices)
    assert {file.name: content(file.pieces) for file in table_files(cell)} == whole
    assert max(held) == 7


def test_metrics_have_their_units_and_the_reason_where_there_is_none(cell: ExportedCell) -> None:
    shown = rows(metrics_file("wireless", ["loss_frac"], [cell]))
    assert [row["metric"] for row in shown] == list(cell.values)
    assert {(row["cell"], row["seed"], row["loss_frac"]) for row in shown} == {
        (cell.id, "2", "0.01")
    }
    for row, found in zip(shown, cell.values.values(), strict=True):
        assert row["value"] == ("" if found.value is None else repr(found.value))
        assert bool(row["reason"]) == (found.value is None)
    units = {row["metric"]: row["unit"] for row in shown}
    assert (units["goodput_T_bps"], units["share_T_pct"]) == ("bit/s", "%")
    assert (units["pct_increase"], units["jain_flows"]) == ("%", "")
    assert "" in {row["value"] for row in shown}


def test_a_setting_of_a_columns_name_has_its_own(cell: ExportedCell) -> None:
    point: dict[str, float | int | str] = {"seed": "east", "kernel_release": "7.3"}
    changed = dataclasses.replace(cell.cell, point=point)
    other = dataclasses.replace(cell, found=dataclasses.replace(cell.found, cell=changed))
    file = metrics_file("wireless", list(point), [other])
    head = lines(dataclasses.replace(file, pieces=list(file.pieces)))[0]
    assert len(set(head)) == len(head)
    row = rows(metrics_file("wireless", list(point), [other]))[0]
    assert (row["point.seed"], row["seed"]) == ("east", "2")
    assert (row["point.kernel_release"], row["kernel_release"]) == ("7.3", cell.kernel)


def test_columns_are_explained() -> None:
    shown = rows(columns_file("wireless"))
    assert len(shown) == sum(len(schema(kind)) for kind in TABLES.values())
    by_name = {(row["table"], row["column"]): row for row in shown}
    assert by_name["flows", "goodput_bps"]["unit"] == "bit/s"
    assert "null before the first sample" in by_name["congestion", "srtt_s"]["meaning"]
    assert by_name["congestion", "srtt_s"]["type"] == "float or null"


@given(st.text())
def test_no_text_begins_as_a_formula_and_each_is_given_back(text: str) -> None:
    found = plain_text(text)
    assert found[:1] not in tuple(FORMULA_STARTS)
    assert as_it_was(found) == text


TEXT = st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: text or None)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(TEXT, st.one_of(st.none(), st.floats(allow_nan=False)), st.integers(-9, 2**62)),
        max_size=9,
    )
)
def test_hostile_tables_are_given_back(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[str | None, float | None, int]]
) -> None:
    kinds = schema(TABLES["intervals"])
    given_rows = pl.DataFrame(
        [(flow, start_s, start_s, count) for flow, start_s, count in found],
        schema=kinds, orient="row",
    )  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "hostile.parquet"
    given_rows.write_parquet(path)
    pieces = csv_tables._table(path, TABLES["intervals"])
    shown = rows(OutFile(name="x", pieces=pieces))
    assert_frame_equal(typed(shown, kinds), given_rows, check_exact=True)
    assert not any(row["flow"].startswith(tuple(FORMULA_STARTS)) for row in shown)


def test_hostile_reasons_and_settings_are_one_field(cell: ExportedCell) -> None:
    hostile = "=cmd|' /C calc'!A0, \"quoted\"\r\nnext"
    changed = dataclasses.replace(cell, excluded=hostile, values={"@metric": Value(None, hostile)})
    (row,) = rows(metrics_file("wireless", ["loss_frac", "-x"], [changed]))
    assert row["excluded"] == row["reason"] == "'" + hostile
    assert (row["metric"], row["'-x"]) == ("'@metric", "")
