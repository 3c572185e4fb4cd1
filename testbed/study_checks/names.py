"""Names that must be known, and names that must differ: the problem each mistake is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from model import units
from testbed.study.problems import Loc, Problem, one_of, suggestion
from testbed.study.yaml_document import Document


def duplicates(
    names: Iterable[str], places: Iterable[Loc], what: str, document: Document
) -> Iterator[Problem]:
    """Yield a problem for every name that stands at an earlier place too."""
    first: dict[str, Loc] = {}
    for name, loc in zip(names, places, strict=True):
        if name in first:
            line = document.line(first[name])
            yield document.problem(
                loc, f"duplicate {what}: already on line {line}", got=units.shown(name)
            )
        first.setdefault(name, loc)


def unknown(
    name: str, allowed: Iterable[str], loc: Loc, what: str, document: Document
) -> Iterator[Problem]:
    """Yield a problem if a name is not among those allowed."""
    names = list(allowed)
    if name not in names:
        hint = suggestion(name, names)
        yield document.problem(
            loc, f"unknown {what}", wanted=one_of(names, hint), got=units.shown(name), hint=hint
        )
