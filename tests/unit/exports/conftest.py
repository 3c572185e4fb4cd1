"""A run to export, and the command that exports it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.exports.cell import ExportedCell
from testbed.command.cli import command_status
from tests.unit.exports.export_run import build_export_run, only_cell

Status = Callable[..., tuple[int, str]]


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder, which nobody may change."""
    return build_export_run(tmp_path_factory.mktemp("made") / "run")


@pytest.fixture(scope="package")
def cell(made: Path) -> ExportedCell:
    """Return the run's only cell."""
    return only_cell(made)


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the run folder."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Status:
    """Return what runs the command: exit status, and all it said, on one line."""

    def ask(*words: str | Path) -> tuple[int, str]:
        capsys.readouterr()
        found = command_status(["export", *map(str, words)])
        said = capsys.readouterr()
        return found, " ".join((said.out + said.err).split())

    return ask
