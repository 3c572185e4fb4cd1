"""A cluster of this machine whose scheduler is killed, and one of whose workers has a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed.cluster import address
from tests.support.killing import differences
from tests.support.runs import clusters, small_disk
from tests.support.runs.lab_run import CELLS, LabRun

#: What a worker needs of a disk to begin, and no cell finds enough.
WORKER_BYTES = 256 << 10
#: The status of a command whose scheduler went away.
FAILED = 3


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[clusters.Programs]:
    """Return what begins a cluster's programs, each of which ends with the test."""
    with clusters.programs(tmp_path) as begun:
        yield begun


@pytest.mark.timeout(1800)  # on a machine that does much else
def test_a_killed_scheduler_and_a_worker_without_room_lose_no_cell(
    tmp_path: Path, wanted: dict[str, bytes], machine: Callable[[], list[str]],
    cluster: clusters.Programs,
) -> None:  # fmt: skip
    where = f"tcp://127.0.0.1:{clusters.free_port()}"
    worker = [sys.executable, "-m", "testbed", "worker", where, "--jobs", "1"]
    theirs, disk = tmp_path / "theirs", tmp_path / "disk"
    for folder in (theirs, disk):
        folder.mkdir()
    usual, full = ({**os.environ, "TMPDIR": str(folder)} for folder in (theirs, disk))
    run = LabRun(place=tmp_path / "run", env={address.VARIABLE: where})
    scheduler = cluster.start("scheduler", where)
    workers = [cluster.start_program(worker, usual) for _ in range(2)]
    command = run.begin()
    run.until(run.done, command)
    scheduler.kill()
    said = run.ended(command, FAILED)
    assert "the scheduler went away" in said
    assert "groundtruth resume" in said
    assert 1 <= len(run.look()) < CELLS
    for one in workers:
        cluster.end_one(one)

    cluster.start("scheduler", where)
    cluster.start_program(small_disk.argv(disk, WORKER_BYTES, worker), full)
    cluster.start_program(worker, usual)
    said = run.ended(run.resume())
    assert "its disk is full" in said
    assert "it gets no cells" in said
    assert len(run.look()) == CELLS
    assert differences(wanted, run.contents()) == []
    cluster.end()
    assert machine() == []
    assert [*run.left(), *theirs.iterdir(), *disk.iterdir()] == []


@pytest.mark.timeout(1800)  # on a machine that does much else
def test_a_killed_command_loses_no_cell_and_its_workers_run_the_rest(
    tmp_path: Path, wanted: dict[str, bytes], machine: Callable[[], list[str]],
    cluster: clusters.Programs,
) -> None:  # fmt: skip
    where = f"tcp://127.0.0.1:{clusters.free_port()}"
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    run = LabRun(place=tmp_path / "run", env={address.VARIABLE: where})
    cluster.start("scheduler", where)
    worker = [sys.executable, "-m", "testbed", "worker", where, "--jobs", "2"]
    cluster.start_program(worker, {**os.environ, "TMPDIR": str(theirs)})
    command = run.begin()
    run.until(run.done, command)
    command.kill()
    command.wait()
    assert 1 <= len(run.look()) < CELLS

    run.ended(run.resume())
    assert len(run.look()) == CELLS
    assert differences(wanted, run.contents()) == []
    cluster.end()
    assert machine() == []
    assert [*run.left(), *theirs.iterdir()] == []
