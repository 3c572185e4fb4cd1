"""Cells of small ad-hoc networks, run in the virtual lab on the kernel that has radios."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from model.cell import Cell
from testbed.campaign.run_cell import execute
from testbed.labs.virtual import virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.ad_hoc_study import cell
from tests.support.study_file import Edit


@dataclass(frozen=True)
class Left:
    """What a cell left that ran to its end."""

    cell: Cell
    folder: Path

    def json(self, name: str) -> Any:
        """Return a JSON file."""
        return json.loads((self.folder / name).read_text())

    def totals(self, stem: str) -> dict[str, Any]:
        """Return the last line of a program's words."""
        last = (self.folder / f"{stem}.jsonl").read_text().splitlines()[-1]
        found: dict[str, Any] = json.loads(last)
        return found


RunAdHoc = Callable[..., Left]


@pytest.fixture(scope="session")
def radios() -> VirtualLab:
    """The lab whose kernel has radios; built when it is not there."""
    return virtual_lab.ensure("6.12+radio", lambda _what, _done: None)


@pytest.fixture(scope="module")
def run_ad_hoc(radios: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> RunAdHoc:
    """Run the cell of an edited study (tests/support/ad_hoc_study.py), tables and audit included.

    Keywords replace fields of the cell.
    """
    place = tmp_path_factory.mktemp("ad-hoc")

    def run(name: str, *edits: Edit, **changes: Any) -> Left:
        folder = place / name
        folder.mkdir()
        one = cell(*edits, lab=radios.describe(), **changes)
        execute(one, folder, radios, threading.Event())
        assert (folder / "DONE").exists()
        return Left(one, folder)

    return run
