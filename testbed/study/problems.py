"""What is wrong with a study file: one problem per line, in file order, in one exception.

Invariant: every problem says where (file and line), which key, what was wanted and what is there.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from model.errors import GroundtruthError, StudyError

#: A place in a document: keys of mappings and indexes of lists, from the top.
Loc = tuple[str | int, ...]

#: Names that are listed: where one is much like the wrong one, and where none is.
MAX_LISTED_WITH_HINT, MAX_LISTED = 8, 32
#: Problems of a file that are told; and looked for by one check: finding a hint takes time.
MAX_TOLD, MAX_SOUGHT = 50, 100


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong in one file; ``key`` is dotted and may be empty for the whole file."""

    file: str
    line: int
    key: str
    what: str
    wanted: str = ""
    got: str = ""
    hint: str = ""

    def message(self) -> str:
        """Return ``file:line: key: what: wanted W, got G (hint)`` on one line."""
        what = f"{self.key}: {self.what}" if self.key else self.what
        where = f"{self.file}:{self.line}" if self.line else self.file
        error = GroundtruthError(
            what, where=where, wanted=self.wanted, got=self.got, hint=self.hint
        )
        return " ".join(error.message().split())


class StudyFileError(StudyError):
    """A study file or host profile with problems; its message has one line for each told."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = in_file_order(problems)
        lines = [problem.message() for problem in self.problems[:MAX_TOLD]]
        if len(self.problems) > MAX_TOLD:
            lines.append(f"more problems than these {MAX_TOLD}: mend them first")
        super().__init__("\n".join(lines))


class SettingError(StudyError, ValueError):
    """One setting that cannot be; a validator raises it, the reader adds file, line and key."""


def in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems without repeats: files as first met, then lines, then as found.

    One that differs from another only in its hint (the point it is found at) is a repeat.
    """
    unique: dict[Problem, Problem] = {}
    for problem in problems:
        unique.setdefault(dataclasses.replace(problem, hint=""), problem)
    files = list(dict.fromkeys(problem.file for problem in unique))
    return tuple(sorted(unique.values(), key=lambda p: (files.index(p.file), p.line)))


def nearest(word: str, words: Iterable[str]) -> str:
    """Return the known word that one may have been meant to be, or nothing."""
    by_lower = {str(name).lower(): str(name) for name in words}
    near = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.65)
    return by_lower[near[0]] if near else ""


def suggestion(word: str, words: Iterable[str]) -> str:
    """Return ``did you mean X?`` for the nearest known word, or nothing."""
    near = nearest(word, words)
    return f"did you mean {near}?" if near else ""


def one_of(words: Iterable[str], hint: str = "") -> str:
    """Return ``a``, or ``one of a, b, c``; nothing where there are many and a hint names one."""
    names = [str(name) for name in words]
    if hint and len(names) > MAX_LISTED_WITH_HINT:
        return ""
    if len(names) == 1:
        return names[0]
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f"one of {', '.join(names[:MAX_LISTED])}{more}"
