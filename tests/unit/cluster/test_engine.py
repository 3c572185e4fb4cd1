"""Cells on a cluster: the same folders as here, whoever is lost meanwhile."""

from __future__ import annotations

import dataclasses
import errno
import os
import pickle
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from model import run_folder
from model.cell import Cell
from model.errors import MachineError, RunError, StudyError, UnsupportedError
from testbed.campaign import digests
from testbed.campaign.run_cell import Executed
from testbed.campaign.run_cells import Outcome, Part, Progress, Task, run_parts
from testbed.cluster import address, cells_here, engine, giving, keys
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs import clusters
from tests.support.runs.cluster_cells import WITHIN_S, Act, Lab, planned, run, until

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)


@dataclasses.dataclass(frozen=True)
class Full:
    """Cells that find no room in the process that has begun the one with this seed."""

    begun: Path
    by: int

    def __call__(self, cell: Cell, folder: Path) -> None:
        (self.begun / f"{cell.seed}-{uuid.uuid4().hex}").touch()
        mark = self.begun.parent / f"full-{os.getpid()}"
        others = [one for one in self.begun.parent.glob("full-*") if one != mark]
        if mark.exists() or (cell.seed == self.by and not others):
            mark.touch()
            raise OSError(errno.ENOSPC, "no space left")
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class Ends:
    """Cells of which the one with this seed ends the process that runs it."""

    begun: Path
    seed: int

    def __call__(self, cell: Cell, folder: Path) -> None:
        (self.begun / f"{cell.seed}-{uuid.uuid4().hex}").touch()
        if cell.seed == self.seed:
            os.kill(os.getpid(), signal.SIGKILL)
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class EndsAll:
    """Cells of which the one with this seed ends all workers of a scheduler; the others last."""

    begun: Path
    seed: int
    here: str

    def __call__(self, cell: Cell, folder: Path) -> None:
        (self.begun / f"{cell.seed}-{uuid.uuid4().hex}").touch()
        time.sleep(1.0)
        if cell.seed == self.seed:
            named = [one for one in psutil.process_iter(["cmdline"])
                     if self.here in (one.info["cmdline"] or ())]  # fmt: skip
            beside = [worker for one in named for worker in clusters.worker_processes(one)]
            for one in sorted(beside, key=lambda one: one.pid == os.getpid()):  # itself last
                one.kill()
        write_recorded(cell, folder)


@dataclasses.dataclass(frozen=True)
class FullOnce:
    """Cells: the first finds no room the first time, the second waits until it may go on."""

    begun: Path
    gate: Path

    def __call__(self, cell: Cell, folder: Path) -> None:
        is_first = not list(self.begun.glob(f"{cell.seed}-*"))
        (self.begun / f"{cell.seed}-{uuid.uuid4().hex}").touch()
        if cell.seed == 1 and is_first:
            raise OSError(errno.ENOSPC, "no space left")
        until(lambda: cell.seed == 1 or self.gate.exists())
        write_recorded(cell, folder)


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    folder = tmp_path / "begun"
    folder.mkdir()
    return folder


def test_cells_leave_what_they_leave_here(
    tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "2")
    cells, lab = planned(4), Lab(Act(begun))
    assert run(tmp_path / "there", cells, lab) == Outcome(finished_cells=4, failures=())
    (alone,) = run_parts(
        [Part(run=tmp_path / "alone", cells=cells, lab=lab)], jobs=2, report=lambda _: None
    )
    assert alone.finished_cells == 4
    for one in cells:
        there, own = (
            run_folder.cell_folder(tmp_path / where, one.id) for where in ("there", "alone")
        )
        assert digests.of_cell(there) == digests.of_cell(own)
        assert (there / "DONE").read_bytes() == (own / "DONE").read_bytes()


def test_a_cell_that_fails_is_told_with_what_it_left(
    tmp_path: Path, begun: Path, here: str, start: Start
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    cells = planned(3)
    outcome = run(tmp_path, cells, Lab(Act(begun, fails=2)))
    assert outcome.finished_cells == 2
    ((failed, why),) = outcome.failures
    assert failed == cells[1].id
    assert "it fails" in why
    assert (run_folder.cell_folder(tmp_path, failed) / run_folder.FAILURE).is_file()
    assert len(list(begun.iterdir())) == 3


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
    # that was known.
    assert 6 <= len(tried) <= 7


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

    def interrupt(progress: Progress) -> None:
        if progress.done_cells:
            raise KeyboardInterrupt

    monkeypatch.setattr("testbed.cluster.giving.arrived", fetch)
    monkeypatch.setattr(cells_here, "GRACE_S", 1.0)
    monkeypatch.setattr("testbed.cluster.crew.LOOK_S", WITHIN_S)  # who looks would wait as well
    try:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "run", planned(2), Lab(Act(begun)), interrupt)
        assert frozen.is_set()
    finally:
        process.send_signal(signal.SIGCONT)


