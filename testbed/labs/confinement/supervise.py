"""Run a lab's process to its end, within its limits, and leave none behind whatever happens here.

Invariants: the lab begins only once its own end is tied to this thread's, so a kill of this process
at any moment ends it; its words are read through a pipe as they come, and only their beginning and
end are kept; what it writes to its folder is measured while it runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import select
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from model.errors import UnsupportedError
from testbed.labs.confinement.allowance import Allowance
from testbed.labs.confinement.taken import Taken
from testbed.labs.confinement.unnamed_files import UnnamedFiles
from testbed.machine.process import end_group

POLL_S = 0.2
#: How often what a lab has written is measured: a confined one may be hostile.
LOOK_S = POLL_S
#: How long none is measured after one, in times of what it took, as it takes the lab's own core; at
#: most so long, however much there is to look at.
REST, LONGEST_REST_S = 20.0, 2.0
#: By which part of what is allowed files without a name may grow before they are looked for.
UNNAMED_FRAC = 1 / 8
#: A pipe so large that a lab never waits for its reader before it is ended for its words.
PIPE_BYTES = READ_BYTES = 1 << 20
KEPT_BYTES = 256 << 10
MOST_DEPTH = 16
READY, GO = b"r", b"g"
#: One that had less of a core than this share of its time did not end for its machine's sake.
STARVED_FRAC = 0.5


@dataclass(frozen=True)
class Excess:
    """What a lab took too much of."""

    what: str
    wanted: str
    got: str


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a lab ended: by itself or not, and what it had taken too much of.

    ``cpu_s`` and ``peak_memory_bytes`` are what it was last seen to have had of the machine.
    """

    by_itself: bool
    excess: Excess | None = None
    cpu_s: float | None = field(default=None, compare=False)
    peak_memory_bytes: int | None = field(default=None, compare=False)

    def was_starved(self, wall_s: float) -> bool:
        """Return whether its machine is known to have given it little of a core in that time."""
        return self.cpu_s is not None and self.cpu_s < STARVED_FRAC * wall_s


@dataclass(kw_only=True)
class ConsoleEnds:
    """What a lab has said: how much, the beginning (written to ``out`` at once), and the end."""

    out: BinaryIO
    total_bytes: int = 0
    last: deque[bytes] = field(default_factory=deque)
    last_bytes: int = 0

    def add(self, words: bytes) -> None:
        """Take what was read."""
        room = max(0, KEPT_BYTES - self.total_bytes)
        self.total_bytes += len(words)
        self.out.write(words[:room])
        self.out.flush()
        if rest := words[room:]:
            self.last.append(rest)
            self.last_bytes += len(rest)
        while self.last and self.last_bytes - len(self.last[0]) >= KEPT_BYTES:
            self.last_bytes -= len(self.last.popleft())

    def finish(self) -> None:
        """Write the end, and how much there was between it and the beginning."""
        words = b"".join(self.last)[-KEPT_BYTES:]
        left_out = self.total_bytes - KEPT_BYTES - len(words)
        if left_out > 0:
            self.out.write(b"\n[%d bytes left out]\n" % left_out)
        self.out.write(words)


@dataclass(frozen=True)
class Usage:
    """What a folder takes: blocks on disk, the largest file's length, entries, depth."""

    disk_bytes: int
    largest_bytes: int
    files: int
    depth: int


def usage(folder: Path, most_files: int) -> Usage:
    """Measure a folder that is being written; stop at the first entry too many."""
    disk_bytes = largest_bytes = files = deepest = 0
    left = [(str(folder), 1)]
    while left:
        place, depth = left.pop()
        deepest = max(deepest, depth)
        if files > most_files or depth > MOST_DEPTH:
            break
        with contextlib.suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    files += 1
                    disk_bytes += found.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        left.append((entry.path, depth + 1))
                    else:
                        largest_bytes = max(largest_bytes, found.st_size)
                if files > most_files:
                    break
    return Usage(disk_bytes, largest_bytes, files, deepest)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def excess(found: Usage, console_bytes: int, allowed: Allowance) -> Excess | None:
    """Return what a lab took too much of, if anything."""
    largest_bytes = min(found.largest_bytes, allowed.file_bytes)
    if found.disk_bytes > allowed.disk_bytes or found.largest_bytes >= allowed.file_bytes:
        return Excess(
            "the lab wrote too much into its folder",
            f"at most {_megabytes(allowed.disk_bytes)}",
            f"{_megabytes(max(found.disk_bytes, largest_bytes))} or more",
        )
    if found.files > allowed.files or found.depth > MOST_DEPTH:
        return Excess(
            "the lab made too many files or folders",
            f"at most {allowed.files}, {MOST_DEPTH} folders deep",
            f"{found.files} or more, {found.depth} deep",
        )
    if console_bytes > allowed.console_bytes:
        return Excess(
            "the lab said too much on its console",
            f"at most {_megabytes(allowed.console_bytes)}",
            f"{_megabytes(console_bytes)} or more",
        )
    return None


