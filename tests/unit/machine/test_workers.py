"""Tests of the processes in which the same is done to many things."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from model.errors import MachineError, ParseError, RunError
from testbed.machine import room, workers

ROOT = Path(__file__).resolve().parents[3]
MEMORY = " (the machine may be short of memory)"


def each(items: list[Any], act: Callable[[Any], Any], **options: Any) -> dict[Any, Any]:
    """Return what became of each item, in the order in which they ended."""
    found: dict[Any, Any] = {}
    given = {"name": "item {}".format, "jobs": 1, "ended": found.__setitem__, **options}
    workers.each(items, act, **given)
    return found


def place(_: object) -> tuple[int, set[int]]:
    return os.getpid(), os.sched_getaffinity(0)


def refuse(_: object) -> None:
    raise ParseError("bad", where="file:1", wanted="a", got="b", hint="c")


def divide(by: int) -> float:
    return 1 / by


class AwkwardError(Exception):
    """Pickled it lacks an argument when it is taken out again."""

    def __init__(self, what: str, *, where: str) -> None:
        super().__init__(f"{where}: {what}")


def fail_awkwardly(_: object) -> None:
    raise AwkwardError("bad", where="file")


def fail_with_a_lock(_: object) -> None:
    raise ValueError("locked", threading.Lock())


def give_a_lock(_: object) -> object:
    return threading.Lock()


def leave(how: str) -> int:
    """End this process as its item says; else return which it is."""
    if how == "status 7":
        os._exit(7)
    if how.startswith("nobody knows how"):
        os.kill(os.getppid(), signal.SIGKILL)  # what it was forked from
    if how.startswith(("signal 9", "nobody knows how")):
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def hold(pid_file: Path) -> None:
    """Keep the interpreter's lock for long, as some library may."""
    pid_file.write_text(str(os.getpid()))
    for _ in range(60):  # a signal ends each
        ctypes.PyDLL(None).sleep(1)


def wait_until_cancelled(pid_file: Path) -> None:
    pid_file.write_text(str(os.getpid()))
    deadline_s = time.monotonic() + 60
    while not workers.CANCELLED.is_set() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    if workers.CANCELLED.is_set():
        pid_file.with_name("cancelled").touch()


def meet(folder: Path, name: str) -> int:
    """Return which process this is once the other item is acted on as well."""
    (folder / name).touch()
    deadline_s = time.monotonic() + 20
    while len(list(folder.iterdir())) < 2:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    return os.getpid()


def gone(*processes: int) -> bool:
    """Return whether these have ended; who should ask for how may have been killed as well."""
    return not any(runs(pid) for pid in processes)


def runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def read_pid(pid_file: Path) -> int:
    """Return the number in a file once it is there."""
    deadline_s = time.monotonic() + 60
    while not (pid_file.exists() and pid_file.read_text()):
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    return int(pid_file.read_text())


def test_items_come_in_order_in_one_other_process_on_one_core() -> None:
    found = each(["b", "a", "c"], place)
    assert list(found) == ["b", "a", "c"]
    ((pid, cores), *others) = found.values()
    assert others == [(pid, cores)] * 2
    assert pid != os.getpid()
    assert len(cores) == 1
    assert cores <= os.sched_getaffinity(0)
    assert gone(pid)


def test_as_many_processes_as_jobs_and_no_more_than_items(tmp_path: Path) -> None:
    found = each(["a", "b"], partial(meet, tmp_path), jobs=5)
    assert len({*found.values(), os.getpid()}) == 3
    assert gone(*found.values())
    assert each([], place, jobs=2) == {}


def test_terminal_signals_do_not_end_a_process_and_are_not_ignored_by_what_it_starts() -> None:
    sent = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ((passed, ignored),) = each([sent], send_here).values()
    assert passed == len(sent)
    assert not any(ignored & 1 << (number - 1) for number in sent)


def send_here(numbers: tuple[signal.Signals, ...]) -> tuple[int, int]:
    """Return how many signals this process survives, and which a program ignores, a bit each."""
    for number in numbers:
        os.kill(os.getpid(), number)
    line = subprocess.check_output(["grep", "SigIgn", "/proc/self/status"])
    return len(numbers), int(line.split()[1], 16)


def test_an_error_comes_as_it_was_and_the_others_go_on() -> None:
    found = each([1, 2], refuse)
    assert list(found) == [1, 2]
    assert isinstance(found[1], ParseError)
    assert str(found[1]) == "file:1: bad: wanted a, got b (c)"
    assert (found[1].where, found[1].hint) == ("file:1", "c")


