"""Run a program; when it ends, or the process that asked for it dies, end all that came from it.

    python -I -S guard.py LIFELINE PROGRAM [ARGUMENT...]

LIFELINE is the read end of a pipe whose other end only the asking process holds, so the kernel
closes it however that process dies, also before this program began to look. What the program
started becomes a child of this process when its own parent ends, so nothing gets away by leaving
the process group; as the first process of a PID namespace this takes all of it along.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
#: How often orphans that have ended are looked for.
REAP_MS = 1000
AGAIN_MS = 5


def _passed_by(_number: int, _frame: object) -> None:
    """Leave it to the program to end at a signal that was sent to the whole group."""


def _children() -> list[int]:
    """Return the processes whose parent is this one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text(errors="replace").rpartition(") ")[2].split()
            if fields[1] == str(os.getpid()):
                found.append(int(entry.parent.name))
    return found


def _reap() -> dict[int, int]:
    """Return the children that have ended since, with their statuses."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _end_all() -> None:
    """Kill every child, those that become ours on the way too, until there is none."""
    if os.getpid() == 1:  # the kernel kills the whole namespace when this process ends
        return
    while children := _children():
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        select.poll().poll(AGAIN_MS)
        _reap()


def _watch(program: int, lifeline: int) -> int:
    """Wait for the program or for the end of the lifeline; return the program's status."""
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(os.pidfd_open(program), select.POLLIN)
    while True:
        ready = poll.poll(REAP_MS)
        ended = _reap()
        if program in ended:
            return os.waitstatus_to_exitcode(ended[program])
        if any(handle == lifeline for handle, _ in ready):
            return -signal.SIGKILL


def main() -> None:
    """Guard the program named on the command line and end as it did."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _passed_by)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    lifeline, argv = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    if select.select([lifeline], [], [], 0)[0]:
        sys.exit(128 + signal.SIGKILL)
    # Python ignores these two; programs expect that nobody does.
    defaults = (signal.SIGPIPE, signal.SIGXFSZ)
    program = os.posix_spawnp(argv[0], argv, os.environ, setsigdef=defaults)
    status = _watch(program, lifeline)
    _end_all()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
