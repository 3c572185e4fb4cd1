"""Study files that cannot be used: one line each, naming file, line, key, wanted, got, hint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.study_file import DATA, UNPUBLISHED, edited, line_of, problems

Case = list[tuple[str, str]]


def cases() -> Iterator[Any]:
    """Yield the marks and texts of each case of tests/data/study/refused, see its README."""
    for path in sorted((DATA / "refused").glob("*.txt")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.strip("\n").split("\n") if not line.startswith("#")]
            case = [(line[0], line[2:].replace("\\n", "\n")) for line in lines]
            if case:
                yield pytest.param(case, id=of(case, ">")[0].split(": wanted")[0])


def of(case: Case, mark: str) -> list[str]:
    return [text for found, text in case if found == mark]


@pytest.mark.parametrize("case", list(cases()))
def test_what_cannot_be_is_told_line_by_line(case: Case) -> None:
    left_out = [UNPUBLISHED] if of(case, "/") == ["published"] else []
    text = edited(*left_out, *zip(of(case, "-"), of(case, "+"), strict=True))
    lines = [int(at) if at.isdecimal() else line_of(text, at) for at in of(case, "@")]
    assert problems(text) == [
        f"w.yaml:{line}: {said}" for line, said in zip(lines, of(case, ">"), strict=True)
    ]
    assert lines == sorted(lines)
