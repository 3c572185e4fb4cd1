"""Runs on a lab that boots nothing, with the summary their tables give and a page that is none."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from model import run_folder
from model.run_files import json_file
from model.run_files.cells import OBJECT
from model.run_files.summary import SET_SUMMARY
from reports.store.run import read_run
from reports.verdict.files import summary_json
from reports.verdict.summary import summarise
from testbed.campaign.study_sets import Found
from testbed.command.cli import command_status
from testbed.command.runs import run_and_report
from testbed.command.runs.run_and_report import Errors
from testbed.labs.virtual import virtual_lab
from tests.support.fake_lab import FakeLab
from tests.support.runs.one_point import STUDY, Broken, broken
from tests.support.said import said

__all__ = ["broken", "said"]


@pytest.fixture
def lab(
    cells_here: None, broken: Broken, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> FakeLab:
    made = FakeLab(broken)
    monkeypatch.setattr(virtual_lab, "ensure_per_kernel", lambda versions, report, check=None: made)
    monkeypatch.setattr(run_and_report, "report_run", report_run)
    monkeypatch.setattr(run_and_report, "report_set", report_set)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    for name in ("one", "two"):
        text = STUDY.replace("study: wireless", f"study: {name}", 1)
        (tmp_path / f"{name}.yaml").write_text(text)
    return made


def report_run(run: Path, changed: Mapping[str, str], told: str = "screen") -> None:
    """Write the summary of a run, and a page without figures."""
    summary = summarise(read_run(run, changed))
    (run / run_folder.SUMMARY_JSON).write_text(summary_json(summary))
    page = run / run_folder.REPORT_HTML
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"<title>{summary.title}</title>\n")


def report_set(
    found: Found, changed: Mapping[Path, Mapping[str, str]], jobs: int, told: str = "screen"
) -> Errors:
    """Write the summaries of a set and its runs, and pages without figures."""
    for run in found.runs:
        report_run(run, changed[run])
    own = [json_file.read(OBJECT, run / "summary.json", schema=None) for run in found.runs]
    content = SET_SUMMARY.validate_python({"studies": own, "missing": ()})
    (found.folder / run_folder.SUMMARY_JSON).write_text(json_file.text_of(SET_SUMMARY, content))
    page = found.folder / run_folder.REPORT_HTML
    page.parent.mkdir(exist_ok=True)
    page.write_text("<title>two studies</title>\n")
    return {}


def run_one(*more: str) -> Path:
    """Run a study with two seeds and return its folder."""
    assert command_status(["run", "one.yaml", "--reps", "2", "-j", "1", "-D", "r", *more]) == 0
    return Path("r/latest").resolve()


@pytest.fixture
def run(lab: FakeLab) -> Path:
    """A finished run: a calibration and two measuring cells."""
    return run_one()
