"""What runs as root in the host lab cannot reach beyond its own networks by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.machines import quick

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def tried(tracing: VirtualLab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What came of each thing tried on such a machine: an error's name, or "done"."""
    folder = tmp_path_factory.mktemp("machine")
    quick.run(tracing, folder, f"$PYTHON {HERE}/programs/rights.py\n")
    found: dict[str, str] = json.loads((folder / "tried.json").read_text())
    return found


def test_what_a_cell_needs_is_allowed(tried: dict[str, str]) -> None:
    assert tried.pop("make a network") == "done"
    assert tried.pop("mount") == "done"


@pytest.mark.parametrize(
    "what",
    ["set the date", "make a device", "restart", "write sysfs", "write a sysctl",
     "another user's file"],
)  # fmt: skip
def test_what_it_does_not_need_is_refused(what: str, tried: dict[str, str]) -> None:
    assert tried[what] in ("EPERM", "EACCES", "EROFS")
