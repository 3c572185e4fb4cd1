"""Pages of what gallery studies found quote what was measured, with the study files as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate import kept_run, study_pages
from docs.generate.study_pages import PAGES, Page, Shown, points_table
from model.run_files.study import Parameter, ValueLabel
from tests.support.recorded import wireless_cell

EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.study)


@EACH
def test_a_page_says_what_was_measured(page: Page) -> None:
    text = page.file.read_text()
    quoted = kept_run.kept(page.kept)
    assert study_pages.written(page, text, quoted) == text, "python -m docs.generate.study_pages"
    assert (f"../showcase/{page.report.name}" in text) == page.has_report
    assert page.report.exists() == page.has_report


@EACH
def test_what_was_measured_is_of_this_study(page: Page) -> None:
    quoted = kept_run.kept(page.kept)
    assert quoted["study"] == kept_run.inputs(page.study_file), "run the study, then quote it"
    study = yaml.safe_load(page.study_file.read_text())
    assert [one["id"] for one in quoted["claims"]] == [one["id"] for one in study["claims"]]
    told = {one["id"] for one in quoted["claims"] if one["verdict"] == "untested"}
    assert told == {one["id"] for one in study["claims"] if "untested" in one}
    main = next(iter(page.metrics))
    assert {one["metrics"][main]["n"] for one in quoted["points"]} == {len(study["seeds"])}


def test_a_row_is_what_was_asked_in_readers_words_and_what_came_in_its_units() -> None:
    page = Page(
        study="x", settings={"protocol": "who", "loss_frac": "loss"},
        tables={"points": {"wait_s": Shown("waits, ms", 1e-3, 1)}}, printed=("wait_s",),
    )  # fmt: skip
    known: dict[str, Any] = {"mean": 0.0123, "ci95": [0.01, 0.015], "n": 10}
    point = {"protocol": "tcp", "loss_frac": 0.01, "hidden": 1}
    parameters = [
        Parameter(name="protocol", path="p", label=(ValueLabel(value="tcp", text="TCP"),)),
        Parameter(name="loss_frac", path="l"),
    ]
    found = {"point": point, "metrics": {"wait_s": known}, "printed": {"wait_s": 0.012}}
    quoted = {"points": [found, {**found, "printed": {"wait_s": None}}]}
    assert points_table(page, "points", quoted, parameters).splitlines() == [
        "| who | loss | printed: waits, ms | waits, ms |", "| --- | --- | --- | --- |",
        "| TCP | 1 % | 12 | 12.3 (10.0 to 15.0) |", "| TCP | 1 % | - | 12.3 (10.0 to 15.0) |",
    ]  # fmt: skip


def test_a_page_has_its_own_words_and_what_is_computed_of_a_points_cell() -> None:
    page = Page(
        study="x", settings={"most": "at most"},
        computed={"of seeds": lambda cell: f"{cell.seed} there"},
        tables={"points": {"wait_s": Shown("waits, s", 1, 2), "never_s": Shown("never, s", 1, 2)}},
    )  # fmt: skip
    cells = [wireless_cell(seed=seed, point={"most": seed}) for seed in (7, 5)]
    parameters = [Parameter(name="most", path="m", label=(ValueLabel(value=7, text="off"),))]
    known = {"mean": 63.84, "ci95": [63.8, 63.9], "n": 10}
    metrics = {"wait_s": known, "never_s": {"mean": None, "ci95": None, "n": 0}}
    points = [{"point": {"most": seed}, "metrics": metrics, "printed": {}} for seed in (5, 7)]
    table = points_table(page, "points", {"points": points}, parameters, cells)
    assert table.splitlines()[0] == "| at most | of seeds | waits, s | never, s |"
    assert table.splitlines()[2:] == [
        "| 5 | 5 there | 63.84 (63.80 to 63.90) | - |",
        "| off | 7 there | 63.84 (63.80 to 63.90) | - |",
    ]


def test_a_number_that_was_not_measured_is_written_over() -> None:
    page = next(page for page in PAGES if page.study == "failover")
    text, quoted = page.file.read_text(), kept_run.kept(page.kept)
    assert study_pages.written(page, text.replace(" 63 |", " 64 |"), quoted) == text
    with pytest.raises(ValueError, match="no <!-- quoted: claims"):
        study_pages.written(page, text.replace("<!-- end: claims -->", ""), quoted)


def test_assumptions_alone_leave_what_was_measured_valid(tmp_path: Path) -> None:
    file = next(page.study_file for page in PAGES if page.study == "manet")
    study = yaml.safe_load(file.read_text())
    other = tmp_path / "manet.yaml"
    other.write_text(yaml.safe_dump({**study, "assumptions": []}, sort_keys=False))
    assert kept_run.inputs(other) == kept_run.inputs(file)
    other.write_text(yaml.safe_dump({**study, "duration": "900 s"}, sort_keys=False))
    assert kept_run.inputs(other) != kept_run.inputs(file)
