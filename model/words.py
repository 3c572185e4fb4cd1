"""Numbers in sentences. Pure."""

from __future__ import annotations


def how_many(number_of: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 cell`` or ``3 cells``."""
    return f"{number_of} {noun if number_of == 1 else plural or noun + 's'}"


def size_text(size_bytes: float) -> str:
    """Return a size in words."""
    unit, name = (1e6, "MB") if size_bytes >= 1e6 else (1e3, "kB")
    return f"{size_bytes / unit:,.1f} {name}"
