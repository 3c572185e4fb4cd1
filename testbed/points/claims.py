"""Claims as elementary comparisons: which metric at which point, with what, between which bounds.

Invariant: a claim is true if and only if each of its comparisons is, so reports evaluate one form.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from model import units
from testbed.points.at_points import Sweep
from testbed.points.sweep import PointValue
from testbed.study.claims import Claim, Predicate, Trend
from testbed.study.problems import Loc, Problem, one_of, suggestion
from testbed.study.study_form import StudyFile


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A metric at a point, minus ``versus`` if any (``relative``: in % of it), in a range.

    ``per``: as so many times the difference of that metric. Points are given by their index;
    ``strict``: the bounds themselves are not in the range.
    """

    metric: str
    point: int
    versus: tuple[str, int] | None = None
    relative: bool = False
    per: str | None = None
    low: float | None = None
    high: float | None = None
    strict: bool = False


def expand_claims(
    study: StudyFile, sweep: Sweep
) -> tuple[tuple[tuple[Comparison, ...], ...], list[Problem]]:
    """Return each claim's comparisons, none for an untested one, and what is wrong.

    The claims are sound by themselves (:mod:`testbed.study_checks.claims`).
    """
    expander = _Expander(sweep)
    found = tuple(expander.expand(claim, ("claims", i)) for i, claim in enumerate(study.claims))
    return found, expander.problems


