"""A traffic program running on a lab host, and how to await it without polling.

Invariant: waiting never wakes up in between; in virtual time every needless wake-up is paid for
and a busy loop never ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from model.errors import RunError

if TYPE_CHECKING:
    from model.node import Node


@dataclass(frozen=True, kw_only=True)
class Running:
    """A started program with its output files ``<stem>.jsonl`` and ``<stem>.err``."""

    host: str
    argv: tuple[str, ...]
    child: subprocess.Popen[bytes]
    out: Path
    err: Path

    def label(self) -> str:
        """Return ``host: program`` for messages."""
        return f"{self.host}: {Path(self.argv[0]).name}"

    def wait(self, timeout_s: float) -> int:
        """Wait for the end and return the exit status; raise :class:`RunError` on a deadline."""
        status = self.child.poll()
        if status is not None:
            return status
        handle = os.pidfd_open(self.child.pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if not poll.poll(max(0.0, timeout_s) * 1000):
                raise RunError(
                    "did not end",
                    where=self.label(),
                    wanted=f"within {timeout_s:.0f} s",
                    got=self.words() or "no message",
                )
        finally:
            os.close(handle)
        return self.child.wait()

    def finish(self, timeout_s: float) -> None:
        """Wait for a successful end; raise :class:`RunError` with the program's own words."""
        status = self.wait(timeout_s)
        if status != 0:
            raise RunError(
                f"ended with status {status}", where=self.label(), got=self.words() or "no message"
            )

    def terminate(self) -> None:
        """Ask the program to end (SIGTERM)."""
        with contextlib.suppress(ProcessLookupError):
            self.child.send_signal(signal.SIGTERM)

    def words(self) -> str:
        """Return the last of what the program said on standard error."""
        return self.err.read_text(errors="replace").strip()[-600:]


def start(host: Node, argv: Sequence[str], stem: Path, pass_fds: tuple[int, ...] = ()) -> Running:
    """Start a program on a host, standard output to ``<stem>.jsonl``."""
    out, err = stem.with_name(f"{stem.name}.jsonl"), stem.with_name(f"{stem.name}.err")
    with out.open("wb") as out_file, err.open("wb") as err_file, host.entered():
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=out_file,
                stderr=err_file,
                pass_fds=pass_fds,
            )
        except OSError as error:
            raise RunError(f"cannot start {argv[0]}", where=host.name, got=str(error)) from error
    return Running(host=host.name, argv=tuple(argv), child=child, out=out, err=err)


def start_ready(host: Node, argv: Sequence[str], stem: Path, timeout_s: float) -> Running:
    """Start a program with ``--ready-fd`` and wait until it says that it is ready."""
    read_end, write_end = os.pipe()
    try:
        running = start(host, [*argv, "--ready-fd", str(write_end)], stem, (write_end,))
        os.close(write_end)
        write_end = -1
        poll = select.poll()
        poll.register(read_end, select.POLLIN | select.POLLHUP)
        if not poll.poll(timeout_s * 1000) or not os.read(read_end, 1):
            running.terminate()
            raise RunError(
                "did not become ready",
                where=running.label(),
                wanted=f"within {timeout_s:.0f} s",
                got=running.words() or "no message",
            )
        return running
    finally:
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)


def wait_until(when_ns: int) -> None:
    """Sleep until CLOCK_MONOTONIC shows ``when_ns``."""
    left_s = (when_ns - time.monotonic_ns()) / 1e9
    if left_s > 0:
        time.sleep(left_s)
