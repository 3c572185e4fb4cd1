"""A run whose captures were exported, and the command that exports them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from model import run_folder
from testbed.command import wireshark
from testbed.command.cli import command_status
from tests.support.exported_cell import make_run

Status = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder whose captures were exported."""
    run = tmp_path_factory.mktemp("run")
    make_run(run)
    wireshark.command(str(run), [], all_points=True)
    return run


@pytest.fixture
def run(exported: Path, tmp_path: Path) -> Path:
    """Return a copy of the run folder, not exported yet."""
    copy = tmp_path / "run"
    shutil.copytree(exported, copy)
    shutil.rmtree(copy / run_folder.PCAP)
    return copy


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Status:
    """Return what runs the command: exit status, and all it said, on one line."""

    def ask(*words: str | Path) -> tuple[int, str]:
        capsys.readouterr()
        found = command_status(["wireshark", *map(str, words)])
        said = capsys.readouterr()
        return found, " ".join((said.out + said.err).split())

    return ask
