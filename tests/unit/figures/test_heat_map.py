"""The table of a two-dimensional sweep: every number printed, its colour by its distance from 0."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from model import run_folder
from model.run_files.point import Point
from reports.figures.plain.heat_map import heat_map
from reports.page.write import write_report
from reports.store.run import read_run
from reports.verdict.summary import Summary, summarise
from tests.support.report_page import Page
from tests.support.runs.report_run import GRID, build_grid


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_grid(tmp_path_factory.mktemp("runs") / "grid")


@pytest.fixture(scope="module")
def summary(run: Path) -> Summary:
    return summarise(read_run(run))


def test_every_point_has_its_number_and_colours_are_centred_on_0(summary: Summary) -> None:
    found = heat_map(summary, {Point.of(GRID[3]): "figure-of-the-last"})
    assert found is not None
    assert found.centred
    assert found.heads == ("10 packets of buffer", "40 packets of buffer")
    (first, upper), (second, lower) = found.rows
    assert (first, second) == ("1 % of loss", "2 % of loss")
    cells = (*upper, *lower)
    assert [one.text for one in cells] == ["\N{MINUS SIGN}10.0", "0.0", "10.0", "20.0"]
    assert [(one.side, one.part) for one in cells] == [
        ("less", 0.5), ("more", 0.0), ("more", 0.5), ("more", 1.0),
    ]  # fmt: skip
    # three runs, s = 1: half of the interval is 4.303 / sqrt 3 = 2.48
    assert cells[3].interval == "17.5 to 22.5"
    assert [one.link for one in cells] == ["figure-pct_increase"] * 3 + ["figure-of-the-last"]


def test_what_is_no_increase_is_coloured_from_the_least(summary: Summary) -> None:
    found = heat_map(dataclasses.replace(summary, headline=("goodput_S_bps",)), {})
    assert found is not None
    assert not found.centred
    # 90, 100, 110 and 120 kbit/s
    parts = [cell.part for _, cells in found.rows for cell in cells]
    assert parts == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1e-3)


def test_a_sweep_that_is_no_grid_has_no_such_table(summary: Summary) -> None:
    assert heat_map(dataclasses.replace(summary, points=summary.points[:3]), {}) is None
    assert heat_map(dataclasses.replace(summary, points=summary.points[:2]), {}) is None
    assert heat_map(dataclasses.replace(summary, parameters=summary.parameters[:1]), {}) is None


def test_the_page_has_it_and_what_it_leads_to(run: Path) -> None:
    write_report(run, library=lambda: "window.vegaEmbed = null;")
    page = Page((run / run_folder.REPORT_HTML).read_text())
    assert page.open == []
    ids = {one["id"] for _, one in page.tags if "id" in one}
    assert {"heat", "figure-pct_increase"} <= ids
    assert page.all("a").count({"href": "#figure-pct_increase"}) == 4
