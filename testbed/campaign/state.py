"""How far a run is, told from its folder alone, whoever runs it and whether anybody still does.

Invariant: nothing is written or held, so whoever runs the run notices nothing; what changes while
it is looked at is told as it was before or after. Times are those of files: a cell began when its
``cell.json`` was written, and ended with its ``timing.json``; one that comes from another machine
is written at once, and says itself how long its lab ran there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from model import plain_files, run_folder
from testbed.campaign import saved_runs
from testbed.labs import registry
from testbed.planning.plan import PlannedCell

#: ``stored`` came from the store, ``kept`` had finished before whoever runs the run now began.
How = Literal["done", "kept", "stored", "failed", "running", "left"]
FINISHED: tuple[How, ...] = ("done", "kept", "stored")
#: What cells of each kind are called, in the order they are told.
CALLED: dict[How, str] = {
    "done": "done", "kept": "kept", "stored": "from the store", "failed": "failed",
    "running": "running", "left": "left",
}  # fmt: skip
#: Where the kernel tells of locks, and which process has each.
LOCKS, PROCESSES = Path("/proc/locks"), Path("/proc")


@dataclass(frozen=True, kw_only=True)
class CellState:
    """One planned cell; ``took_s`` is how long it took, or takes so far. ``why`` it failed.

    ``machine`` is the name of that on which it finished, where that is told.
    """

    planned: PlannedCell
    how: How
    took_s: float = 0.0
    why: str = ""
    attempts: int = 0
    machine: str = ""

    @property
    def point(self) -> str:
        """The settings of its point, in words."""
        values = self.planned.cell.point
        return ", ".join(f"{name}={value}" for name, value in values.items()) or "the only point"


@dataclass(frozen=True, kw_only=True)
class RunState:
    """A run: its cells in the order they are begun; ``held`` is whether a process works on it."""

    name: str
    cells: tuple[CellState, ...]
    held: bool

    def number(self, *hows: How) -> int:
        """Return how many cells there are of these kinds."""
        return sum(one.how in hows for one in self.cells)

    @property
    def is_finished(self) -> bool:
        """Whether every planned cell has finished."""
        return self.number(*FINISHED) == len(self.cells)

    def points(self) -> dict[str, list[CellState]]:
        """Return the cells of each point, calibrations too, in the order points are begun."""
        found: dict[str, list[CellState]] = {}
        for one in self.cells:
            found.setdefault(one.point, []).append(one)
        return found

    def failures(self) -> list[CellState]:
        """Return the cells that failed."""
        return [one for one in self.cells if one.how == "failed"]


def read(run: Path) -> RunState:
    """Return how far a run is; raise :class:`ParseError` if its plan cannot be read."""
    known = {planned.id: planned for planned in saved_runs.load_candidates(run)}
    planned = [known[one] for one in saved_runs.planned_ids(run) if one in known]
    since_s = _held_since_s(run)
    now_s = time.time()
    cells = tuple(_cell(run, one, since_s, now_s) for one in planned)
    return RunState(name=run.name, cells=cells, held=since_s is not None)


def _cell(run: Path, planned: PlannedCell, since_s: float | None, now_s: float) -> CellState:
    folder = run_folder.cell_folder(run, planned.id)
    began_s = _written_s(folder / run_folder.CELL)
    attempts = _attempts(run, planned.id)
    if run_folder.is_done(folder):
        ended_s = _written_s(folder / run_folder.TIMING)
        timing = _json(folder / run_folder.TIMING)
        took_s = max(ended_s - began_s, _wall_s(timing)) if ended_s and began_s else 0.0
        if "from_store" in timing:
            return CellState(planned=planned, how="stored", attempts=attempts)
        old = since_s is not None and bool(ended_s) and ended_s < since_s
        return CellState(
            planned=planned, how="kept" if old else "done", took_s=took_s, attempts=attempts,
            machine=_machine(timing),
        )  # fmt: skip
    if plain_files.is_file(folder / run_folder.FAILURE):
        why = str(_json(folder / run_folder.FAILURE).get("message", ""))
        return CellState(planned=planned, how="failed", why=why, attempts=attempts)
    if began_s and since_s is not None and began_s >= since_s:
        took_s = max(0.0, now_s - began_s)
        return CellState(planned=planned, how="running", took_s=took_s, attempts=attempts)
    return CellState(planned=planned, how="left", attempts=attempts)


def _attempts(run: Path, cell_id: str) -> int:
    """Return how many failed attempts at a cell are kept."""
    try:
        return len(os.listdir(run_folder.failed_attempts(run, cell_id)))  # noqa: PTH208
    except OSError:
        return 0


def _written_s(path: Path) -> float:
    """Return when a file was written; 0 if there is none, or no longer."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _wall_s(timing: Mapping[str, object]) -> float:
    """Return how long a cell's lab ran; 0 where that is not told."""
    value = timing.get("wall_s")
    return float(value) if isinstance(value, int | float) else 0.0


def _machine(timing: Mapping[str, object]) -> str:
    """Return the name of the machine that a cell ran on; empty where that is not told."""
    value = timing.get("machine")
    return value if isinstance(value, str) else ""


def _json(path: Path) -> Mapping[str, object]:
    try:
        value = json.loads(plain_files.read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _held_since_s(run: Path) -> float | None:
    """Return since when a process of this machine has held the run; None if none does.

    The lock is not tried, because who wants it for good would not get it meanwhile.
    """
    try:
        found = run.stat()
        place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        lines = [line.split() for line in LOCKS.read_text().splitlines()]
    except OSError:
        return None
    pids = [words[4] for words in lines if len(words) > 5 and words[1] == "FLOCK" and
            words[5] == place]  # fmt: skip
    if not pids:
        return None
    return max(map(_began_s, pids))


def _began_s(pid: str) -> float:
    """Return when a process began, to the second; 0 if it has ended since."""
    try:
        boot = next(
            line for line in (PROCESSES / "stat").read_text().splitlines()
            if line.startswith("btime ")
        )  # fmt: skip
        # Of proc_pid_stat(5) the 22nd field; the second may have spaces and brackets in it.
        fields = (PROCESSES / pid / "stat").read_text().rpartition(") ")[2].split()
        return float(boot.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, IndexError, ValueError):
        return 0.0


def remaining_s(states: Iterable[RunState]) -> float | None:
    """Return how long the cells that are left will take; None where no cell says it yet.

    What the plan expects of a cell, times how long cells took to what was expected of them, shared
    out among as many as run now, or one where none does.
    """
    cells = [one for state in states for one in state.cells]
    ran = [one for one in cells if one.how in ("done", "kept") and one.took_s]
    expected_s = sum(map(_expected_s, ran))
    if not expected_s:
        return None
    pace = sum(one.took_s for one in ran) / expected_s
    to_come_s = sum(pace * _expected_s(one) for one in cells if one.how == "left")
    running = [one for one in cells if one.how == "running"]
    to_come_s += sum(max(0.0, pace * _expected_s(one) - one.took_s) for one in running)
    return to_come_s / max(1, len(running))


def _expected_s(one: CellState) -> float:
    cell = one.planned.cell
    return registry.named(cell.lab.get("name", "")).cell_wall_s(cell)


def all_finished(states: Sequence[RunState]) -> bool:
    """Return whether nothing of any run is left to do."""
    return all(state.is_finished for state in states)
