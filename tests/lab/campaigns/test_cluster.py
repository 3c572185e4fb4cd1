"""Cells of the real lab on a cluster of this machine: the same bytes, and no lab left over."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from model import run_folder
from model.cell import Cell, cell_id
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.campaign.run_cells import Outcome, Part, run_parts
from testbed.cluster import address, keys
from testbed.cluster.engine import Cluster
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.planning.plan import PlannedCell
from tests.support.runs import clusters

WITHIN_S = 240.0


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[clusters.Programs]:
    """Return what begins a cluster's programs."""
    with clusters.programs(tmp_path) as programs:
        yield programs


def _run(place: Path, cells: list[PlannedCell], lab: VirtualLab, where: str) -> Outcome:
    part = Part(run=place, cells=cells, lab=lab)
    there = Cluster(address=address.parse(where))
    (outcome,) = run_parts([part], jobs=1, report=lambda _: None, elsewhere=there)
    return outcome


@pytest.mark.timeout(900)
def test_cells_are_the_same_there_also_where_a_worker_is_killed(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path, begun: clusters.Programs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    keys.make(tmp_path / "keys")
    monkeypatch.setenv(address.KEYS_VARIABLE, str(tmp_path / "keys"))
    where = f"tls://127.0.0.1:{clusters.free_port()}"
    begun.start("scheduler", where)
    worker = begun.start("worker", where, "--jobs", "1")
    cells = [
        PlannedCell(id=cell_id(cell), cell=cell)
        for cell in (
            dataclasses.replace(wireless(duration_s=60.0, pcap=True), seed=seed) for seed in (1, 2)
        )
    ]
    outcomes: list[Outcome] = []
    running = threading.Thread(
        target=lambda: outcomes.append(_run(tmp_path / "run", cells, lab, where))
    )
    running.start()
    deadline_s = time.monotonic() + WITHIN_S
    while not (labs := clusters.below(worker, lambda one: one.name() == "linux")):
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    for one in clusters.worker_processes(worker):
        one.kill()
    gone, alive = psutil.wait_procs(labs, timeout=10)
    assert gone
    assert not alive
    running.join(WITHIN_S)
    assert outcomes == [Outcome(finished_cells=2, failures=())]
    for planned in cells:
        alone = tmp_path / "alone" / "cells" / planned.id
        execute(planned.cell, alone, lab, threading.Event())
        there = run_folder.cell_folder(tmp_path / "run", planned.id)
        assert digests.differences(digests.of_cell(alone), digests.of_cell(there)) == []
