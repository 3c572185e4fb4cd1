"""Numbers in sentences. Pure."""

from __future__ import annotations


def how_many(number_of: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 cell`` or ``3 cells``."""
    return f"{number_of} {noun if number_of == 1 else plural or noun + 's'}"
