"""The host lab on a machine of its own: the same cells, and what they find."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import run_folder
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support import quick_machine

STUDY = "anatomy"


@pytest.fixture(scope="module")
def ran(tracing: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a study on such a machine."""
    folder = tmp_path_factory.mktemp("machine")
    quick_machine.run(
        tracing, folder,
        f"$PYTHON -m testbed run {STUDY} --lab host --reps 1 --no-sensitivity -D $OUT/results\n",
    )  # fmt: skip
    return folder / "results" / "latest"


def test_x(ran: Path) -> None:
    cells = list((ran / "cells").iterdir())
    assert len(cells) == 6
    for cell in cells:
        assert run_folder.is_done(cell)
        print(json.loads((cell / "env.json").read_text())["lab"])
        checks = json.loads((cell / "verify.json").read_text())["checks"]
        print(*[c for c in checks if c["where"] == "the machine"], sep="\n")
