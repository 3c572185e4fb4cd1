"""Cells on a cluster: the same folders as here, and who may have them."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from model import run_folder
from model.errors import MachineError, RunError, StudyError, UnsupportedError
from testbed.campaign import digests
from testbed.campaign.run_cells import Outcome, Part, run_parts
from testbed.cluster import address, engine, giving, keys
from testbed.planning.plan import PlannedCell
from tests.support.fake_lab import FakeLab, write_recorded
from tests.support.runs.cluster_cells import WITHIN_S, Act, Lab, planned, run

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)


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
