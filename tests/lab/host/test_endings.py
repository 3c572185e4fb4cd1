"""However a run of the host lab ends, the machine is as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.machines import quick

HERE = Path(__file__).parent
KILLS, SEED = 20, 20261


@pytest.mark.timeout(1500)
def test_nothing_of_a_run_is_left_whenever_it_is_killed(
    tracing: VirtualLab, tmp_path: Path
) -> None:
    quick.run(
        tracing, tmp_path,
        f"$PYTHON {HERE}/programs/endings.py {HERE}/small.yaml {SEED} {KILLS}\n",
        clock="computing takes time", timeout_s=1400,
    )  # fmt: skip
    endings = json.loads((tmp_path / "endings.json").read_text())
    assert [(one["how"], one["left"]) for one in endings if one["left"]] == []
    by_itself, of_cells, terminated, interrupted, *killed = endings
    # Its end can be that the machine did not keep up: here computing takes time.
    assert by_itself["status"] in (0, 3), by_itself["log"]
    assert of_cells["status"] == 0, of_cells["log"]
    assert "groundtruth resume" in terminated["log"]
    assert terminated["status"] != 0 != interrupted["status"]
    # A moment can be after the end, but not many are.
    assert sum(one["status"] == -9 for one in killed) > KILLS / 2
