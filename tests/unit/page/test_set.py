"""The report of a set of studies: all verdicts first, every study whole, equal sets equal bytes."""

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing

from model import run_folder
from model.errors import ParseError
from reports.page.section import GAP
from reports.page.write import write_report
from reports.page.write_set import write_set
from tests.support.report_page import HOSTILE, Page, outputs
from tests.support.runs.report_run import build_run
from tests.support.runs.set_run import (
    DRAWN,
    NAMES,
    SENSITIVE,
    STARTED,
    build_set,
    edit_json,
    program,
    report_set,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "set"
    report_set(folder, build_set(folder))
    return folder


@pytest.fixture(scope="module")
def page(built: Path) -> Page:
    return shown(built)


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    return shutil.copytree(built, tmp_path / "copy")


def shown(folder: Path) -> Page:
    return Page((folder / run_folder.REPORT_HTML).read_text())


def runs_of(folder: Path) -> list[Path]:
    return [folder / name for name in NAMES]


def summary_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / run_folder.SUMMARY_JSON).read_text())
    one, many = (
        json.loads((ROOT / "docs" / "schemas" / name).read_text())
        for name in ("summary.schema.json", "set-summary.schema.json")
    )
    values = referencing.Registry().with_resource(
        "summary.schema.json", referencing.Resource.from_contents(one)
    )
    jsonschema.Draft202012Validator(many, registry=values).validate(found)
    return found


def test_the_files(built: Path) -> None:
    assert sorted(outputs(built)) == sorted(
        ["report/index.html", "report/tables.md", "report/tables.tex", "summary.json"]
    )


def test_the_summary_is_that_of_every_study(built: Path) -> None:
    found = summary_of(built)
    assert found["missing"] == []
    assert found["studies"] == [
        json.loads((built / name / run_folder.SUMMARY_JSON).read_text()) for name in NAMES
    ]


def test_the_tables_are_those_of_every_study(built: Path) -> None:
    for file in (run_folder.TABLES_MD, run_folder.TABLES_TEX):
        parts = [(built / name / file).read_text() for name in NAMES]
        assert (built / file).read_text() == "\n".join(parts)


def test_ids_are_unique_and_links_lead_somewhere(page: Page, built: Path) -> None:
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids)) > 40
    for link in page.all("a"):
        target = link["href"] or ""
        if target.startswith("#"):
            assert target[1:] in ids
        else:
            assert (built / "report" / target).is_file()
    named = [attributes.get("aria-labelledby") for _, attributes in page.tags]
    assert {name for name in named if name} <= set(ids)
    text = (built / run_folder.REPORT_HTML).read_text()
    assert GAP not in text
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)


def test_headings_go_down_one_level_at_a_time(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    articles = page.all("article")
    assert [one["aria-labelledby"] for one in articles] == [f"{name}.study" for name in NAMES]


def test_all_verdicts_stand_first(page: Page) -> None:
    text = page.text()
    places = [
        text.index("2 published studies on the Linux kernel"),
        text.index("Which claims hold"),
        text.index("Of 4 claims 3 hold, 1 is refuted."),
        text.index("All 3 hold 1 refuted"),
        text.index("Of 1 claim 1 holds."),
        text.index("holds: The increase is above 0 %."),
        text.index("Of 3 claims 2 hold, 1 is refuted."),
        text.index(
            "refuted: The increase is above 16 %. 10.0 % Refuted 10.0 % (95 % CI 7.9 to 12.2)"
        ),
        text.index("for each study, the chance that any of its verdicts is wrong is at most 5 %"),
        text.index("Published against the kernel"),
        text.index("Before trusting it"),
        text.index("Read this before trusting the run"),
    ]
    assert places == sorted(places)
    heads = page.all("th")
    assert all(head.get("scope") in ("col", "row") for head in heads)


def test_scaled_times_are_said_wherever_verdicts_are_counted(tmp_path: Path) -> None:
    runs = build_set(tmp_path)
    edit_json(runs[0] / run_folder.RESOLVED, scale=0.25)
    report_set(tmp_path, runs)
    mark = "; times are scaled by 0.25, so these are no verdicts on the publication."
    for folder, times in ((tmp_path, 3), (runs[0], 2), (runs[1], 0)):
        text = shown(folder).text()
        assert text.count(mark) == times, folder
        assert ("SCALE=0.25" in text) == bool(times)
    assert mark in (runs[0] / run_folder.REPORT / "tables.md").read_text()
    summary = json.loads((runs[0] / run_folder.SUMMARY_JSON).read_text())
    assert summary["scale"] == 0.25


def test_a_study_reads_as_on_its_own_page(page: Page, built: Path) -> None:
    for name in NAMES:
        alone = shown(built / name).text()
        start = alone.index("One run is one setting with one seed")
        study = alone[start : alone.index(" Written by Groundtruth")]
        assert len(study) > 5000
        assert study in page.text()


def test_every_region_that_scrolls_takes_the_focus_and_has_a_name(page: Page) -> None:
    regions = [
        attributes
        for _, attributes in page.tags
        if {"scroll"} & set((attributes.get("class") or "").split())
    ]
    tornados = [one for one in regions if "tornado" in str(one["class"])]
    assert len(tornados) == 3 + 2  # claims, as far as alternatives were tried at their points
    # And everything published, drawn as widely.
    assert len(regions) == len(page.all("table")) + 1 + len(tornados)
    for region in regions:
        assert (region["tabindex"], region["role"]) == ("0", "region")
        assert region["aria-label"]
    assert {one.get("tabindex") for one in page.all("pre")} == {"0"}


def test_a_command_repeats_all_studies_that_take_the_same(page: Page, copied: Path) -> None:
    assert 'make experiment STUDY="wireless satellite" REPS=5' not in page.text()
    assert "make experiment STUDY=wireless REPS=2" in page.text()
    section = copied / DRAWN / run_folder.REPORT_SECTION
    again = json.loads((copied / SENSITIVE / run_folder.REPORT_SECTION).read_text())["again"]
    edit_json(section, again=again)
    write_set(copied, runs_of(copied), program)
    assert 'make experiment STUDY="wireless satellite" REPS=5' in shown(copied).text()


def test_nothing_is_measured_or_drawn_again(built: Path, copied: Path) -> None:
    for name in NAMES:
        shutil.rmtree(copied / name / "cells")
        shutil.rmtree(copied / name / "report" / "figures")
    write_set(copied, runs_of(copied), program)
    assert outputs(copied) == outputs(built)


def test_equal_sets_give_the_same_bytes_wherever_and_whenever_they_ran(
    built: Path, tmp_path: Path
) -> None:
    started = {
        **STARTED,
        "started": "2027-01-01T00:00:00+00:00",
        "command": ["/elsewhere/groundtruth", "resume", "another-name"],
        "host": {"machine": "aarch64", "kernel": "5.10-there", "python": "3.12.1", "cpus": 64},
    }
    other = tmp_path / "another-name"
    report_set(other, build_set(other, started))
    assert outputs(other) == outputs(built)
    for name in NAMES:
        mine = outputs(built / name)
        assert outputs(other / name) == mine
        assert len(mine) >= 7
        for text in (*mine.values(), *outputs(built).values()):
            assert b"2026-11-20T13" not in text
            assert b"6.18.44-here" not in text
            assert b"--jobs" not in text
            assert str(built.parent).encode() not in text


def test_two_runs_of_one_study_stand_apart(tmp_path: Path) -> None:
    runs = [build_run(tmp_path / name, losses=(0.01, 0.02), seeds=2) for name in ("a", "a-2")]
    report_set(tmp_path, runs)
    page = shown(tmp_path)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"a.results", "a-2.results"} <= set(ids)


