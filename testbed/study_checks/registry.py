"""Checks of a study, each with the sections it reads: it runs where these are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from testbed.study.document import Document
from testbed.study.form import StudyFile
from testbed.study.problems import Problem

Check = Callable[[StudyFile, Document], Iterator[Problem]]


class Checks(list[tuple[frozenset[str], Check]]):
    """Checks in the order in which they were declared."""

    def reads(self, *sections: str) -> Callable[[Check], Check]:
        """Return what adds a check that reads these sections."""

        def add(check: Check) -> Check:
            self.append((frozenset(sections), check))
            return check

        return add
