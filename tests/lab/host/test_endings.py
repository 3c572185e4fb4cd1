"""However a run of the host lab ends, the machine is as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testbed.labs.stock.stock_lab import StockLab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.machines import quick

HERE = Path(__file__).parent
#: Moments of SIGKILL, drawn from a seed; tests/long has more.
KILLS, SEED = 2, 20261


def check_endings(
    lab: VirtualLab | StockLab, folder: Path, kills: int, timeout_s: float, *, first: str = ""
) -> None:
    """End runs by themselves, by signals, and at so many drawn moments by SIGKILL.

    ``first`` is what somebody else does on the machine before.
    """
    quick.run(
        lab, folder,
        f"{first}\n$PYTHON {HERE}/programs/endings.py {HERE}/small.yaml {SEED} {kills}\n",
        clock="computing takes time", timeout_s=timeout_s,
    )  # fmt: skip
    endings = json.loads((folder / "endings.json").read_text())
    assert [(one["how"], one["left"]) for one in endings if one["left"]] == []
    by_itself, of_cells, terminated, interrupted, *killed = endings
    # Its end can be that the machine did not keep up: here computing takes time.
    assert by_itself["status"] in (0, 3), by_itself["log"]
    assert of_cells["status"] == 0, of_cells["log"]
    assert "groundtruth resume" in terminated["log"]
    assert terminated["status"] == interrupted["status"] == 3
    assert len(killed) == kills
    # A moment can be after the end, but not many are.
    assert sum(one["status"] == -9 for one in killed) > kills / 2


@pytest.mark.timeout(900)
def test_nothing_of_a_run_is_left_whenever_it_is_killed(
    tracing: VirtualLab, tmp_path: Path
) -> None:
    check_endings(tracing, tmp_path, KILLS, 850)
