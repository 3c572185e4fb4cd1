"""Cells on a cluster that loses something meanwhile: workers, room, its scheduler, who waits."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from model import run_folder
from model.errors import RunError
from testbed.campaign.run_cell import Executed
from testbed.campaign.run_cells import Outcome, Progress, Task
from testbed.cluster import cells_here, giving
from tests.support.runs import clusters
from tests.support.runs.cluster_cells import (
    WITHIN_S,
    Act,
    Ends,
    EndsAll,
    Full,
    FullOnce,
    Lab,
    planned,
    run,
    until,
)  # fmt: skip

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)
#: How soon a campaign ends that was interrupted, whatever its scheduler does.
ENDED_WITHIN_S = 60.0


def test_killed_workers_lose_no_cell_and_repeat_no_finished_one(
    tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    gate = tmp_path / "gate"
    start("scheduler", here)
    process = start("worker", here, "--jobs", "2")
    cells, outcomes = planned(6), []
    running = threading.Thread(
        target=lambda: outcomes.append(run(tmp_path / "run", cells, Lab(Act(begun, gate))))
    )
    running.start()
    killed: set[str] = set()
    for times in (1, 2):
        until(lambda times=times: len(list(begun.iterdir())) >= 2 * times)  # type: ignore[misc]
        killed |= {path.name.partition("-")[0] for path in begun.iterdir()}
        for one in clusters.worker_processes(process):
            one.kill()
    gate.touch()
    running.join(WITHIN_S)
    assert outcomes == [Outcome(finished_cells=6, failures=())]
    seeds = [path.name.partition("-")[0] for path in begun.iterdir()]
    # Those that were killed in the midst were begun again, and no other.
    assert {seed for seed in seeds if seeds.count(seed) > 1} <= killed
    assert len(killed) <= 4


def test_a_machine_that_freezes_holds_no_campaign_and_what_it_brings_later_does_not_count(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, counted = tmp_path / "gate", []
    with monkeypatch.context() as of_scheduler:  # five minutes unless told
        of_scheduler.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "5s")
        start("scheduler", here)
    program = start("worker", here, "--jobs", "1")
    frozen = [psutil.Process(program.pid), *clusters.worker_processes(program)]
    cells, outcomes = planned(3), []
    running = threading.Thread(
        target=lambda: outcomes.append(
            run(tmp_path / "run", cells, Lab(Act(begun, gate)), lambda seen: counted.append(seen))
        ),
        daemon=True,
    )
    running.start()
    until(lambda: list(begun.iterdir()))
    for one in frozen:
        one.suspend()
    try:
        start("worker", here, "--jobs", "1")
        until(lambda: len(list(begun.iterdir())) == 2)  # it was given to that one
        gate.touch()
        until(lambda: counted and counted[-1].done_cells >= 2)
    finally:
        for one in reversed(frozen):
            one.resume()
    running.join(WITHIN_S)
    assert outcomes == [Outcome(finished_cells=3, failures=())]
    assert counted[-1].done_cells == 3
    for one in cells:
        assert run_folder.is_done(run_folder.cell_folder(tmp_path / "run", one.id))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_cell_that_ends_its_worker_does_so_a_stated_number_of_times(
    jobs: str, tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", jobs)
    cells = planned(3)
    outcome = run(tmp_path, cells, Lab(Ends(begun, seed=2)), retries=0)
    assert outcome.finished_cells == 2
    ((failed, why),) = outcome.failures
    assert failed == cells[1].id
    assert "the workers that ran it were lost" in why
    tried = [path.name.partition("-")[0] for path in begun.iterdir()].count("2")
    assert giving.MOST_LOST <= tried <= giving.MOST_LOST * int(jobs)


def test_what_is_lost_with_its_worker_before_it_was_fetched_runs_again(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("scheduler", here)
    process = start("worker", here, "--jobs", "1")
    killed: list[psutil.Process] = []
    outcomes: list[Outcome] = []

    def fetch(future: Any, *arguments: Any) -> Executed:
        if not killed:
            killed.extend(clusters.worker_processes(process))
            for one in killed:
                one.kill()
            until(lambda: future.status != "finished")
        return cells_here.arrived(future, *arguments)

    monkeypatch.setattr("testbed.cluster.giving.arrived", fetch)
    cells = planned(2)
    running = threading.Thread(
        target=lambda: outcomes.append(run(tmp_path / "run", cells, Lab(Act(begun)))), daemon=True
    )
    running.start()
    running.join(WITHIN_S)
    assert outcomes == [Outcome(finished_cells=2, failures=())]
    tried = [path.name.partition("-")[0] for path in begun.iterdir()]
    assert (tried.count("1"), tried.count("2")) in {(2, 1), (1, 2), (2, 2)}


@pytest.mark.parametrize("programs", [1, 3])  # below and above what dask counts
def test_cells_beside_one_that_ends_all_workers_are_not_taken_for_the_reason(
    programs: int, tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    start("scheduler", here)
    for _ in range(programs):
        start("worker", here, "--jobs", "2")
    cells = planned(2 * programs + 1)
    outcome = run(tmp_path, cells, Lab(EndsAll(begun, seed=2, here=here)), retries=0)
    assert [failed for failed, _ in outcome.failures] == [cells[1].id]
    assert outcome.finished_cells == 2 * programs


def test_a_cell_on_a_worker_that_gets_no_others_runs_on(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    # They are given away in their order: would the second be the first, the worker that comes would
    # be the full one.
    monkeypatch.setattr(giving, "AT_ONCE", 1)
    start("scheduler", here)
    start("worker", here, "--jobs", "1")

    def fetch(future: Any, task: Task, *arguments: Any) -> Executed:
        if task.planned.cell.seed == 1:
            until(lambda: list(begun.glob("2-*")))
        return cells_here.arrived(future, task, *arguments)

    monkeypatch.setattr("testbed.cluster.giving.arrived", fetch)
    outcomes: list[Outcome] = []
    running = threading.Thread(
        target=lambda: outcomes.append(
            run(tmp_path / "run", planned(2), Lab(FullOnce(begun, gate)))
        ),
        daemon=True,
    )
    running.start()
    until(lambda: list(begun.glob("2-*")))
    start("worker", here, "--jobs", "1")
    until(lambda: len(list(begun.glob("1-*"))) == 2)
    gate.touch()
    running.join(WITHIN_S)
    assert outcomes == [Outcome(finished_cells=2, failures=())]
    assert len(list(begun.glob("2-*"))) == 1


def test_a_worker_with_a_full_disk_fails_no_cell_and_gets_no_other(
    tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "2")
    cells = planned(5)
    assert run(tmp_path, cells, Lab(Full(begun, by=2))).finished_cells == 5
    tried = [path.name.partition("-")[0] for path in begun.iterdir()]
    # One worker is full from then on: its cell went to the other one, and what it was given before
    # that was known, and one more while that was on its way.
    assert 6 <= len(tried) <= 8


def test_a_lost_scheduler_is_told_and_what_is_finished_stays(
    tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    process = start("scheduler", here)
    worker = start("worker", here, "--jobs", "1")
    cells = planned(3)

    def report(progress: Progress) -> None:
        if progress.done_cells == 1:
            process.kill()
            process.wait()

    with pytest.raises(RunError, match=r"scheduler went away.*groundtruth resume"):
        run(tmp_path / "run", cells, Lab(Act(begun)), report)
    done = [
        one for one in cells if run_folder.is_done(run_folder.cell_folder(tmp_path / "run", one.id))
    ]
    assert len(done) >= 1
    assert worker.wait(WITHIN_S) == 3  # it says why, and does not look as if it still ran
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    assert run(tmp_path / "run", cells, Lab(Act(begun))).finished_cells == 3
    seeds = [path.name.partition("-")[0] for path in begun.iterdir()]
    assert all(seeds.count(str(one.cell.seed)) == 1 for one in done)


def test_a_scheduler_lost_while_a_cell_comes_back_is_no_failure_of_the_cell(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start("scheduler", here)
    start("worker", here, "--jobs", "1")

    def fetch(future: Any, *arguments: Any) -> Executed:
        process.send_signal(signal.SIGSTOP)  # so that it is asked, and dies before it answers
        threading.Timer(1.0, process.kill).start()
        return cells_here.arrived(future, *arguments)

    monkeypatch.setattr("testbed.cluster.giving.arrived", fetch)
    monkeypatch.setattr("testbed.cluster.crew.LOOK_S", WITHIN_S)  # who looks would find out first
    with pytest.raises(RunError, match=r"scheduler went away.*groundtruth resume"):
        run(tmp_path / "run", planned(1), Lab(Act(begun)))
    assert not list(tmp_path.glob(f"run/**/{run_folder.FAILURE}"))


def test_a_connection_that_breaks_costs_a_try_and_no_campaign(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    broken: list[Any] = []
    fetched = cells_here._fetched

    def breaks(future: Any, *arguments: Any) -> Any:
        if not broken:
            broken.append(future)
            raise ConnectionResetError
        return fetched(future, *arguments)

    monkeypatch.setattr(cells_here, "_fetched", breaks)
    monkeypatch.setattr(cells_here, "KNOWN_WITHIN_S", 0.5)
    outcome = run(tmp_path / "run", planned(2), Lab(Act(begun)))
    assert outcome == Outcome(finished_cells=2, failures=())
    assert len(list(begun.iterdir())) == 3


def test_an_interrupt_ends_soon_where_the_scheduler_does_not_answer(
    tmp_path: Path, begun: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start("scheduler", here)
    start("worker", here, "--jobs", "2")
    fetched, frozen, order = threading.Event(), threading.Event(), iter((1, 2))

    def fetch(future: Any, *arguments: Any) -> Executed:
        if next(order) == 1:
            done = cells_here.arrived(future, *arguments)
            fetched.set()
            assert frozen.wait(WITHIN_S)
            return done
        assert fetched.wait(WITHIN_S)
        process.send_signal(signal.SIGSTOP)
        frozen.set()
        return cells_here.arrived(future, *arguments)

    interrupted_s = []

    def interrupt(progress: Progress) -> None:
        if progress.done_cells:
            interrupted_s.append(time.monotonic())
            raise KeyboardInterrupt

    monkeypatch.setattr("testbed.cluster.giving.arrived", fetch)
    monkeypatch.setattr(cells_here, "GRACE_S", 1.0)
    monkeypatch.setattr("testbed.cluster.crew.LOOK_S", WITHIN_S)  # who looks would wait as well
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", planned(2), Lab(Act(begun)), interrupt)
        assert frozen.is_set()
        assert time.monotonic() - interrupted_s[0] < ENDED_WITHIN_S
    finally:
        process.send_signal(signal.SIGCONT)
