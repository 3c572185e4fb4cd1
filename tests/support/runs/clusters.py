"""Schedulers and workers of this machine, begun by the program and ended with a test."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

BEGUN_WITHIN_S = 200.0
#: Also where pytest is killed, and no test ends what it began.
ENDS_WITH_US = ("setpriv", "--pdeathsig", "TERM", "--")


#: Ports below those that a kernel gives away by itself: else a worker of another test may have got
#: it before who wants it listens. Tests that run side by side take them from different hundreds.
_PORTS = itertools.count(10_000 + os.getpid() % 200 * 100)


def free_port() -> int:
    """Return a port of this machine that nobody uses, and nobody gets by chance."""
    for port in _PORTS:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError


class Programs:
    """Commands of the program that run until they are told to end; each has a log."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._begun: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Begin one, and wait until it says that it runs."""
        return self.start_program([sys.executable, "-m", "testbed", *arguments])

    def start_program(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Begin a program that becomes such a command, and wait until that says that it runs."""
        log = self._place / f"{len(self._begun)}.log"
        with log.open("w") as said:
            process = subprocess.Popen(
                [*ENDS_WITH_US, *argv], env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        self._begun.append(process)
        deadline_s = time.monotonic() + BEGUN_WITHIN_S
        while not log.read_text().strip():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        assert "cannot begin" not in log.read_text(), log.read_text()
        return process

    def end(self) -> None:
        """End them, workers before the scheduler that was begun before them."""
        for process in reversed(self._begun):
            self.end_one(process)

    @staticmethod
    def end_one(process: subprocess.Popen[bytes]) -> None:
        """End one, if it has not ended."""
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def programs(place: Path) -> Iterator[Programs]:
    """Give commands, which end with the block."""
    begun = Programs(place)
    try:
        yield begun
    finally:
        begun.end()


def worker_processes(process: subprocess.Popen[bytes] | psutil.Process) -> list[psutil.Process]:
    """Return the processes of ``groundtruth worker`` in which cells run."""
    return below(process, lambda one: "spawn_main" in " ".join(one.cmdline()))


def below(
    process: subprocess.Popen[bytes] | psutil.Process, wanted: Callable[[psutil.Process], bool]
) -> list[psutil.Process]:
    """Return those processes below one that are wanted; others may come and go meanwhile."""
    found = []
    for one in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if wanted(one):
                found.append(one)
    return found
