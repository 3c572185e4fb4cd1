"""Differences and the estimates beside the mean, as the page shows them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from model import run_folder
from model.run_files.point import Point
from model.run_files.quantity import INDEX, KBIT_PER_S, PERCENT
from reports.measures.quantities import UNKNOWN, difference
from reports.page import result_tables
from reports.page.grid import plain
from reports.page.html import Drawn, render_reports
from reports.page.places import shared_settings
from reports.page.result_tables import adjustment_words, estimates_table
from reports.store.run import read_run
from reports.verdict.summary import Summary, summarise
from tests.support.runs.report_run import build_run, only_cell


@pytest.mark.parametrize(
    ("value", "published", "quantity", "wanted"),
    [
        (12.22, "27.6", PERCENT, "-15.4"),
        (17.02, "17.0", PERCENT, "+0.0"),
        (0.9912, "0.989", INDEX, "+0.002"),
        (68_010.0, "67350", KBIT_PER_S, "+0.7"),
        (None, "1", PERCENT, UNKNOWN),
    ],
)
def test_a_difference_has_its_sign(
    value: float | None, published: str, quantity: object, wanted: str
) -> None:
    assert difference(value, Decimal(published), quantity) == wanted  # type: ignore[arg-type]


def test_without_a_published_value_there_is_no_difference() -> None:
    assert difference(1.0, None, PERCENT) == UNKNOWN


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of two points; at the second one, one cell lost nothing of T's."""
    folder = build_run(tmp_path_factory.mktemp("run"), losses=(0.01, 0.02), seeds=4)
    for loss, drops in ((0.01, (90, 100, 120, 95)), (0.02, (0, 190, 200, 205))):
        for seed, dropped in enumerate(drops, 1):
            path = only_cell(folder, loss=loss, seed=seed) / run_folder.FLOWS_TABLE
            table = pl.read_parquet(path)
            table.with_columns(loss_dropped_pkts=pl.Series([dropped, 100])).write_parquet(path)
    return folder


@pytest.fixture(scope="module")
def summary(run: Path) -> Summary:
    return summarise(read_run(run))


def test_estimates_stand_side_by_side_with_what_is_missing(summary: Summary) -> None:
    found = estimates_table(summary, summary.metric_table()["pct_increase"])
    assert found is not None
    assert found.heads == (
        "Bottleneck loss, data", "Mean of runs", "Ratio of means", "At equal loss",
    )  # fmt: skip
    assert [row[0] for row in found.rows] == ["1 %", "2 %"]
    assert found.rows[1][3] == UNKNOWN
    assert all("(" in plain(field) for field in found.rows[0][1:])
    words, missing = found.notes
    assert missing == (
        "2 %: At equal loss: a group's realised loss is 0 or not known in 1 of 4 runs."
    )
    assert words.startswith("At equal loss: ")
    assert "one slope over 4 runs" in words


def test_a_share_has_a_ratio_and_no_fit(summary: Summary) -> None:
    found = estimates_table(summary, summary.metric_table()["share_S_pct"])
    assert found is not None
    assert found.heads[1:] == ("Mean of runs", "Ratio of means")
    assert found.notes == ()
    assert estimates_table(summary, summary.metric_table()["utilisation_pct"]) is None


def test_without_a_fit_there_are_no_words_on_it(tmp_path: Path) -> None:
    found = summarise(read_run(build_run(tmp_path, losses=(0.01,), seeds=1)))
    assert adjustment_words(found) == ""
    assert estimates_table(found, found.metric_table()["pct_increase"]) is None


def test_the_page_shows_difference_and_estimates(run: Path, summary: Summary) -> None:
    table = result_tables.result(summary, summary.metric_table()["pct_increase"]).grid
    # S 110, T 98 to 101 kbit/s: mean of the increases 10.6; printed 27.6.
    assert [plain(field) for field in table.rows[0][2:4]] == ["10.6", "\N{MINUS SIGN}17.0"]
    text = render_reports(read_run(run), summary, Drawn(headline=(), sets=(), svgs={}), str)[0]
    assert "Difference</th>" in text
    assert text.count('<details class="estimates"') == 3
    assert text.count('<details class="estimates" open>') == 1


def test_settings_that_points_share_name_a_row(summary: Summary) -> None:
    one, two = (Point.of({"loss_frac": loss}) for loss in (0.01, 0.02))
    assert shared_settings([one], summary) == "1 %"
    assert shared_settings([one, two], summary) == "All"
    assert not result_tables.contradictions_between(summary).rows
