"""What the cells of a run took: minutes and memory, where their run wrote it down.

Invariant: this is of one execution on one machine; nothing is compared with it, nothing rests on
it, so what cannot be read is unknown and no error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model import plain_files, run_folder
from testbed.machine.command_line import groundtruth

S_PER_MIN = 60.0
#: How many cells of each study are repeated unless told otherwise.
SAMPLE = 3


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What some finished cells took; None where no run wrote it down for all of them.

    ``wall_s`` and ``cpu_s`` are sums over the cells; ``peak_memory_bytes`` is that of the largest
    process of any of them.
    """

    cells: int = 0
    wall_s: float | None = 0.0
    cpu_s: float | None = 0.0
    peak_memory_bytes: int | None = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            cells=self.cells + other.cells,
            wall_s=_both(self.wall_s, other.wall_s),
            cpu_s=_both(self.cpu_s, other.cpu_s),
            peak_memory_bytes=None
            if self.peak_memory_bytes is None or other.peak_memory_bytes is None
            else max(self.peak_memory_bytes, other.peak_memory_bytes),
        )

    def record(self) -> dict[str, Any]:
        """Return it as ``bundle.json`` has it; what is unknown is null."""
        known = self.cells > 0
        return {
            "cells": self.cells,
            "wall_minutes": _minutes(self.wall_s) if known else None,
            "processor_minutes": _minutes(self.cpu_s) if known else None,
            "peak_memory_bytes": self.peak_memory_bytes if known else None,
        }


def _both(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _minutes(time_s: float | None) -> float | None:
    return None if time_s is None else round(time_s / S_PER_MIN, 2)


def of_cells(run: Path, cell_ids: Iterable[str]) -> Cost:
    """Return what finished cells of a run took together."""
    return sum((_of_cell(run_folder.cell_folder(run, one)) for one in cell_ids), Cost())


def _of_cell(folder: Path) -> Cost:
    try:
        told = json.loads(plain_files.read_text(folder / run_folder.TIMING))
    except (OSError, ValueError, RecursionError):
        told = None
    told = told if isinstance(told, dict) else {}
    peak = _number(told.get("peak_memory_bytes"))
    then = told.get("from_store")
    took = then if isinstance(then, dict) else told  # a cell from the store took that long once
    return Cost(
        cells=1,
        wall_s=_number(took.get("wall_s")),
        cpu_s=_number(told.get("cpu_s")),
        peak_memory_bytes=None if peak is None else int(peak),
    )


def _number(value: object) -> float | None:
    sound = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if sound and 0 <= value < 1e15 else None  # type: ignore[operator,arg-type]


def command_line(provenance: Mapping[str, Any]) -> str:
    """Return the command that made a run, as one types it; empty where the run does not tell."""
    words = provenance.get("command")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return ""
    return groundtruth(*words[1:]) if words else ""


def commands(made_by: Sequence[tuple[str, Cost]], folder: str, bundle: str) -> list[dict[str, Any]]:
    """Return the commands that make, report and check what is in a bundle, with what each took.

    Args:
        made_by: of each run the command that made it, which several may share, and its cells' cost.
        folder: the name of the run or set.
        bundle: the name of the bundle's file.
    """
    shared: dict[str, Cost] = {}
    for line, cost in made_by:
        shared[line] = shared.get(line, Cost()) + cost
    made = [{"what": "run", "command": line or None, **cost.record()}
            for line, cost in shared.items()]  # fmt: skip
    unknown = dict.fromkeys(("cells", "wall_minutes", "processor_minutes", "peak_memory_bytes"))
    report = groundtruth("report", f"results/{folder}")
    verify = groundtruth("verify", bundle)
    sampled = sum((_sample(cost) for _, cost in made_by), Cost())
    return [
        *made,
        {"what": "report", "command": report, **unknown},
        {"what": "verify", "command": verify, **sampled.record()},
    ]


def _sample(cost: Cost) -> Cost:
    """Return about what repeating a few of those cells takes."""
    cells = min(SAMPLE, cost.cells)
    part = cells / cost.cells if cost.cells else 0.0
    return Cost(
        cells=cells,
        wall_s=None if cost.wall_s is None else cost.wall_s * part,
        cpu_s=None if cost.cpu_s is None else cost.cpu_s * part,
        peak_memory_bytes=cost.peak_memory_bytes,
    )
