"""What a lab has had of this machine: processor time of its processes, and the most memory of its
own: its kernel's, emulator's or agent's.

The kernel counts both for each process by itself, so looking now and then misses only what came
after the last look. Waiting for a lab tells neither: the sandbox ends without waiting for what ran
in it, and its peak (ru_maxrss) begins with that of the Python, with tables in it, that started it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_PEAK = re.compile(r"^VmHWM:\s*([0-9]+) kB$", re.MULTILINE)
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

    def look(self) -> None:
        """Take what the processes have had until now; one that has ended tells nothing."""
        ticks = 0
        with contextlib.suppress(OSError):
            for process, children in self._led_to():
                ticks += _ticks(process)
                if found := _PEAK.search((PROC / str(process) / "status").read_text()):
                    peak_bytes = int(found[1]) << 10
                    self.peak_memory_bytes = max(self.peak_memory_bytes or 0, peak_bytes)
                if len(children) != 1:
                    ticks += sum(map(_ticks, children))
        if ticks:
            self.cpu_s = max(self.cpu_s or 0.0, ticks / os.sysconf("SC_CLK_TCK"))

    def _led_to(self) -> Iterator[tuple[int, list[int]]]:
        process = self.process
        for _ in range(MOST_STEPS):
            listed = PROC / str(process) / "task" / str(process) / "children"
            children = [int(word) for word in listed.read_text().split()]
            yield process, children
            if len(children) != 1:
                return
            (process,) = children


def _ticks(process: int) -> int:
    """Return the ticks of processor time a process and all it waited for had; 0 if it has ended."""
    with contextlib.suppress(OSError):
        _, _, fields = (PROC / str(process) / "stat").read_text().rpartition(") ")
        return sum(map(int, fields.split()[_TIMES]))
    return 0
