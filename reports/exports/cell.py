"""What every export is made of, and what it makes: a finished cell, and files piece by piece.

Invariant: writers are pure but for the tables they read through :mod:`reports.store`, so that the
same cell gives the same bytes; what is unknown is left out or empty, never 0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from model.cell import Cell, Flow
from model.run_files.study import Study
from reports.measures.cell_names import file_stem, point_text
from reports.measures.metrics import Metric, Value
from reports.store.run import FinishedCell

NS_PER_S = 1_000_000_000
MS_PER_S = 1000


@dataclass(frozen=True, kw_only=True)
class OutFile:
    """A file to be written: its name, and its content piece by piece, made as it is asked for."""

    name: str
    pieces: Iterable[bytes]


@dataclass(frozen=True, kw_only=True)
class ExportedCell:
    """One finished measuring cell of a run, with its folder and the values of its metrics.

    ``excluded`` says why the report does not count it, else None; ``epoch_ns`` is its time zero
    since 1970, None if the cell does not tell.
    """

    study: Study
    folder: Path
    found: FinishedCell
    excluded: str | None
    metrics: Mapping[str, Metric]
    values: Mapping[str, Value]
    epoch_ns: int | None

    @property
    def cell(self) -> Cell:
        """Return the cell's settings."""
        return self.found.cell

    @property
    def id(self) -> str:
        """Return the cell's id in the run."""
        return self.found.plan.id

    @property
    def stem(self) -> str:
        """Return what the names of all files of the cell begin with."""
        return file_stem(self.cell.study, self.cell.point, self.cell.seed, self.id)

    @property
    def title(self) -> str:
        """Return what the cell is of, in words."""
        return f"{self.cell.study}: {point_text(self.cell.point)}; seed {self.cell.seed}"

    @property
    def kernel(self) -> str:
        """Return the version of the kernel it ran on."""
        return str(self.found.env["kernel_release"])

    def group_label(self, flow: Flow) -> str:
        """Return what readers call a flow's group."""
        return next((one.label for one in self.study.groups if one.id == flow.group), flow.group)


def host_names(flow: Flow) -> tuple[str, str]:
    """Return the names of the hosts a flow begins and ends on."""
    return f"src{flow.source + 1}", f"dst{flow.destination + 1}"


def json_text(content: Any) -> str:
    """Return JSON on one line, plain ASCII; whatever is no number of JSON raises ``ValueError``."""
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


def to_ns(time_s: float) -> int:
    """Return a time of a table in whole nanoseconds."""
    return round(Fraction(time_s) * NS_PER_S)


def in_ms(time_s: float, since_s: float = 0.0) -> float:
    """Return a time in milliseconds since another: of the digits as printed, rounded once."""
    return float((Decimal(repr(time_s)) - Decimal(repr(since_s))) * MS_PER_S)