def fail_for_a_reason(_: object) -> None:
    try:
        raise OSError(errno.EDQUOT, "quota", "cells")
    except OSError as error:
        raise RunError("cannot write") from error


def test_an_error_comes_with_what_it_came_of() -> None:
    (error,) = each([1], fail_for_a_reason).values()
    assert isinstance(error, RunError)
    assert isinstance(error.__cause__, OSError)
    assert (error.__cause__.errno, error.__cause__.filename) == (errno.EDQUOT, "cells")
    assert error.__cause__.__cause__ is None
    assert room.is_full(error)


def fail_for_an_awkward_reason(_: object) -> None:
    raise RunError("cannot write") from AwkwardError("bad", where="file")


def test_an_error_whose_reason_cannot_be_sent_comes_without_it() -> None:
    (error,) = each([1], fail_for_an_awkward_reason).values()
    assert isinstance(error, RunError)
    assert error.what == "cannot write"
    assert error.__cause__ is None


def test_a_programming_error_is_raised_and_says_where_it_was() -> None:
    ended: list[int] = []
    with pytest.raises(ZeroDivisionError) as bug:
        each([1, 0, 2], divide, ended=lambda item, _: ended.append(item))
    assert "return 1 / by" in "".join(bug.value.__notes__)
    assert ended == [1]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (fail_awkwardly, "an error that cannot be sent: got AwkwardError: file: bad"),
        (fail_with_a_lock, "an error that cannot be sent: got ValueError: ('locked', <unlock"),
    ],
)
def test_an_error_that_cannot_be_sent_is_told_in_words(
    function: Callable[[object], None], words: str
) -> None:
    found = each([1, 2], function)
    assert len(found) == 2
    assert isinstance(found[1], RunError)
    assert str(found[1]).startswith(words)
    assert "memory" not in str(found[1])
    assert f"in {function.__name__}" in "".join(found[1].__notes__)


def test_what_cannot_be_sent_is_told() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        each([1], give_a_lock)
    with pytest.raises(TypeError, match="cannot pickle"):
        each([threading.Lock()], place)


@pytest.mark.parametrize(
    ("how", "hint"),
    [
        ("status 7", ""),
        ("signal 9", MEMORY),
        ("nobody knows how: status 255, or what it was forked from was ended too", MEMORY),
    ],
    ids=["status", "signal", "with its server"],
)
def test_an_item_whose_process_ends_is_named_and_the_next_has_another(how: str, hint: str) -> None:
    found = each(["before", how, "after", "last"], leave)
    assert isinstance(found[how], RunError)
    assert str(found[how]) == (
        f"item {how}: the process that worked on it was ended from outside: got {how}{hint}"
    )
    assert found["after"] == found["last"] != found["before"]
    assert gone(found["before"], found["after"])


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), EOFError("no pid")])
def test_a_server_that_is_about_to_end_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    errors, start = [error] * 3, workers._CONTEXT.Process.start

    def start_later(self: Any) -> None:
        if errors:
            raise errors.pop()
        start(self)

    monkeypatch.setattr(workers._CONTEXT.Process, "start", start_later)
    assert each([4], divide) == {4: 0.25}
    assert not errors


def test_a_server_that_never_answers_is_not_waited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse_always(_: Any) -> None:
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(workers._CONTEXT.Process, "start", refuse_always)
    monkeypatch.setattr(workers, "_ENDED_S", 0.1)
    found = each([1, 2], divide)
    assert [type(found[number]) for number in (1, 2)] == [MachineError, MachineError]
    assert "ConnectionRefusedError" in str(found[1])


def test_where_no_process_can_be_had_an_item_fails_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors: list[Exception] = [OSError(24, "Too many open files"), RunError("cannot start")]
    start = workers._Worker._start

    def refuse_twice(self: workers._Worker) -> None:
        if errors:
            raise errors.pop(0)
        start(self)

    monkeypatch.setattr(workers._Worker, "_start", refuse_twice)
    found = each([1, 2, 4], divide)
    assert [type(found[number]) for number in (1, 2)] == [OSError, RunError]
    assert found[4] == divide(4)


def test_others_go_on_in_the_midst_of_their_work_when_a_process_is_killed(tmp_path: Path) -> None:
    pid_file, cancelled = tmp_path / "pid", tmp_path / "cancelled"
    killer = threading.Thread(target=lambda: os.kill(read_pid(pid_file), signal.SIGKILL))
    killer.start()
    found = each([pid_file, cancelled], wait_or_see, jobs=2)
    killer.join()
    assert isinstance(found[pid_file], RunError)
    assert found[cancelled] == "seen"


