"""Host programs run to their end or a deadline, and leave no process behind whatever they do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from model.errors import RunError, UnsupportedError
from testbed.machine import process
from testbed.machine.process import Watch, output_of, run_logged, tail


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    monkeypatch.setattr(process, "POLL_S", 0.02)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "build.log"


def run(script: str, log: Path, timeout_s: float = 20.0) -> None:
    run_logged(["sh", "-c", script], log=log, what="the build", timeout_s=timeout_s)


def ended(pid: int) -> bool:
    """Return whether a process is gone or a zombie, waiting a moment for it."""
    deadline_s = time.monotonic() + 5
    while time.monotonic() < deadline_s:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


def pids(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in sorted(folder.glob("pid*"))]


def test_output_goes_to_the_log_in_order_and_is_added(log: Path) -> None:
    log.write_text("before\n")
    run("echo out; echo err >&2", log)
    assert log.read_text() == "before\nout\nerr\n"


def test_no_input_and_the_environment_asked_for(log: Path) -> None:
    run_logged(
        ["/bin/sh", "-c", "cat; echo $WORD $HOME."],
        log=log,
        what="x",
        timeout_s=20,
        env={"WORD": "one"},
    )
    assert log.read_text() == "one .\n"


def test_a_failure_is_named_with_the_logs_last_lines(log: Path) -> None:
    with pytest.raises(RunError) as caught:
        run("seq 100; exit 3", log)
    assert str(caught.value) == (
        "the build failed with status 3: got \n  " + "\n  ".join(str(n) for n in range(86, 101))
    )


def test_a_signal_is_a_failure(log: Path) -> None:
    with pytest.raises(RunError, match="the build failed with status 137"):
        run("kill -KILL $$", log)


def test_a_program_that_is_not_there(log: Path) -> None:
    with pytest.raises(
        UnsupportedError, match=r"^cannot start /nonesuch \(x\): got no such program$"
    ):
        run_logged(["/nonesuch"], log=log, what="x", timeout_s=1)


#: A child and a grandchild that both take no notice of TERM and tell their process ids.
STUBBORN = """
trap '' TERM
echo $$ >{0}/pid1
(trap '' TERM; sh -c 'echo $PPID' >{0}/pid2; while :; do sleep 0.05; done) &
while [ ! -s {0}/pid2 ]; do sleep 0.01; done
echo both run
while :; do sleep 0.05; done
"""


def test_a_deadline_ends_the_whole_group_even_if_it_ignores_term(log: Path, tmp_path: Path) -> None:
    began_s = time.monotonic()
    with pytest.raises(RunError) as caught:
        run(STUBBORN.format(tmp_path), log, timeout_s=0.6)
    assert str(caught.value) == "the build did not end: wanted within 1 s, got \n  both run"
    assert len(pids(tmp_path)) == 2
    assert all(ended(pid) for pid in pids(tmp_path))
    assert time.monotonic() - began_s < 5


def test_a_program_that_heeds_term_may_clean_up(log: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="did not end"):
        run(f"trap 'echo bye >{tmp_path}/bye; exit' TERM; sleep 20 & wait", log, timeout_s=0.3)
    assert (tmp_path / "bye").read_text() == "bye\n"


def test_what_a_program_leaves_running_when_it_ends_is_ended(log: Path, tmp_path: Path) -> None:
    run(f"sleep 60 & echo $! >{tmp_path}/pid", log)
    assert all(ended(pid) for pid in pids(tmp_path))


def test_an_interrupt_ends_the_group(log: Path, tmp_path: Path) -> None:
    def interrupt() -> None:
        second = tmp_path / "pid2"
        while not (second.exists() and second.read_text()):  # there, and written
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(STUBBORN.format(tmp_path), log)
    thread.join()
    assert all(ended(pid) for pid in pids(tmp_path))


def test_an_error_while_reporting_ends_the_group(log: Path, tmp_path: Path) -> None:
    told = tmp_path / "pid"

    def report(what: str, done_frac: float) -> None:
        while not (told.exists() and told.read_text()):  # there, and written
            time.sleep(0.01)
        raise BrokenPipeError

    watch = Watch(what="x", expected_lines=1, report=report)
    with pytest.raises(BrokenPipeError):
        run_logged(
            ["sh", "-c", f"echo $$ >{told}; exec sleep 60"],
            log=log,
            what="x",
            timeout_s=20,
            watch=watch,
        )
    assert all(ended(pid) for pid in pids(tmp_path))


#: Leaves its group and its session, ignores TERM, and tells the id of every process.
RUNAWAY = """
trap '' TERM
echo $$ >{0}/pid1
setsid sh -c 'trap "" TERM; echo $$ >{0}/pid2; setsid sleep 60 & echo $! >{0}/pid3; sleep 60' &
while [ ! -s {0}/pid3 ]; do sleep 0.01; done
touch {0}/all-run
sleep 60
"""
KILLED = """
import sys
from pathlib import Path
from testbed.machine.process import namespaces, run_logged
within = namespaces() if sys.argv[3] == "within" else ()
run_logged(["sh", "-c", sys.argv[1]], log=Path(sys.argv[2]), what="x", timeout_s=60, within=within)
"""


def _killed(script: str, log: Path, sign: Path, within: str = "") -> None:
    """Let a process of its own run a script guarded, and kill it when the sign is there."""
    argv = [sys.executable, "-c", KILLED, script, str(log), within]
    asking = subprocess.Popen(argv, cwd=Path(__file__).parents[3])
    while not sign.exists():
        assert asking.poll() is None
        time.sleep(0.005)
    asking.kill()
    asking.wait()


def _gone(word: str) -> bool:
    """Return whether no process has this word in its command line, waiting a moment for it."""
    deadline_s = time.monotonic() + 5
    while time.monotonic() < deadline_s:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                found.append(word.encode() in path.read_bytes())
        if not any(found):
            return True
        time.sleep(0.02)
    return False


def test_what_left_its_group_is_ended_too(log: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="did not end"):
        run(RUNAWAY.format(tmp_path), log, timeout_s=1)
    assert len(pids(tmp_path)) == 3
    assert all(ended(pid) for pid in pids(tmp_path))


def test_nothing_outlives_who_asked_for_it(log: Path, tmp_path: Path) -> None:
    _killed(RUNAWAY.format(tmp_path), log, tmp_path / "all-run")
    assert len(pids(tmp_path)) == 3
    assert all(ended(pid) for pid in pids(tmp_path))


def test_a_program_is_not_begun_for_one_who_is_dead(log: Path, tmp_path: Path) -> None:
    """However early it was: the guard looks before it starts anything."""
    watched, lifeline = os.pipe()
    os.close(lifeline)
    argv = [sys.executable, "-I", "-S", str(process.GUARD), str(watched)]
    done = subprocess.run(
        [*argv, "touch", str(tmp_path / "begun")], pass_fds=[watched], check=False, timeout=20
    )
    os.close(watched)
    assert done.returncode == 137
    assert not (tmp_path / "begun").exists()


def test_mounts_and_processes_of_a_killed_build_are_gone(log: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    word = f"60.{os.getpid()}"
    script = (
        f"mount -t tmpfs none {place} && touch {place}/inside;"
        f"setsid sleep {word} & touch {tmp_path}/mounted; sleep {word}"
    )
    _killed(script, log, tmp_path / "mounted", "within")
    assert _gone(word)
    assert list(place.iterdir()) == []
    assert str(place) not in process.MOUNTS.read_text()


def test_ctrl_c_on_the_terminal_does_not_reach_the_program(log: Path) -> None:
    run_logged(
        [sys.executable, "-c", "import os; print(os.getsid(0), os.getpgrp())"],
        log=log,
        what="x",
        timeout_s=20,
    )
    session, group = log.read_text().split()
    assert session == group != str(os.getsid(0))


def test_progress_is_told_by_lines_and_never_quite_the_end(log: Path, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    watch = Watch(what="kernel 7.3", expected_lines=4, report=lambda *report: told.append(report))
    log.write_bytes(b"one\ntwo\nthree, not yet whole")
    watch.look(log)
    log.write_bytes(b"line\n" * 400)
    watch.look(log)
    assert told == [("kernel 7.3", 0.5), ("kernel 7.3", 0.99)]
    run_logged(["sleep", "0.2"], log=tmp_path / "l", what="x", timeout_s=20, watch=watch)
    assert told[2:]
    assert set(told[2:]) == {("kernel 7.3", 0.0)}


def test_tail(log: Path) -> None:
    log.write_bytes(b"\xff\n" + b"".join(b"%d\n" % n for n in range(5000)) + b"\n\n")
    assert tail(log, 2) == "\n  4998\n  4999"
    log.write_bytes(b"")
    assert tail(log) == "\n  "


def test_a_log_of_any_size_is_not_held(log: Path) -> None:
    with log.open("wb") as file:
        file.write(b"first\n")
        file.truncate(1 << 40)  # no memory holds that; the disk has two blocks of it
        file.seek(0, os.SEEK_END)
        file.write(b"\nlast\n")
    told: list[tuple[str, float]] = []
    Watch(what="x", expected_lines=4, report=lambda *report: told.append(report)).look(log)
    assert told == [("x", 0.25)]
    assert process.ending(log, 6) == b"\nlast\n"
    assert process.tail(log).endswith("\n  last")


def test_output_of() -> None:
    assert output_of(["sh", "-c", "echo out; echo err >&2"]) == "out\n"
    with pytest.raises(RunError, match=r"^sh -c echo why >&2; exit 2 failed: got why$"):
        output_of(["sh", "-c", "echo why >&2; exit 2"])
    with pytest.raises(UnsupportedError, match=r"^cannot start /nonesuch: got "):
        output_of(["/nonesuch"])
    with pytest.raises(RunError, match=r"^sleep did not end: wanted within 0 s"):
        output_of(["sleep", "60"], timeout_s=0.1)