class _Expander:
    """Expands claims one after the other and remembers what is wrong with them."""

    def __init__(self, sweep: Sweep) -> None:
        self.problems: list[Problem] = []
        self._sweep, self._points = sweep, sweep.points
        self._name_of = {parameter.path: parameter.name for parameter in sweep.parameters}

    def expand(self, claim: Claim, loc: Loc) -> tuple[Comparison, ...]:
        """Return a claim's comparisons; none if it is untested, or wrong."""
        covered = self._covered(claim.at, (*loc, "at")) if claim.untested is None else ()
        if not covered:
            return ()
        if "points" in claim.each and len(covered) < 2:
            self._say((*loc, "each"), "only one point", wanted="two or more, chosen by 'at'")
            return ()
        made = self._ordered if claim.along is not None else self._plain
        return tuple(made(claim, covered, loc))

    def _say(self, loc: Loc, what: str, *, wanted: str = "", got: str = "", hint: str = "") -> None:
        problem = self._sweep.document.problem(loc, what, wanted=wanted, got=got, hint=hint)
        if problem not in self.problems:
            self.problems.append(problem)

    def _covered(self, at: dict[str, Any], loc: Loc) -> tuple[int, ...]:
        """Return the indexes of the points at any of the listed values, in the study's order."""
        found, wrong = self._sweep.find_any(at, loc)
        self.problems += [problem for problem in wrong if problem not in self.problems]
        return found

    def _plain(self, claim: Claim, covered: Sequence[int], loc: Loc) -> Iterator[Comparison]:
        """Yield one comparison for each metric and point.

        What each point is compared with is not compared with itself.
        """
        low, high, strict = bounds(claim.is_)
        others = self._others(claim, covered, (*loc, "versus"))
        versus = claim.versus_names or (None,) * len(claim.names)
        rest = "points" in claim.each and set(others) < set(covered)
        for name, other in zip(claim.names, versus, strict=True):
            for index, elsewhere in zip(covered, others, strict=False):
                if (name, index) == (other, elsewhere) and rest:
                    continue
                if (name, index) == (other, elsewhere):
                    got = self._points[index].words()
                    self._say((*loc, "versus"), f"{name} compared with itself", got=got)
                    return
                yield Comparison(
                    metric=name, point=index, relative=claim.relative, per=claim.per, low=low,
                    high=high, strict=strict, versus=None if other is None else (other, elsewhere),
                )  # fmt: skip

    def _others(self, claim: Claim, covered: Sequence[int], loc: Loc) -> tuple[int, ...]:
        """Return for each point the one it is compared with: itself, or with settings replaced.

        None at all if one of them is no point of the study.
        """
        if claim.versus is None or not claim.versus.at:
            return tuple(covered)
        replaced = self._read(claim.versus.at, (*loc, "at"))
        if replaced is None:
            return ()
        index_of = {frozenset(point.values.items()): i for i, point in enumerate(self._points)}
        found = []
        for index in covered:
            values = {**self._points[index].values, **replaced}
            other = index_of.get(frozenset(values.items()))
            if other is None:
                words = ", ".join(f"{name}={value}" for name, value in values.items())
                self._say((*loc, "at"), "not a point of the study", got=words)
                return ()
            found.append(other)
        return tuple(found)

    def _read(self, at: dict[str, Any], loc: Loc) -> dict[str, PointValue] | None:
        """Return swept settings as a point has them, or None if something is wrong with them."""
        for path, value in at.items():
            if not self._swept(path, (*loc, path)):
                return None
            if value is None or isinstance(value, dict | tuple):
                self._say((*loc, path), "not one value", got=units.shown(value))
                return None
        point, wrong = self._sweep.read(at, loc)
        self.problems += [problem for problem in wrong if problem not in self.problems]
        return None if point is None else point.values

    def _swept(self, path: str, loc: Loc) -> bool:
        swept = list(self._name_of)
        if path not in swept:
            wanted = one_of(swept) if swept else "no settings: the study has one point"
            hint = suggestion(path, swept) if len(swept) > 1 else ""
            self._say(loc, "not swept", wanted=wanted, got=units.shown(path), hint=hint)
        return path in swept

    def _ordered(self, claim: Claim, covered: Sequence[int], loc: Loc) -> Iterator[Comparison]:
        along = str(claim.along)
        if not self._swept(along, (*loc, "along")):
            return
        for chain in self._chains(along, covered, (*loc, "along")):
            if isinstance(claim.is_, Trend):
                yield from self._steps(claim, claim.is_, chain, loc)
            else:
                yield from self._peak(claim, chain, loc)

    def _chains(self, along: str, covered: Sequence[int], loc: Loc) -> tuple[list[int], ...]:
        """Return the points in order along a setting: one chain, or one per rest of the settings.

        It is one chain where no two points share the setting's value.
        """
        name = self._name_of[along]
        values = {index: self._points[index].values for index in covered}
        chains: dict[tuple[tuple[str, PointValue], ...], list[int]] = {}
        alone = len({values[index][name] for index in covered}) == len(covered)
        for index in covered:
            rest = tuple(item for item in values[index].items() if item[0] != name)
            chains.setdefault(() if alone else rest, []).append(index)
        if any(len(chain) < 2 for chain in chains.values()):
            self._say(loc, f"only one point along {along}", wanted="two or more, chosen by 'at'")
            return ()
        if not any(isinstance(values[index][name], str) for index in covered):
            for chain in chains.values():
                chain.sort(key=lambda index: float(values[index][name]))
        return tuple(chains.values())

    def _steps(
        self, claim: Claim, trend: Trend, chain: Sequence[int], loc: Loc
    ) -> Iterator[Comparison]:
        """Yield the difference of each point from the one before it."""
        name = self._name_of[str(claim.along)]
        values = [self._points[index].values[name] for index in chain]
        if any(isinstance(value, str) for value in values):
            got = ", ".join(map(str, values))
            self._say((*loc, "along"), "words neither rise nor fall", wanted="numbers", got=got)
            return
        low, high = (None, 0.0) if trend.falling else (0.0, None)
        for metric in claim.names:
            for before, after in itertools.pairwise(chain):
                yield Comparison(
                    metric=metric, point=after, versus=(metric, before), low=low, high=high,
                    strict=True,
                )  # fmt: skip

    def _peak(self, claim: Claim, chain: Sequence[int], loc: Loc) -> Iterator[Comparison]:
        """Yield the difference of the point at the peak from every other one."""
        along, value = str(claim.along), claim.is_.peak if claim.is_ else None
        if isinstance(value, dict | tuple):
            self._say((*loc, "is", "peak"), "not one value", got=units.shown(value))
            return
        read = self._read({along: value}, (*loc, "is", "peak"))
        if read is None:
            return
        name = self._name_of[along]
        tops = [index for index in chain if self._points[index].values[name] == read[name]]
        if not tops:
            self._say((*loc, "is", "peak"), "none of the claim's points", got=units.shown(value))
            return
        for metric in claim.names:
            for other in chain:
                if other != tops[0]:
                    yield Comparison(
                        metric=metric, point=tops[0], versus=(metric, other), low=0.0, strict=True
                    )


def bounds(wanted: Predicate | None) -> tuple[float | None, float | None, bool]:
    """Return what a predicate bounds: low, high, and whether they are left out."""
    if wanted is None:
        return None, None, False
    if wanted.between is not None:
        return wanted.between[0], wanted.between[1], False
    if wanted.equal_within is not None:
        return -wanted.equal_within, wanted.equal_within, False
    if wanted.above is not None or wanted.below is not None:
        return wanted.above, wanted.below, True
    return wanted.at_least, wanted.at_most, False
