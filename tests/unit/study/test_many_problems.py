"""A study file with very many mistakes: some are told, and the time is that of reading the file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import pytest

from testbed.points.load_study import raise_problems
from testbed.study import form_validation
from testbed.study.problems import MAX_SOUGHT, MAX_TOLD, Problem, StudyFileError
from testbed.study.yaml_document import Document
from tests.support.study_file import UNPUBLISHED, edited, problems

MANY = 3000
LAST = f"more problems than these {MAX_TOLD}: mend them first"
KEYS = "".join(f"key{i}: 1\n" for i in range(MANY))
SEEDS = ", ".join(["x"] * MANY)
#: Each is wrong in very many places.
WRONG = {
    "keys": edited(UNPUBLISHED) + KEYS,
    "keys below": edited(UNPUBLISHED, ("network:\n", f"network:\n{textwrap.indent(KEYS, '  ')}")),
    "seeds": edited(UNPUBLISHED, ("[1, 2, 3, 4, 5]", f"[{SEEDS}]")),
    "the same key": edited(UNPUBLISHED) + "study: a\n" * MANY,
    "drops": edited(UNPUBLISHED) + "drops:\n" + "".join(
        f"  x{i}: {{data_packets: [1]}}\n" for i in range(MANY)
    ),
    "metrics": edited(UNPUBLISHED, ("metrics: [", f"metrics: [{SEEDS.replace('x', 'y')}, ")),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda name: name.replace(" ", "-"))
def test_very_many_problems_are_told_in_part(wrong: str) -> None:
    told = problems(WRONG[wrong])
    assert len(told) == MAX_TOLD + 1
    assert told[-1] == LAST
    assert all(line.startswith("w.yaml:") for line in told[:-1])
    assert sum(map(len, told)) < 50_000


def test_as_many_as_are_told_have_no_last_line() -> None:
    one = Problem(file="a", line=1, key="k", what="bad")
    several = [Problem(file="a", line=i, key="k", what="bad") for i in range(MAX_TOLD)]
    assert LAST not in str(StudyFileError(several))
    assert str(StudyFileError([*several, one, one])).count("bad") == MAX_TOLD


def test_no_more_hints_are_sought_than_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[str] = []

    def suggest(word: str, known: Iterable[str]) -> str:
        sought.append(word)
        return ""

    monkeypatch.setattr(form_validation, "suggestion", suggest)
    problems(WRONG["keys"])
    assert len(sought) <= 8 * MAX_SOUGHT  # in the file itself, and at each of its 7 points


def test_problems_of_the_text_are_told_before_those_that_follow_from_them() -> None:
    unread = Problem(file="a", line=1, key="k", what="an alias")
    follows = Problem(file="a", line=1, key="k", what="wrong kind")
    document = Document(name="a", text="", data={}, lines={}, texts={}, problems=(unread,))
    with pytest.raises(StudyFileError) as caught:
        raise_problems([unread, follows], document)
    assert caught.value.problems == (unread,)