def wait_or_see(path: Path) -> str:
    """Wait to be killed, or see that another process was and go on for a while."""
    if path.name == "pid":
        wait_until_cancelled(path)
    pid = read_pid(path.with_name("pid"))
    while not gone(pid):
        time.sleep(0.01)
    time.sleep(0.1)
    return "seen"


def test_what_takes_too_long_is_ended_and_told(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    (error,) = each([pid_file], hold, timeout_s=3.0).values()
    assert isinstance(error, RunError)
    assert str(error) == f"item {pid_file}: never ends: wanted within 3 s"
    assert not pid_file.exists() or gone(read_pid(pid_file))


ELSEWHERE = """
from testbed.machine import workers
from tests.unit.machine.test_workers import places
if __name__ == "__main__":
    workers.each([1], places, name=str, jobs=1, ended=lambda _, found: print(*found))
"""


def places(_: object) -> tuple[str, str | None, str | None]:
    """Return where the project's modules are loaded from, and what says where they are."""
    import collectors

    return str(collectors.__file__), os.environ.get("PYTHONPATH"), os.environ.get("PYTHONSAFEPATH")


def test_a_temporary_folder_of_a_long_name_will_do(tmp_path: Path) -> None:
    """An address of a socket can have 107 bytes."""
    (tmp_path / "caller.py").write_text(ELSEWHERE)
    long = tmp_path / ("long" * 20)
    long.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(long)}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "caller.py")], env=env, check=True, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith(str(ROOT))
    assert list(long.iterdir()) == []


def test_another_copy_in_the_working_folder_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "collectors" / "tables").mkdir(parents=True)
    for name in ("__init__.py", "tables/__init__.py", "tables/write.py"):
        (tmp_path / "collectors" / name).touch()
    caller = tmp_path / "scripts" / "caller.py"
    caller.parent.mkdir()
    caller.write_text(ELSEWHERE)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("PYTHONSAFEPATH", None)
    found = subprocess.run(
        [sys.executable, str(caller)], cwd=tmp_path, env=env, check=True, capture_output=True,
        text=True, timeout=60,
    ).stdout  # fmt: skip
    assert found.split() == [str(ROOT / "collectors" / "__init__.py"), str(ROOT), "None"]


CALLER = """
import sys
from pathlib import Path
from testbed.machine import workers
from tests.unit.machine.test_workers import hold
if __name__ == "__main__":
    workers.each([Path(sys.argv[1])], hold, name=str, jobs=1, ended=lambda *_: None)
"""


def test_a_process_ends_at_once_with_a_caller_that_is_killed(tmp_path: Path) -> None:
    """Whatever it does: what it writes afterwards could be in the way of who goes on."""
    pid_file = tmp_path / "pid"
    (tmp_path / "caller.py").write_text(CALLER)
    argv = [sys.executable, str(tmp_path / "caller.py"), str(pid_file)]
    with subprocess.Popen(argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}) as caller:
        handle = os.pidfd_open(read_pid(pid_file))
        caller.kill()
    assert select.select([handle], [], [], 20)[0]
    os.close(handle)


@pytest.mark.parametrize(("act", "sees"), [(hold, False), (wait_until_cancelled, True)])
def test_an_interrupt_ends_what_is_waited_for_and_waits_for_nothing_long(
    act: Callable[[Path], None], sees: bool, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"

    def interrupt() -> None:
        read_pid(pid_file)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        each([pid_file, tmp_path / "never"], act)
    thread.join()
    assert time.monotonic() - began_s < 40
    assert gone(read_pid(pid_file))
    assert (tmp_path / "cancelled").exists() == sees
    assert not (tmp_path / "never").exists()


LOADS_LONG = """
import os, sys
sys.path.insert(0, os.getcwd())
from testbed.machine import workers
workers._LOADED_ONCE = ["loads_long"]
try:
    workers.each([1], abs, name=str, jobs=1, ended=print)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_while_the_server_loads_writes_nothing_on_the_terminal(tmp_path: Path) -> None:
    text = "import pathlib, time\npathlib.Path('loading').touch()\ntime.sleep(2)\n"
    (tmp_path / "loads_long.py").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-c", LOADS_LONG], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    until_s = time.monotonic() + 60
    while not (tmp_path / "loading").exists() and time.monotonic() < until_s:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=60) == ("interrupted\n", "")
