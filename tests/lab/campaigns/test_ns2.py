"""ns-2 itself: what was published of one loss, and that a cell leaves the same bytes twice."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from model.cell import Cell
from model.errors import RunError
from simulators.ns2 import cell_files
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.command.runs import plans
from testbed.labs.contract.lab import Lab
from testbed.labs.ns2.kind import NS2

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Lab:
    return NS2.ready([NS2.kernel_instead("")], lambda _what, _done: None)


def cells(lab: Lab, study: str, profile: str = "era2001") -> list[Cell]:
    choices = plans.Choices(
        reps=1, lab="ns2", kernel=NS2.kernel_instead(profile), jobs=1, hosts="", pcap=False,
        telemetry=True, sensitivity=False,
    )  # fmt: skip
    made, _ = plans.make_plan(study, choices, of_kernel=lab.describe)
    return [planned.cell for planned in made.cells]


def test_the_loss_of_segment_8_gives_the_published_windows(lab: Lab, tmp_path: Path) -> None:
    """Satellite study, Figure 8: in slow start with a window of 8 packets, then 9, and halved."""
    cell = cells(lab, "anatomy")[0]
    execute(cell, tmp_path / "cell", lab, threading.Event())
    left = cell_files.read(tmp_path / "cell", cell)
    known = [one.cwnd for one in left.trace.changes if one.flow == 1 and one.cwnd is not None]
    at = known.index(9.0)
    assert known[at : at + 7] == [9.0, 4.0, 4.25, 4.485, 4.708, 4.921, 5.124]


def test_the_other_profile_does_not(lab: Lab, tmp_path: Path) -> None:
    """With what ns-2.35 does unless told otherwise: limited transmit, and exact halving."""
    cell = cells(lab, "anatomy", "ns235")[0]
    execute(cell, tmp_path / "cell", lab, threading.Event())
    left = cell_files.read(tmp_path / "cell", cell)
    known = [one.cwnd for one in left.trace.changes if one.flow == 1 and one.cwnd is not None]
    assert known[known.index(9.0) + 1] == 4.5


def test_a_cell_leaves_the_same_bytes_twice(lab: Lab, tmp_path: Path) -> None:
    cell = cells(lab, "anatomy-wireless")[0]
    for name in ("first", "second"):
        execute(cell, tmp_path / name, lab, threading.Event())
    first, second = (digests.of_cell(tmp_path / name) for name in ("first", "second"))
    assert first == second


def test_a_run_that_is_cancelled_is_told(lab: Lab, tmp_path: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(RunError, match="interrupted"):
        execute(cells(lab, "wireless")[0], tmp_path / "cell", lab, cancelled)
