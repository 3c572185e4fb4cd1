"""Debian's flent opens what is exported for it, and says what the tables say."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.cell import Protocol
from reports.exports.cell import ExportedCell
from reports.exports.flent import flent_files
from tests.unit.exports.export_run import build_export_run, content, only_cell, table

ROOT = Path(__file__).resolve().parents[3]
#: Fetching flent may take minutes; finding it takes none.
FIND_TIMEOUT_S, READ_TIMEOUT_S = 600, 120
Flent = Callable[..., str]
Series = Mapping[str, list[float | None]]


@pytest.fixture(scope="module")
def program() -> str:
    found = subprocess.run(
        [str(ROOT / "setup" / "program"), "flent"], capture_output=True, text=True, check=True,
        timeout=FIND_TIMEOUT_S,
    )  # fmt: skip
    return found.stdout.strip()


@pytest.fixture
def flent(program: str, tmp_path: Path) -> Flent:
    """Return what asks flent of a cell's file, without settings of anybody's."""

    def ask(cell: ExportedCell, *words: str) -> str:
        (made,) = flent_files(cell)
        file, said = tmp_path / made.name, tmp_path / "said"
        file.write_bytes(content(made.pieces))
        asked = subprocess.run(
            [program, "-i", str(file), "-o", str(said), *words], capture_output=True, text=True,
            timeout=READ_TIMEOUT_S, check=True, cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path), "TZ": "Asia/Kolkata"},
        )  # fmt: skip
        assert "ERROR" not in asked.stderr
        assert "WARNING" not in asked.stderr
        return said.read_text()

    return ask


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> ExportedCell:
    return only_cell(build_export_run(tmp_path_factory.mktemp("run")))


def with_flows(cell: ExportedCell, folder: Path, protocols: Mapping[str, Protocol]) -> ExportedCell:
    """Return a cell like it with these flows by id, each with intervals of its own."""
    first, rows = cell.cell.flows[0], table(cell, "intervals").filter(flow="T")
    flows = [
        dataclasses.replace(first, id=name, protocol=protocol, source=number, port=5001 + number)
        for number, (name, protocol) in enumerate(protocols.items())
    ]
    (folder / "tables").mkdir()
    pl.concat(
        rows.with_columns(
            flow=pl.lit(flow.id), goodput_bytes=pl.col("goodput_bytes") + 1448 * number
        )
        for number, flow in enumerate(flows)
    ).write_parquet(folder / run_folder.INTERVALS_TABLE)
    found = dataclasses.replace(
        cell.found,
        cell=dataclasses.replace(cell.cell, flows=tuple(flows)),
        flows=tuple(dataclasses.replace(cell.found.flows[0], flow=name) for name in protocols),
    )
    return dataclasses.replace(cell, folder=folder, found=found)


def series_of(text: str) -> Series:
    """Return flent's series by name, times among them."""
    head, *rows = csv.reader(io.StringIO(text))
    return {
        name: [float(row[number]) if row[number] else None for row in rows]
        for number, name in enumerate(["x", *head[1:]])
    }


def goodputs_mbps(cell: ExportedCell, flow: str) -> dict[float, float]:
    """Return a flow's goodput by the end of its receiver's intervals, from the table."""
    rows = table(cell, "intervals").filter(flow=flow)
    return {
        row["end_s"]: row["goodput_bytes"] * 8 / (row["end_s"] - row["start_s"]) / 1e6
        for row in rows.iter_rows(named=True)
    }


def check_series(shown: Series, cell: ExportedCell, names: Mapping[str, str]) -> None:
    assert len(shown["x"]) > 2
    for flow, series in names.items():
        found = dict(zip(shown["x"], shown[series], strict=True))
        wanted = goodputs_mbps(cell, flow)
        assert {end: found[end] for end in wanted} == pytest.approx(wanted, rel=1e-12)


def test_flent_reads_the_tables_goodput(cell: ExportedCell, flent: Flent) -> None:
    shown = series_of(flent(cell, "-f", "csv"))
    check_series(shown, cell, {"T": "TCP upload CS0", "S": "SCTP upload CS0"})
    both = zip(shown["TCP upload CS0"], shown["SCTP upload CS0"], strict=True)
    wanted = [math.fsum(one for one in pair if one is not None) for pair in both]
    known = [total if total is not None else 0.0 for total in shown["Upload sum"]]
    assert known == pytest.approx(wanted)


def test_flents_summary_has_the_goodput_of_the_report(cell: ExportedCell, flent: Flent) -> None:
    said = flent(cell, "-f", "summary")
    assert "Summary of sctp_vs_tcp test run from 2026-01-01 00:00:0" in said
    assert "Title: 'wireless: loss_frac 1 %; seed 2'" in said
    flows = [row for row in cell.found.flows if row.goodput_bps]  # flent takes 0 for unknown
    assert flows
    for row in flows:
        (line,) = (one for one in said.splitlines() if f"{row.protocol.upper()} upload CS0" in one)
        assert row.goodput_bps is not None
        assert f" {row.goodput_bps / 1e6:.2f} " in line
        assert "Mbits/s" in line


@pytest.mark.parametrize(
    ("protocols", "test", "names"),
    [
        ({"A": "tcp", "B": "tcp", "C": "tcp"}, "tcp_nup",
         {"A": "TCP upload::1", "B": "TCP upload::2", "C": "TCP upload::3"}),
        ({"A": "tcp", "B": "sctp", "C": "sctp", "D": "tcp"}, "sctp_vs_tcp",
         {"A": "TCP upload::1", "B": "SCTP upload::1", "C": "SCTP upload::2",
          "D": "TCP upload::2"}),
        ({"A": "udp"}, "udp_flood", {"A": "UDP upload"}),
    ],
)  # fmt: skip
def test_flent_has_a_test_for_any_flows(
    cell: ExportedCell, flent: Flent, tmp_path: Path, protocols: Mapping[str, Protocol],
    test: str, names: Mapping[str, str],
) -> None:  # fmt: skip
    (tmp_path / "cell").mkdir()
    other = with_flows(cell, tmp_path / "cell", protocols)
    shown = series_of(flent(other, "-f", "csv"))
    for word in ("tcp", "sctp"):
        own = [names[flow] for flow, protocol in protocols.items() if protocol == word]
        if own:
            pairs = list(zip(*(shown[name] for name in own), strict=True))
            sums = [math.fsum(one for one in pair if one is not None) for pair in pairs]
            known = [total or 0.0 for total in shown[f"{word.upper()} upload sum"]]
            assert known == pytest.approx(sums)
    if test != "sctp_vs_tcp":  # flent lists the series its test has; of this one not single flows
        check_series(shown, other, names)
    assert f"Summary of {test} " in flent(other, "-f", "summary")


@pytest.mark.parametrize("text", ['a,b "c"', "=cmd", "x\ny", "$a$ \\frac", "\x01\N{SNOWMAN}"])
def test_hostile_settings_are_no_harm(cell: ExportedCell, flent: Flent, text: str) -> None:
    changed = dataclasses.replace(cell.cell, point={"name": text})
    found = dataclasses.replace(cell, found=dataclasses.replace(cell.found, cell=changed))
    assert text.replace("$", r"\$") in flent(found, "-f", "summary")
