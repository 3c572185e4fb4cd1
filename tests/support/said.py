"""What is said while something is done."""

from __future__ import annotations

from collections.abc import Callable


def said_by(act: Callable[[Callable[[str], None]], None]) -> list[str]:
    lines: list[str] = []
    act(lines.append)
    return lines
