"""A cell on a machine that had no lab and was sent it: the same bytes as here."""

from __future__ import annotations

import dataclasses
import os
import threading
from pathlib import Path

import pytest

from model import run_folder
from model.cell import cell_id
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.campaign.run_cells import Outcome, Part, run_parts
from testbed.cluster import address
from testbed.cluster.engine import Cluster
from testbed.labs.confinement import host_tools
from testbed.labs.virtual.virtual_lab import VirtualLab
from testbed.machine import contents
from testbed.planning.plan import PlannedCell
from testbed.points.load_study import find_study, load_study
from testbed.points.resolve import resolve_cell
from tests.support.runs import clusters


@pytest.mark.timeout(1200)
def test_a_machine_without_the_lab_is_sent_it_and_leaves_the_same_bytes(
    tracing: VirtualLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That machine has another cache, umask, time zone, language and order of files than this."""
    lab, study = tracing, load_study(find_study("wireless"))
    cell = resolve_cell(study, study.points[-1], seed=1, replicate=1, lab=lab.describe())
    flows = tuple(dataclasses.replace(flow, stop_s=20.0) for flow in cell.flows)
    cell = dataclasses.replace(cell, duration_s=20.0, measure_to_s=20.0, flows=flows)
    planned = PlannedCell(id=cell_id(cell), cell=cell)
    where = f"tcp://127.0.0.1:{clusters.free_port()}"
    there = tmp_path / "another" / "cache" / "of-a-longer-name"
    confined_by = host_tools.find(host_tools.BUBBLEWRAP).parent
    with clusters.programs(tmp_path) as begun:
        begun.start("scheduler", where)
        mask = os.umask(0o077)
        try:
            with monkeypatch.context() as of_worker:
                of_worker.setenv("XDG_CACHE_HOME", str(there))
                of_worker.setenv("PATH", f"{confined_by}:{os.environ['PATH']}")
                of_worker.setenv("TZ", "Pacific/Kiritimati")
                of_worker.setenv("LC_ALL", "C")
                begun.start("worker", where, "--jobs", "1")
        finally:
            os.umask(mask)
        part = Part(run=tmp_path / "run", cells=[planned], lab=lab)
        cluster = Cluster(address=address.parse(where))
        (outcome,) = run_parts([part], jobs=1, report=lambda _: None, elsewhere=cluster)
    assert outcome == Outcome(finished_cells=1, failures=())
    own = there / "groundtruth"
    assert {one.name for one in own.iterdir()} == {one.name for one in lab.parts()}
    for one in lab.parts():
        assert contents.digest(own / one.name) == contents.digest(one)
    alone = tmp_path / "alone" / "cells" / planned.id
    execute(cell, alone, lab, threading.Event())
    found = digests.of_cell(run_folder.cell_folder(tmp_path / "run", planned.id))
    assert digests.differences(digests.of_cell(alone), found) == []
