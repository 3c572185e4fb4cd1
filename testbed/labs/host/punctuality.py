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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import tolerances
from model.cell import Cell
from model.check import Check
from testbed.labs.host import machine_facts

WHERE, NOT_TOLD = "the machine", "the kernel does not tell"
PRESSURE, STAT = Path("/proc/pressure/cpu"), Path("/proc/stat")
EVERY_S = 0.02
#: Of a processor's time the hypervisor may take, from none of them more; of the time, that in which
#: something waits for a processor: where several programs wake at once, all but one do.
STEAL_FRAC, PRESSURE_FRAC = 0.02, 0.5


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What the kernel counts, in seconds since its start.

    ``waited_s`` is ``nan`` where it does not tell; ``stolen_s`` is by processor.
    """

    monotonic_s: float
    waited_s: float
    stolen_s: Mapping[str, float]


def counters() -> Counters:
    """Return them as they are now."""
    ticks = os.sysconf("SC_CLK_TCK")
    waited = re.search(r"^some .*total=(\d+)", machine_facts.text(PRESSURE), re.MULTILINE)
    processors = re.findall(r"^(cpu\d+)((?: \d+){8})", machine_facts.text(STAT), re.MULTILINE)
    return Counters(
        monotonic_s=time.monotonic(),
        waited_s=int(waited[1]) / 1e6 if waited else math.nan,
        stolen_s={name: int(counted.split()[7]) / ticks for name, counted in processors},
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
        return judge(self.late_s, self.before, self.after, cell.wired.base_rtt_s())


def judge(late_s: Sequence[float], before: Counters, after: Counters, rtt_s: float) -> list[Check]:
    """Return comparisons of wake-ups, processor time stolen and pressure with their limits."""
    ordered = sorted(late_s)
    at = min(len(ordered) - 1, math.floor(tolerances.IN_TIME_FRAC * len(ordered)))
    late, latest = (ordered[at], ordered[-1]) if ordered else (math.inf, math.inf)
    most_s, most_stall_s = tolerances.most_late_s(rtt_s), tolerances.most_stall_s(rtt_s)
    lasted_s = after.monotonic_s - before.monotonic_s
    stolen = {
        name: (so_far_s - before.stolen_s[name]) / lasted_s
        for name, so_far_s in after.stolen_s.items()
        if name in before.stolen_s  # it may have been switched on since
    }
    worst = max(stolen, key=stolen.__getitem__, default="")
    waited = (after.waited_s - before.waited_s) / lasted_s
    return [
        Check(
            check="timers in time", where=WHERE, agrees=late <= most_s,
            wanted=f"{tolerances.IN_TIME_FRAC:.0%} at most {most_s * 1e3:.2f} ms late",
            got=f"{late * 1e3:.2f} ms of {len(ordered)}",
        ),
        Check(
            check="longest stall", where=WHERE, agrees=latest <= most_stall_s,
            wanted=f"at most {most_stall_s * 1e3:.0f} ms", got=f"{latest * 1e3:.2f} ms",
        ),
        Check(
            check="processor time taken by others", where=WHERE,
            wanted=f"at most {STEAL_FRAC:.0%} of any processor's",
            got=f"{stolen[worst]:.1%} of {worst}" if worst else NOT_TOLD,
            agrees=stolen[worst] <= STEAL_FRAC if worst else None,
        ),
        Check(
            check="waiting for a processor", where=WHERE,
            wanted=f"at most {PRESSURE_FRAC:.0%} of the time",
            got=NOT_TOLD if math.isnan(waited) else f"{waited:.1%}",
            agrees=None if math.isnan(waited) else waited <= PRESSURE_FRAC,
        ),
    ]  # fmt: skip
