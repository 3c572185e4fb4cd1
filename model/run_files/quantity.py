"""How a quantity is shown: its unit, scale and digits. Nothing scaled is ever stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A unit as shown: shown value = value x scale, with this many decimals."""

    unit: str
    scale: float
    decimals: int

    @property
    def suffix(self) -> str:
        """Return the unit with the space before it, or nothing for a bare index."""
        return f" {self.unit}" if self.unit else ""


PERCENT = Quantity("%", 1, 1)
INDEX = Quantity("", 1, 3)
KBIT_PER_S = Quantity("kbit/s", 1e-3, 1)
#: Of what is too slow for that: TCP's SACK options are some hundred bits a second.
BIT_PER_S = Quantity("bit/s", 1, 0)
FRACTION = Quantity("%", 100, 3)
MILLISECONDS = Quantity("ms", 1e3, 2)
SECONDS = Quantity("s", 1, 3)
PACKETS = Quantity("packets", 1, 1)
SEGMENTS = Quantity("segments", 1, 2)
#: A share of things counted, and a count or a number in a row of them.
SHARE, COUNT = Quantity("%", 100, 1), Quantity("", 1, 1)
