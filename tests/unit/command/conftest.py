from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed.command.runs import run_and_report
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
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parents[2] / "data" / "study" / "hosts", tmp_path / "hosts")
    (tmp_path / "w.yaml").write_text(STUDY)
    return made


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Remember which runs were reported."""
    runs: list[Path] = []
    monkeypatch.setattr(
        run_and_report, "report_run", lambda run, changed, told="screen": runs.append(run)
    )
    return runs
