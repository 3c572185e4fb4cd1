"""What a lab has had of this machine: processor time of its processes, and the most memory of its
own: its kernel's, emulator's or agent's.

The kernel counts both for each process by itself, so looking now and then misses only what came
after the last look. Of a lab of a thousand processes a look takes some 20 ms of the lab's own core:
it comes the less often the longer it takes. Waiting for a lab tells neither: the sandbox ends
without waiting for what ran in it, and its peak (ru_maxrss) begins with that of the Python, with
tables in it, that started it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

PROC = "/proc"
_PEAK = re.compile(rb"^VmHWM:\s*([0-9]+) kB$", re.MULTILINE)
#: No file that is read here is longer, but for the list of children, of which each has a word.
_LONGEST_BYTES = 1 << 16
#: How long there is no look after one, in times of the processor time it took; at most so long.
REST, LONGEST_REST_S = 50.0, 2.0
#: From the sandbox to what runs in it there are fewer.
MOST_STEPS = 16
#: Of /proc/PID/stat behind the name: time in user and kernel mode, and that of waited-for children.
_TIMES = slice(11, 15)


@dataclass(kw_only=True)
class Taken:
    """What ``process`` and those it leads to have had until the last look; None: not seen yet.

    It leads to its only child, and so on: from the sandbox to the lab's own process, which has
    those of the guest below it. Their time counts, and that of all that any of them waited for.
    """

    process: int
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    _next_s: float = 0.0

    def look(self) -> None:
        """Take what the processes have had until now, unless the last look was too dear.

        One that has ended tells nothing.
        """
        if time.monotonic() < self._next_s:
            return
        began_s = time.thread_time()
        self._take()
        rest_s = min(REST * (time.thread_time() - began_s), LONGEST_REST_S)
        self._next_s = time.monotonic() + rest_s

    def _take(self) -> None:
        ticks = 0
        with contextlib.suppress(OSError):
            for process, children in self._led_to():
                ticks += _ticks(process)
                if found := _PEAK.search(_read(f"{PROC}/{process}/status")):
                    peak_bytes = int(found[1]) << 10
                    self.peak_memory_bytes = max(self.peak_memory_bytes or 0, peak_bytes)
                if len(children) != 1:
                    ticks += sum(map(_ticks, children))
        if ticks:
            self.cpu_s = max(self.cpu_s or 0.0, ticks / os.sysconf("SC_CLK_TCK"))

    def _led_to(self) -> Iterator[tuple[int, list[int]]]:
        process = self.process
        for _ in range(MOST_STEPS):
            listed = _read(f"{PROC}/{process}/task/{process}/children")
            children = [int(word) for word in listed.split()]
            yield process, children
            if len(children) != 1:
                return
            (process,) = children


def _ticks(process: int) -> int:
    """Return the ticks of processor time a process and all it waited for had; 0 if it has ended."""
    with contextlib.suppress(OSError):
        _, _, fields = _read(f"{PROC}/{process}/stat").rpartition(b") ")
        return sum(map(int, fields.split()[_TIMES]))
    return 0


def _read(path: str) -> bytes:
    """Return what the kernel writes there: by calls alone, as there are thousands of such files."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return b"".join(iter(lambda: os.read(handle, _LONGEST_BYTES), b""))
    finally:
        os.close(handle)
