"""Start labs and kill who starts them: ``python -m tests.support.killed_starters FOLDER KILLS``.

Each starter is a process forked here that is killed a little later than the one before, from 0 to
20 ms after it begins, and every other one from 0 to 20 ms after the sandbox's program began, so
that a busy machine cannot make all kills come too early. Prints what is left in the end, as JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from model.cell import Limits
from testbed.labs.booted.booting import Boot
from testbed.labs.confinement import supervise
from testbed.labs.virtual import kernel, virtual_lab
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.conftest import PR_SET_CHILD_SUBREAPER, lab_processes

LAST_KILL_S = 0.020
DEADLINE_S = 20.0
#: One that nobody kills runs for an hour.
BOOT = Boot(
    seed=1,
    limits=Limits(wall_s=3600.0, virtual_s=1e6),
    program=("/bin/sh", "/cell/run.sh"),
)
SYS_EXIT = 60


def starter(lab: VirtualLab, folder: Path, began: int, *, inside: bool) -> None:
    """Boot a lab; tell when that begins, or when the sandbox's program does."""
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("while :; do sleep 1; done\n")
    if inside:
        start = subprocess.Popen.__init__

        def told(*arguments: Any, **named: Any) -> None:
            start(*arguments, **named)
            os.write(began, b".")

        subprocess.Popen.__init__ = told  # type: ignore[method-assign]
    else:
        os.write(began, b".")
    lab.boot(BOOT, folder, threading.Event())


def killed(lab: VirtualLab, folder: Path, after_s: float, *, inside: bool) -> None:
    """Start a lab in a process of its own and kill that."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        starter(lab, folder, writing, inside=inside)
        os._exit(1)
    os.read(reading, 1)
    time.sleep(after_s)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)


def reap() -> None:
    """Let go of what has ended: orphans are our children."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def left() -> dict[int, str]:
    """Return the labs that still run when there is no more to wait for."""
    deadline_s = time.monotonic() + DEADLINE_S
    while (found := lab_processes(os.getpid())) and time.monotonic() < deadline_s:
        reap()
        time.sleep(0.02)
    return found


def thread_ends(lab: VirtualLab, folder: Path) -> dict[int, str]:
    """Start a lab in a thread that ends once the lab runs; return what is left of that."""
    ran: list[dict[int, str]] = []

    def end(*_: object) -> None:
        ran.append(lab_processes(os.getpid()))
        ctypes.CDLL(None).syscall(SYS_EXIT, 0)

    supervise.usage = end  # type: ignore[assignment]  # looked at while a lab runs
    reading, writing = os.pipe()
    threading.Thread(
        target=starter, args=(lab, folder, writing), kwargs={"inside": False}, daemon=True
    ).start()
    os.read(reading, 1)
    deadline_s = time.monotonic() + DEADLINE_S
    while not ran and time.monotonic() < deadline_s:
        time.sleep(0.02)
    if not ran or not ran[0]:
        return {0: "no lab ran"}
    return left()


def main(folder: Path, kills: int) -> None:
    """Kill all starters, then print what is left."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    lab = virtual_lab.ensure(kernel.DEFAULT, lambda _what, _done: None)
    for number in range(kills):
        after_s = LAST_KILL_S * number / kills
        killed(lab, folder / str(number) / "guest", after_s, inside=number % 2 == 1)
        reap()
    found = {"killed": left(), "thread": thread_ends(lab, folder / "thread" / "guest")}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a thread that ended so cannot be joined


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
