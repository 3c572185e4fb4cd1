"""Tests of the process that computes beside a thread."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from model.errors import ParseError, RunError
from testbed.machine import workers
from testbed.machine.worker_process import WorkerProcess

ROOT = Path(__file__).resolve().parents[3]


def place() -> tuple[int, list[int]]:
    return os.getpid(), sorted(os.sched_getaffinity(0))


def refuse() -> None:
    raise ParseError("bad", where="file:1", wanted="a", got="b", hint="c")


def divide() -> float:
    return 1 / 0


class AwkwardError(Exception):
    """Pickled it lacks an argument when it is taken out again."""

    def __init__(self, what: str, *, where: str) -> None:
        super().__init__(f"{where}: {what}")


def fail_awkwardly() -> None:
    raise AwkwardError("bad", where="file")


def fail_with_a_lock() -> None:
    raise ValueError("locked", threading.Lock())


def give_a_lock() -> object:
    return threading.Lock()


def leave() -> None:
    os._exit(7)


def be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def process() -> Iterator[WorkerProcess]:
    made = WorkerProcess()
    yield made
    made.close()


def test_calls_happen_in_one_other_process_on_the_callers_cores(process: WorkerProcess) -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        first = process.call(place)
    finally:
        os.sched_setaffinity(0, cores)
    assert first[0] != os.getpid()
    assert first == (process.call(place)[0], [min(cores)])


def test_an_error_is_raised_here_as_it_was_there(process: WorkerProcess) -> None:
    with pytest.raises(ParseError) as caught:
        process.call(refuse)
    assert str(caught.value) == "file:1: bad: wanted a, got b (c)"
    assert (caught.value.where, caught.value.hint) == ("file:1", "c")
    with pytest.raises(ZeroDivisionError) as bug:
        process.call(divide)
    assert "return 1 / 0" in "".join(bug.value.__notes__)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fail_awkwardly, "the process that computes failed: got AwkwardError: file: bad"),
        (fail_with_a_lock, "the process that computes failed: got ValueError: ('locked', <unlock"),
    ],
)
def test_an_error_that_cannot_be_sent_is_told_in_words(
    function: Callable[[], None], words: str, process: WorkerProcess
) -> None:
    before = process.call(place)
    with pytest.raises(RunError) as caught:
        process.call(function)
    assert str(caught.value).startswith(words)
    assert "memory" not in str(caught.value)
    assert f"in {function.__name__}" in "".join(caught.value.__notes__)
    assert process.call(place) == before


def test_a_result_that_cannot_be_sent_is_told(process: WorkerProcess) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        process.call(give_a_lock)
    with pytest.raises(TypeError, match="cannot pickle"):
        process.call(place, threading.Lock())
    assert process.call(place)[0] != os.getpid()


def test_a_process_that_ends_by_itself_is_not_short_of_memory(process: WorkerProcess) -> None:
    with pytest.raises(RunError) as caught:
        process.call(leave)
    assert str(caught.value).endswith("was ended from outside: got status 7")


def test_a_killed_process_is_an_error_and_the_next_call_has_another(process: WorkerProcess) -> None:
    before = process.call(place)[0]
    with pytest.raises(RunError, match=r"be_killed: the process .* got signal 9 .*memory"):
        process.call(be_killed)
    assert process.call(place)[0] not in (before, os.getpid())


def test_the_process_ends_when_its_caller_is_killed() -> None:
    script = (
        "import os, signal, sys; from testbed.machine.worker_process import WorkerProcess; "
        "held = WorkerProcess(); print(held.call(os.getpid), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as caller:  # fmt: skip
        assert caller.stdout is not None
        handle = os.pidfd_open(int(caller.stdout.readline()))
        caller.kill()
        caller.wait(10)
    try:
        assert select.select([handle], [], [], 30)[0] == [handle]
    finally:
        os.close(handle)


def test_each_thread_of_a_pool_has_a_process_and_others_have_none() -> None:
    together = threading.Barrier(2)
    found: list[int] = []

    def act(_: int) -> None:
        together.wait(10)
        found.append(workers.in_process(place)[0])

    workers.each([1, 2], act, jobs=2, cancelled=threading.Event(), ended=lambda _item, error: None)
    assert len({*found, os.getpid()}) == 3
    for gone in found:
        with pytest.raises(ProcessLookupError):
            os.kill(gone, 0)
    assert workers.in_process(place)[0] == os.getpid()


def hold(pid_file: str) -> None:
    """Keep the interpreter's lock for long, as some library may."""
    Path(pid_file).write_text(str(os.getpid()))
    ctypes.PyDLL(None).sleep(60)


CALLER = """
import sys
from testbed.machine.worker_process import WorkerProcess
from tests.unit.machine.test_worker_process import hold
if __name__ == "__main__":
    WorkerProcess().call(hold, sys.argv[1])
"""


def test_it_ends_at_once_with_a_caller_that_is_killed(tmp_path: Path) -> None:
    """Whatever it does: what it writes afterwards could be in the way of who goes on."""
    pid_file = tmp_path / "pid"
    (tmp_path / "caller.py").write_text(CALLER)
    argv = [sys.executable, str(tmp_path / "caller.py"), str(pid_file)]
    with subprocess.Popen(argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) as caller:
        while not (pid_file.exists() and pid_file.read_text()):
            assert caller.poll() is None
            time.sleep(0.01)
        handle = os.pidfd_open(int(pid_file.read_text()))
        caller.kill()
    assert select.select([handle], [], [], 20)[0]
    os.close(handle)


def test_an_interrupt_does_not_wait_for_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    cancelled = threading.Event()

    def act(_: int) -> None:
        workers.in_process(hold, str(pid_file))

    def interrupt() -> None:
        while not (pid_file.exists() and pid_file.read_text()):
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        workers.each([1], act, jobs=1, cancelled=cancelled, ended=lambda *_: None)
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_an_error_of_a_lost_process_holds_on_to_no_buffer(process: WorkerProcess) -> None:
    """A view of one, in the frames of an error, is an error of its own once both are collected."""
    pid, _ = process.call(place)
    os.kill(pid, signal.SIGKILL)
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)
    with pytest.raises(RunError) as raised:
        process.call(place)
    lost = raised.value.__cause__
    assert isinstance(lost, BrokenPipeError | ConnectionResetError)
    held = [
        value
        for frame, _ in traceback.walk_tb(lost.__traceback__)
        for value in frame.f_locals.values()
        if isinstance(value, memoryview) and not isinstance(value.obj, bytes)
    ]
    assert held == []