def test_a_run_that_cannot_be_read_is_named_and_loses_no_other(copied: Path) -> None:
    broken = copied / DRAWN
    (broken / run_folder.RESOLVED).write_text("{")
    with pytest.raises(ParseError):
        write_report(broken, library=program)
    write_set(copied, runs_of(copied), program)
    found = summary_of(copied)
    assert [one["study"] for one in found["studies"]] == [SENSITIVE]
    (missing,) = found["missing"]
    assert missing["run"] == DRAWN
    assert missing["reason"].startswith("resolved.json: file is not JSON")
    assert str(copied) not in json.dumps(found)
    text = shown(copied).text()
    assert "wireless is not on this page. resolved.json: file is not JSON" in text
    assert "The increase is above 16 %." in text
    assert "wireless is not among these tables" in (copied / run_folder.TABLES_MD).read_text()
    assert "wireless is not among these tables" in (copied / run_folder.TABLES_TEX).read_text()


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        (run_folder.RESOLVED, b"[]", "wanted an object"),
        (run_folder.PLAN, b"{", "plan.json: file is not JSON"),
        (run_folder.REPORT_SECTION, None, "file is missing"),
        (run_folder.REPORT_SECTION, b'{"schema": 1}', "unknown schema version"),
        (run_folder.REPORT_SECTION, b'{"schema": 3, "study": 7}', "wanted a string"),
        (run_folder.SUMMARY_JSON, b"[]", "wanted an object"),
        (run_folder.SUMMARY_JSON, b"{\xff", "cannot be read"),
        (run_folder.TABLES_MD, None, "No such file"),
        (run_folder.TABLES_TEX, b"\xff", "can't decode"),
    ],
)
def test_a_run_or_a_report_that_cannot_be_read_is_named(
    copied: Path, file: str, content: bytes | None, why: str
) -> None:
    place = copied / SENSITIVE / file
    place.unlink()
    if content is not None:
        place.write_bytes(content)
    write_set(copied, runs_of(copied), program)
    (missing,) = summary_of(copied)["missing"]
    assert missing["run"] == SENSITIVE
    assert why in missing["reason"]
    assert str(copied) not in missing["reason"]


def test_a_set_of_which_nothing_can_be_read_says_so(tmp_path: Path) -> None:
    runs = [tmp_path / "one", tmp_path / "other"]
    write_set(tmp_path, runs, program)
    text = shown(tmp_path).text()
    assert "one is not on this page. one: no such run folder" in text
    assert "other is not on this page. other: no such run folder" in text


def never() -> str:
    raise AssertionError("the library was asked for")


def test_studies_without_figures_need_no_program(copied: Path) -> None:
    for name in NAMES:
        edit_json(copied / name / run_folder.REPORT_SECTION, drawn=False)
    write_set(copied, runs_of(copied), never)
    (script,) = (text for text in shown(copied).scripts if text.startswith("//"))
    assert "vegaEmbed" not in script


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    changes = {"title": HOSTILE, "assumptions": [{"id": "a", "text": HOSTILE, "why": GAP}]}
    run = build_run(tmp_path / "one", losses=(0.01, 0.02), seeds=2, changes=changes)
    report_set(tmp_path, [run])
    page = shown(tmp_path)
    assert page.open == []
    assert "img" not in {tag for tag, _ in page.tags}
    assert len(page.all("script")) == 1 + len(page.all("figure")) == 4
    assert page.text().count(HOSTILE) >= 3
