"""Pages of what gallery studies found quote what was measured, with the study files as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.generate import kept_run, study_pages
from docs.generate.study_pages import PAGES, Page, Shown, points_table
from model.run_files.study import Parameter, ValueLabel

EACH = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.study)


@EACH
def test_a_page_says_what_was_measured(page: Page) -> None:
    text = page.file.read_text()
    quoted = kept_run.kept(page.kept)
    assert study_pages.written(page, text, quoted) == text, "python -m docs.generate.study_pages"
    assert f"../showcase/{page.report.name}" in text
    assert page.report.exists()


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
    quoted = {"points": [found]}
    assert points_table(page, "points", quoted, parameters).splitlines() == [
        "| who | loss | printed: waits, ms | waits, ms |", "| --- | --- | --- | --- |",
        "| TCP | 1 % | 12 | 12.3 (10.0 to 15.0) |",
    ]  # fmt: skip


def test_assumptions_alone_leave_what_was_measured_valid(tmp_path: Path) -> None:
    file = next(page.study_file for page in PAGES if page.study == "manet")
    study = yaml.safe_load(file.read_text())
    other = tmp_path / "manet.yaml"
    other.write_text(yaml.safe_dump({**study, "assumptions": []}, sort_keys=False))
    assert kept_run.inputs(other) == kept_run.inputs(file)
    other.write_text(yaml.safe_dump({**study, "duration": "900 s"}, sort_keys=False))
    assert kept_run.inputs(other) != kept_run.inputs(file)