def test_two_campaigns_share_workers(tmp_path: Path, begun: Path, here: str, start: Start) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "2")
    outcomes = []
    both = [
        threading.Thread(
            target=lambda place=place, cells=cells: outcomes.append(
                run(tmp_path / place, cells, Lab(Act(begun)))
            )
        )
        for place, cells in (("one", planned(4)), ("two", planned(4)))
    ]
    for one in both:
        one.start()
    for one in both:
        one.join(WITHIN_S)
    assert outcomes == [Outcome(finished_cells=4, failures=())] * 2
    # The same cells of two campaigns are two cells each.
    assert len(list(begun.iterdir())) == 8


def test_workers_with_another_lab_get_no_cell(
    tmp_path: Path, here: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(giving, "NO_WORKER_S", 2.0)
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    cells = planned(2)
    cells = [
        PlannedCell(
            id=one.id, cell=dataclasses.replace(one.cell, lab={**one.cell.lab, "code_digest": "d"})
        )
        for one in cells
    ]
    with pytest.raises(RunError, match=r"no worker that can run.*another lab: code_digest: c"):
        run(tmp_path, cells, Lab(write_recorded))


def test_without_a_scheduler_it_is_said(
    tmp_path: Path, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del here
    monkeypatch.setattr(engine, "CONNECT_S", 1.0)
    with pytest.raises(RunError, match=r"no scheduler answers.*groundtruth scheduler"):
        run(tmp_path, planned(1), Lab(write_recorded))


def test_a_lab_in_real_time_stays_here(tmp_path: Path, here: str) -> None:
    del here

    class Real(Lab):
        properties = dataclasses.replace(FakeLab.properties, clock="real", at_once=8)

    with pytest.raises(StudyError, match=r"real time on a cluster.*leave out CLUSTER"):
        run(tmp_path, planned(1), Real(write_recorded))


def test_only_who_has_the_keys_is_spoken_to(
    tmp_path: Path, begun: Path, port: int, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.make(tmp_path / "keys")
    keys.make(tmp_path / "others")
    monkeypatch.setenv(address.KEYS_VARIABLE, str(tmp_path / "keys"))
    monkeypatch.setenv(address.VARIABLE, f"tls://127.0.0.1:{port}")
    start("scheduler", f"tls://127.0.0.1:{port}")
    start("worker", f"tls://127.0.0.1:{port}", "--jobs", "1")
    lab = Lab(Act(begun))
    assert run(tmp_path / "run", planned(2), lab).finished_cells == 2
    monkeypatch.setattr(engine, "CONNECT_S", 3.0)
    monkeypatch.setenv(address.KEYS_VARIABLE, str(tmp_path / "others"))
    with pytest.raises(
        RunError, match=r"other keys, or keys that have expired.*others; .* 825 days"
    ):
        run(tmp_path / "other", planned(1), lab)
    monkeypatch.setenv(address.VARIABLE, f"tcp://127.0.0.1:{port}")
    with pytest.raises(RunError, match=r"no scheduler answers"):
        run(tmp_path / "clear", planned(1), lab)


@pytest.mark.parametrize(
    "error", [MachineError("m", hint="h"), UnsupportedError("u"), OSError(5, "x")]
)
def test_errors_come_back_as_they_were(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


def test_in_the_clear_nothing_listens_but_on_this_machine(here: str, start: Start) -> None:
    """Whoever else could speak to a port of these could run programs here."""
    begun = [start("scheduler", here), start("worker", here, "--jobs", "1")]
    programs = [psutil.Process(process.pid) for process in begun]
    programs += [child for one in programs for child in one.children(recursive=True)]
    listening = [
        found.laddr.ip
        for one in programs
        for found in one.net_connections("inet")
        if found.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 4  # of the scheduler, of a nanny, of its worker; pages of none
    assert {*listening} <= {"127.0.0.1", "::1"}
