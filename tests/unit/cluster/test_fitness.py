"""A cluster's workers as they are told before a campaign: each by its name, and why it is unfit."""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from model.errors import RunError
from testbed.cluster import address, engine, fitness
from tests.support.fake_lab import FakeLab
from tests.support.runs.cluster_cells import WITHIN_S

Start = Callable[..., subprocess.Popen[bytes]]
pytestmark = pytest.mark.timeout(900)


class Other(FakeLab):
    """A lab that is another one wherever this process is not."""

    def describe(self, kernel_version: str = "7.3") -> dict[str, str]:
        return super().describe(kernel_version) | {"code_digest": str(os.getpid())}


def test_each_worker_is_named_by_its_machine_and_process(here: str, start: Start) -> None:
    start("scheduler", here)
    jobs = min(2, len(os.sched_getaffinity(0)))
    worker = start("worker", here, "--jobs", str(jobs))
    where = address.parse(here)
    found = fitness.look(
        where, fitness.needs(FakeLab(), ["7.3", "6.12"]), least=jobs, within_s=WITHIN_S
    )
    assert len(found) == jobs
    for one in found:
        assert one.name.startswith(f"{socket.gethostname()}-{worker.pid}-")
        assert one.why == ""
    unfit = fitness.look(where, fitness.needs(Other(), ["7.3"]))
    assert len(unfit) == jobs
    for one in unfit:
        assert one.why.startswith(f"{socket.gethostname()} has another lab: code_digest: ")


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("3.9.1", f"Python {platform.python_version()}, wanted 3.9.1, to the last digit"),
        (platform.python_version(), "another version of Groundtruth or of its packages"),
        ("", "another version of Groundtruth or of its packages"),
    ],
)
def test_a_worker_of_other_code_says_whether_that_is_its_python(
    here: str, start: Start, python: str, said: str
) -> None:
    start("scheduler", here)
    start("worker", here, "--jobs", "1")
    (need,) = fitness.needs(FakeLab(), ["7.3"])
    other = replace(need, code=replace(need.code, parses="other", python=python))
    (one,) = fitness.look(address.parse(here), [other], least=1, within_s=WITHIN_S)
    assert one.why == f"{socket.gethostname()} has other code: {said}"


def test_a_worker_that_may_not_confine_a_lab_is_unfit(
    here: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bin" / "bwrap"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho 'bwrap: no namespaces here' >&2\nexit 1\n")
    refusing.chmod(0o755)
    start("scheduler", here)
    monkeypatch.setenv("PATH", f"{refusing.parent}:{os.environ['PATH']}")
    start("worker", here, "--jobs", "1")
    needed = fitness.needs(FakeLab(), ["7.3"])
    (one,) = fitness.look(address.parse(here), needed, least=1, within_s=WITHIN_S)
    assert one.why.startswith(
        f"{socket.gethostname()}: this machine does not let a lab be confined"
    )
    assert "bwrap: no namespaces here" in one.why


def test_scheduler_and_workers_leave_nothing_behind(
    here: str, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    begun = [start("scheduler", here), start("worker", here, "--jobs", "1")]
    for one in reversed(begun):
        one.terminate()
        assert one.wait(WITHIN_S) == 0
    assert list((tmp_path / "tmp").iterdir()) == []


def test_workers_whose_scheduler_is_killed_say_so_and_nothing_else(
    here: str, start: Start, tmp_path: Path
) -> None:
    begun = start("scheduler", here)
    left = start("worker", here, "--jobs", "1")
    begun.kill()
    assert left.wait(WITHIN_S) == 3
    first, second = (tmp_path / "1.log").read_text().splitlines()
    assert first == f"workers: 1, of {here}"
    assert "the scheduler went away (begin it again" in second


def test_a_scheduler_whose_port_is_taken_says_how_to_go_on(here: str, start: Start) -> None:
    start("scheduler", here)
    second = subprocess.run(
        [sys.executable, "-m", "testbed", "scheduler", here], check=False, capture_output=True,
        text=True, timeout=WITHIN_S,
    )  # fmt: skip
    assert second.returncode == 3
    said = " ".join(second.stderr.split())
    assert f"scheduler: {here}: cannot begin: got " in said
    assert "groundtruth scheduler tls://HOST:PORT" in said


def test_who_waits_for_more_workers_is_told_of_those_that_came(here: str, start: Start) -> None:
    start("scheduler", here)
    wanted = fitness.needs(FakeLab(), ["7.3"])
    assert fitness.look(address.parse(here), wanted, least=1, within_s=0.0) == []


def test_where_no_scheduler_is_none_answers(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CONNECT_S", 1.0)
    with pytest.raises(RunError, match=r"no scheduler answers.*groundtruth scheduler"):
        fitness.look(address.parse(here), ())