def supervise(
    argv: Sequence[str],
    *,
    folder: Path,
    console: Path,
    allowed: Allowance,
    deadline_s: float,
    cancelled: threading.Event,
    held: Sequence[int] = (),
    look_s: float = LOOK_S,
) -> Ending:
    """Run a lab that may write to ``folder`` until it ends, takes too much, or must end.

    ``deadline_s`` is a time of the monotonic clock; ``held`` are descriptors that it inherits;
    what it has written is measured every ``look_s``.
    """
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    with contextlib.ExitStack() as own, console.open("wb") as out:
        own.callback(ours.close)
        own.callback(os.close, reading)
        os.set_blocking(reading, False)
        with contextlib.suppress(OSError):  # a user with many pipes may have none so large
            fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        try:
            child = subprocess.Popen(
                list(argv),
                stdin=theirs.fileno(),
                stdout=writing,
                stderr=writing,
                start_new_session=True,
                pass_fds=held,
            )
        except OSError as error:
            raise UnsupportedError(f"cannot start {argv[0]}", got=str(error)) from error
        finally:
            theirs.close()
            os.close(writing)
        words = ConsoleEnds(out=out)
        try:
            ended = _watch(
                child, ours, reading, words, folder, allowed, deadline_s, cancelled, look_s
            )
        finally:
            if child.poll() is None:
                end_group(child)
            _read(reading, words)
            words.finish()
    return ended


def _watch(
    child: subprocess.Popen[bytes],
    starter: socket.socket,
    reading: int,
    words: ConsoleEnds,
    folder: Path,
    allowed: Allowance,
    deadline_s: float,
    cancelled: threading.Event,
    every_s: float,
) -> Ending:
    unnamed = UnnamedFiles(
        process=child.pid, folder=folder, matters_bytes=int(UNNAMED_FRAC * allowed.disk_bytes)
    )
    machine = Taken(process=child.pid)
    end = os.pidfd_open(child.pid)  # waiting with a time limit by other means polls
    try:
        poll = select.poll()
        for handle in (end, reading, starter.fileno()):
            poll.register(handle, select.POLLIN)
        look_s = time.monotonic() + every_s
        while not cancelled.is_set() and (left_s := deadline_s - time.monotonic()) > 0:
            ready = {handle for handle, _ in poll.poll(min(left_s, POLL_S) * 1000)}
            if starter.fileno() in ready:
                _let_go(starter)
                poll.unregister(starter)
            if reading in ready and not _read(reading, words):
                poll.unregister(reading)
            over = end in ready
            if over or words.total_bytes > allowed.console_bytes or time.monotonic() > look_s:
                began_s = time.monotonic()
                machine.look()
                taken = usage(folder, allowed.files)
                disk_bytes = taken.disk_bytes + (0 if over else unnamed.bytes())
                taken = dataclasses.replace(taken, disk_bytes=disk_bytes)
                found = excess(taken, words.total_bytes, allowed)
                ended_s = time.monotonic()
                rest_s = min(REST * (ended_s - began_s), LONGEST_REST_S)
                look_s = ended_s + max(every_s, rest_s)
                if over or found:
                    if over:
                        child.wait()
                    return Ending(
                        by_itself=over, excess=found, cpu_s=machine.cpu_s,
                        peak_memory_bytes=machine.peak_memory_bytes,
                    )  # fmt: skip
        machine.look()
        return Ending(
            by_itself=False, cpu_s=machine.cpu_s, peak_memory_bytes=machine.peak_memory_bytes
        )
    finally:
        os.close(end)


def _let_go(starter: socket.socket) -> None:
    """Answer a lab that says all is in place; one that has ended says nothing."""
    with contextlib.suppress(OSError):
        if starter.recv(1) == READY:
            starter.sendall(GO)


def _read(reading: int, words: ConsoleEnds) -> bool:
    """Read what is there of a lab's words; return whether more can come."""
    try:
        found = os.read(reading, READ_BYTES)
    except BlockingIOError:
        return True
    words.add(found)
    return bool(found)
