"""How many digits of a number are stored. Pure."""

from __future__ import annotations

from decimal import Decimal

SIGNIFICANT_DIGITS = 10


def rounded(value: float | Decimal | None) -> float | None:
    """Return a float rounded to the digits that are stored; null stays null."""
    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")
