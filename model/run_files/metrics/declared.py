"""What is declared of a metric: its name, its words, how it is shown, what it can be.

Names carry the unit and, in braces, the group or flow that each is of. ``reports/measures`` has a
function for every one of them; docs/metrics.md gives formulas and sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from model.run_files.quantity import Quantity


@dataclass(frozen=True)
class Bounds:
    """What a metric can be at least and at most, in its own unit."""

    least: float = 0.0
    most: float = math.inf

    @property
    def words(self) -> str:
        """What messages want."""
        if self.most == math.inf:
            return f"{self.least:g} or more"
        return f"{self.least:g} to {self.most:g}"


#: Parts of a whole, by what a metric's name ends in; fairness is an index (Jain, DEC-TR-301, 1984).
_PARTS = {"share_{group}_pct": 100.0, "jain_flows": 1.0, "jain_protocols": 1.0}


#: What networks are made of.
Made = Literal["links", "radios"]


@dataclass(frozen=True)
class Declared:
    """A metric: its name, what readers see, how it is shown, and what it means in words.

    ``needs`` is the key of a study without which it cannot be computed, ``only`` what a network is
    of that has it: packets are followed over links, frames and their routes over radios.
    """

    name: str
    label: str
    quantity: Quantity
    meaning: str
    needs: str | None = None
    only: Made | None = None

    @property
    def bounds(self) -> Bounds:
        """What it can be: only an increase may be negative, and is no fall by more than all.

        Air times of signals that are sent at once, far apart or on two channels, add up.
        """
        if self.name == "pct_increase":
            return Bounds(least=-100.0)
        is_part = self.name.endswith("_frac") and not self.name.startswith("air_")
        whole = 1.0 if is_part else math.inf
        return Bounds(most=_PARTS.get(self.name, whole))

    def each(self, groups: Iterable[str], flows: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield its name for every group or flow, with that; once, with "", if it is of neither."""
        many = groups if "{group}" in self.name else flows if "{flow}" in self.name else ("",)
        for one in many:
            yield self.name.format(group=one, flow=one), one
