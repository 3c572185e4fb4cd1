"""A set of two small studies: one with figures to zoom into, one with claims and variations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from model import run_folder
from reports.page.write import write_report
from reports.page.write_set import write_set
from tests.support.runs.figure_run import build_figure_run
from tests.support.runs.report_run import write_json
from tests.support.runs.varied_run import CLAIMS, build_varied

DRAWN, SENSITIVE = "wireless", "satellite"
NAMES = (DRAWN, SENSITIVE)
#: What is this execution's own, and must be in no report.
STARTED = {
    "schema": 1,
    "started": "2026-11-20T13:05:09+00:00",
    "command": ["groundtruth", "run", "wireless", "--jobs", "7"],
    "host": {"machine": "x86_64", "kernel": "6.18.44-here", "python": "3.11.7", "cpus": 7},
}


def edit_json(path: Path, **changes: Any) -> None:
    """Replace keys of a JSON file."""
    write_json(path, {**json.loads(path.read_text()), **changes})


def renamed(run: Path, study: str) -> Path:
    """Make a built run one of a study of another name."""
    edit_json(run / run_folder.RESOLVED, study=study, title=f"The study {study}")
    for cell in run.glob(f"cells/*/{run_folder.CELL}"):
        edit_json(cell, study=study)
    return run


def build_set(folder: Path, started: dict[str, Any] | None = None) -> list[Path]:
    """Write the run folders of a set, and return them; their reports are not written."""
    drawn = build_figure_run(folder / DRAWN)
    edit_json(drawn / run_folder.RESOLVED, claims=CLAIMS[1:2])
    runs = [drawn, renamed(build_varied(folder / SENSITIVE), SENSITIVE)]
    for run in runs:
        write_json(run / run_folder.PROVENANCE, started or STARTED)
    write_json(folder / run_folder.SET, {"schema": 1, "studies": [run.name for run in runs]})
    return runs


def report_set(folder: Path, runs: list[Path]) -> None:
    """Write the reports of the runs, then that of the set, with a program that draws nothing."""
    for run in runs:
        write_report(run, library=program)
    write_set(folder, runs, program)


def program() -> str:
    """Return a script that stands for the drawing library."""
    return "window.vegaEmbed = null;"
