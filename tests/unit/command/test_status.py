"""``groundtruth status``: words, a page, and again and again until the run ends."""

from __future__ import annotations

import html.parser
import json
import shutil
import time
from pathlib import Path

import pytest

from model import run_folder
from testbed.campaign import new_runs, saved_runs
from testbed.command.cli import command_status
from testbed.command.runs import status, status_page
from testbed.planning.findings import find
from testbed.planning.plan import make_plan
from tests.support.study_file import study
from tests.unit.campaign.test_state import LAB, begin, finish, write

NOW_S = 1_800_000_000.0


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run with cells of every kind but those of a process that works on it."""
    plan = make_plan(study(), seeds=[1], lab=LAB)
    made = new_runs.create(tmp_path / "results", plan, find(plan.study, seeds=[1]), ["groundtruth"])
    for number, planned in enumerate(plan.cells[:7]):
        timing = {"wall_s": 1, "machine": "<lab2>" if number < 3 else "lab1"}
        finish(made, planned, NOW_S, 10 + number, json.dumps(timing))
    stored = '{"from_store": {}}'
    finish(made, plan.cells[7], NOW_S, 1, stored)
    folder = begin(made, plan.cells[8], NOW_S)
    why = '{"message": "the <b>kernel</b> panicked [here]"}'
    write(folder / run_folder.FAILURE, why, NOW_S)
    return made


def test_all_is_told_in_all_and_by_point(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_status(["status", str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "14 cells: 7 done, 1 from the store, 1 failed, 5 left"
    assert lines[1].startswith("no process is working on it; about ")
    assert lines[1].endswith(" left, 1 at once; groundtruth resume goes on")
    assert lines[2:4] == ["on <lab2>: 3 cells, 11.0 s each", "on lab1: 4 cells, 14.5 s each"]
    heads = ["point", "done", "kept", "from", "the", "store", "failed", "running", "left"]
    assert lines[4].split() == heads
    assert len([line for line in lines if line.startswith("loss_frac=")]) == 7
    failed = [line for line in lines if line.startswith("failed: loss_frac=")]
    assert len(failed) == 1
    assert failed[0].endswith("): the <b>kernel</b> panicked [here]")


class Text(html.parser.HTMLParser):
    """Reads a page: its tags, and its words outside of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.sources: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [str(v) for name, v in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_page_needs_nothing_else_and_says_the_same(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "status.html"
    assert command_status(["status", str(run), "--html", str(page)]) == 0
    found = Text(page.read_text())
    assert found.sources == []
    assert "script" not in found.tags
    assert not {"b", "lab2"} & set(found.tags)  # what a cell says is no markup
    assert "on lab1: 4 cells, 14.5 s each" in found.words
    assert "8 of 14 cells" in found.words
    assert any("the <b>kernel</b> panicked [here]" in words for words in found.words)
    assert found.tags.count("tr") == 8
    # Nobody runs it: there is nothing to wait for.
    assert "http-equiv" not in page.read_text()
    assert "14 cells:" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    page = tmp_path / "file" / "status.html"
    assert command_status(["status", str(run), "--html", str(page)]) == 4
    assert f"{page}: cannot write the page: got [Errno " in capsys.readouterr().err


def test_watching_ends_with_the_run_and_the_page_asks_for_itself_until_then(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, pages = tmp_path / "status.html", []
    held = saved_runs.locked(run)

    def sleep(seconds: float) -> None:
        assert seconds == status.EVERY_S
        pages.append(page.read_text())
        if len(pages) == 2:
            held.__exit__(None, None, None)

    monkeypatch.setattr(time, "sleep", sleep)
    held.__enter__()
    status.command(str(run), page, watch=True)
    assert len(pages) == 2
    refresh = f'<meta http-equiv="refresh" content="{status_page.REFRESH_S}">'
    assert [refresh in one for one in (*pages, page.read_text())] == [True, True, False]


def test_a_set_is_told_run_by_run_whether_they_are_there_or_not(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = run.parent / "set"
    for name in ("one", "two"):
        shutil.copytree(run, whole / name)
    (whole / run_folder.SET).write_text(
        '{\n "schema": 1,\n "studies": [\n  "one",\n  "two",\n  "gone"\n ]\n}\n'
    )
    assert command_status(["status", str(whole)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("28 cells: 14 done, 2 from the store, 2 failed, 10 left\n")
    assert [out.count(f"failed: {name}: loss_frac=") for name in ("one", "two")] == [1, 1]


def test_a_finished_run_says_so(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for planned in saved_runs.load_candidates(run):
        finish(run, planned, NOW_S, 10)
    assert command_status(["status", str(run)]) == 0
    assert "all cells have finished" in capsys.readouterr().out


def test_what_is_no_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_status(["status", str(tmp_path)]) == 2
    assert "not a run folder" in capsys.readouterr().err
