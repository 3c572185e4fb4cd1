"""What is said while something is done."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Said = Callable[[], tuple[str, str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Return what was printed on standard output and on standard error."""

    def read() -> tuple[str, str]:
        captured = capsys.readouterr()
        return captured.out, captured.err

    return read


def said_by(act: Callable[[Callable[[str], None]], None]) -> list[str]:
    lines: list[str] = []
    act(lines.append)
    return lines
