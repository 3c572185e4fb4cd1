"""Checks of a study, each with the sections it reads: it runs where these are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from testbed.study.problems import Problem
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document

Check = Callable[[StudyFile, Document], Iterator[Problem]]


class Checks(list[tuple[frozenset[str], Check]]):
    """Checks in the order in which they were declared."""

    def reads(self, *sections: str) -> Callable[[Check], Check]:
        """Return what adds a check that reads these sections.

        Raises:
            ValueError: a study has no such section, so the check would never run.
        """
        if unknown := set(sections) - StudyFile.model_fields.keys():
            raise ValueError(f"no sections of a study: {sorted(unknown)}")

        def add(check: Check) -> Check:
            self.append((frozenset(sections), check))
            return check

        return add
