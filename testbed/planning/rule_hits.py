"""What a rule about misleading settings gives: hits, each a place in the study and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from model.cell import Cell
from testbed.study.problems import Loc


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One rule met at one point: what of, where in the study file, why; larger is worse."""

    subject: str
    loc: Loc
    text: str
    severity: float


Rule = Callable[[Cell], Iterator[Hit]]
