"""``plan.json``, ``verify.json``, warnings and the hosts' ledger: what is said cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from model.check import Check
from model.run_files.json_file import Name
from model.run_files.point import Point, Scalar

Purpose = Literal["measure", "calibrate"]


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """One line of ``plan.json``."""

    id: Name
    purpose: Purpose
    point: Point
    replicate: int
    seed: int


@dataclass(frozen=True, kw_only=True, order=True)
class RunWarning:
    """Read this before trusting the run: the rule that fired, where, and in words."""

    rule: str
    where: str
    text: str


@dataclass(frozen=True, kw_only=True)
class KnobReading:
    """One setting and what was read back, by place."""

    kind: str
    name: str
    value: str
    side: str
    read_back: dict[str, Scalar] = field(hash=False)
    agrees: bool | None


@dataclass(frozen=True, kw_only=True)
class LedgerReading:
    """One published parameter, how well it can be set, and the settings that stand for it."""

    parameter: str
    published: str
    fidelity: str
    note: str
    knobs: tuple[KnobReading, ...]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """``plan.json``."""

    schema: int = 1
    cells: tuple[PlannedCell, ...]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """``verify.json``, and with warnings ``audit.json``."""

    schema: int = 1
    checks: tuple[Check, ...]
    warnings: tuple[RunWarning, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What is read of ``env.json``; the rest is shown as it is."""

    kernel_release: str
    warnings: tuple[RunWarning, ...]


PLANNED = TypeAdapter(Planned)
CHECKED = TypeAdapter(Checked)
ENVIRONMENT = TypeAdapter(Environment)
WARNINGS = TypeAdapter(tuple[RunWarning, ...])
LEDGER = TypeAdapter(tuple[LedgerReading, ...])
OBJECT = TypeAdapter(dict[str, Any])
