"""Whether a machine kept up with real time while a cell ran: by figures, and held to limits.

A thread sleeps until times it knows beforehand and sees how late it wakes, as the programs of a
cell do and netem's timers. The kernel's own figures say how long something waited for a processor
(pressure), and how long the hypervisor had it in use for others (steal).
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model.cell import Cell
from model.check import Check
from testbed.labs.host import machine_facts

PRESSURE, STAT = Path("/proc/pressure/cpu"), Path("/proc/stat")
EVERY_S = 0.02
#: Of wake-ups, the part that must be in time.
IN_TIME_FRAC = 0.99
#: Of a round trip and at least: what a wake-up may be late, so that queues and timers of the path
#: are what they should be. All processors' time the hypervisor may take; the time in which
#: something waits for a processor: where several programs wake at once, all but one do.
LATE_RTT_FRAC, LATE_S = 0.01, 0.001
STEAL_FRAC, PRESSURE_FRAC = 0.02, 0.5


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What the kernel counts, in seconds since its start; ``nan`` for what it does not tell."""

    monotonic_s: float
    waited_s: float
    stolen_s: float


def counters() -> Counters:
    """Return them as they are now."""
    ticks = os.sysconf("SC_CLK_TCK")
    waited = re.search(r"^some .*total=(\d+)", machine_facts.text(PRESSURE), re.MULTILINE)
    cpu = machine_facts.text(STAT).partition("\n")[0].split()
    return Counters(
        monotonic_s=time.monotonic(),
        waited_s=int(waited[1]) / 1e6 if waited else math.nan,
        stolen_s=int(cpu[8]) / ticks if len(cpu) > 8 else math.nan,
    )


class Watch:
    """Watches while its block runs; ``late_s`` then holds how late each wake-up was."""

    def __init__(self) -> None:
        self.late_s: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        """Begin."""
        self.before = counters()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        self._over.set()
        self._thread.join()
        self.after = counters()

    def _look(self) -> None:
        due_s = time.monotonic()
        while not self._over.is_set():
            due_s += EVERY_S
            time.sleep(max(0.0, due_s - time.monotonic()))
            now_s = time.monotonic()
            self.late_s.append(now_s - due_s)
            while due_s + EVERY_S <= now_s:  # what was slept through was late as well
                due_s += EVERY_S
                self.late_s.append(now_s - due_s)

    def checks(self, cell: Cell) -> list[Check]:
        """Return the comparisons with what a cell can bear."""
        cores = len(os.sched_getaffinity(0))
        return judge(self.late_s, self.before, self.after, cell.network.base_rtt_s(), cores)


def judge(
    late_s: Sequence[float], before: Counters, after: Counters, rtt_s: float, cores: int
) -> list[Check]:
    """Return comparisons of wake-ups, processor time stolen and pressure with their limits."""
    most_s = max(LATE_S, LATE_RTT_FRAC * rtt_s)
    ordered = sorted(late_s)
    at = min(len(ordered) - 1, math.floor(IN_TIME_FRAC * len(ordered)))
    late = ordered[at] if ordered else math.inf
    lasted_s = after.monotonic_s - before.monotonic_s
    made = [
        Check(
            check="timers in time", where="the machine",
            wanted=f"{IN_TIME_FRAC:.0%} at most {most_s * 1e3:.2f} ms late",
            got=f"{late * 1e3:.2f} ms, all of {len(ordered)} at most "
            f"{max(ordered, default=math.inf) * 1e3:.2f} ms",
            agrees=late <= most_s,
        )
    ]  # fmt: skip
    for name, frac, most in (
        ("processor time taken by others", (after.stolen_s - before.stolen_s) / lasted_s / cores,
         STEAL_FRAC),
        ("waiting for a processor", (after.waited_s - before.waited_s) / lasted_s, PRESSURE_FRAC),
    ):  # fmt: skip
        known = not math.isnan(frac)
        made.append(
            Check(
                check=name, where="the machine", wanted=f"at most {most:.0%} of the time",
                got=f"{frac:.1%}" if known else "the kernel does not tell",
                agrees=frac <= most if known else None,
            )
        )  # fmt: skip
    return made
