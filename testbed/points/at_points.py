"""Where on the sweep a part of a study belongs: its ``at``, read like a point and found among them.

A value under ``at`` is checked like a swept one, and its errors name its own line.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from model import units
from testbed.points.sweep import Parameter, Point, point_overrides, read_point
from testbed.study.problems import Loc, Problem, one_of, suggestion
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document
from testbed.study_checks.figures import flow_problems


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A study's points, what is swept, and the problems that were reported on the way to them."""

    document: Document
    parameters: tuple[Parameter, ...]
    points: tuple[Point, ...]
    reported: Collection[Problem]

    def find(self, settings: Mapping[str, Any], loc: Loc) -> tuple[tuple[int, ...], list[Problem]]:
        """Return the indexes of the points an ``at`` covers, and what is wrong with it.

        There is at least one index, or a problem, here or with every point.
        """
        unknown = [wrong for path in settings for wrong in self.unswept([path], (*loc, path))]
        if unknown:
            return (), unknown
        point, problems = self.read(settings, loc)
        if point is None:
            return (), problems
        covered = [
            i for i, other in enumerate(self.points) if point.values.items() <= other.values.items()
        ]
        if self.points and not covered:
            what = "not a point of the study"
            problems.append(self.document.problem(loc, what, got=point.words()))
        return tuple(covered), problems

    def find_any(
        self, settings: Mapping[str, Any], loc: Loc
    ) -> tuple[tuple[int, ...], list[Problem]]:
        """Return the same of an ``at`` with lists of values for a setting: any of them will do."""
        lists = [value if isinstance(value, tuple) else (value,) for value in settings.values()]
        for path, values in zip(settings, lists, strict=True):
            if not values or any(one is None or isinstance(one, dict | tuple) for one in values):
                problem = self.document.problem(
                    (*loc, path), "not a value", wanted="one, or a list of some",
                    got=units.shown(settings[path]),
                )  # fmt: skip
                return (), [problem]
        chosen = (dict(zip(settings, values, strict=True)) for values in itertools.product(*lists))
        covered, problems = self.find_all([(one, loc) for one in chosen])
        everywhere = {index for indexes in covered for index in indexes}
        return tuple(sorted(everywhere)), list(dict.fromkeys(problems))

    def find_all(
        self, places: Iterable[tuple[Mapping[str, Any], Loc]]
    ) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
        """Return the indexes for each of several, and all that is wrong with them."""
        found = [self.find(settings, loc) for settings, loc in places]
        problems = [problem for _, wrong in found for problem in wrong]
        return tuple(indexes for indexes, _ in found), problems

    def read(self, settings: Mapping[str, Any], loc: Loc) -> tuple[Point | None, list[Problem]]:
        """Return a point with these settings alone, and what is wrong with them."""
        overrides = point_overrides(settings, loc)
        return read_point(overrides, self.parameters, self.document, self.reported)

    def unswept(self, paths: Collection[str], loc: Loc) -> Iterator[Problem]:
        """Yield which of some paths, all given at one place, are of no swept setting."""
        swept = [parameter.path for parameter in self.parameters]
        for path in paths:
            if path not in swept:
                yield self.document.problem(
                    loc,
                    "not swept",
                    wanted=one_of(swept) if swept else "no settings: the study has one point",
                    hint=suggestion(path, swept) if len(swept) > 1 else "",
                )


def published_points(
    study: StudyFile, sweep: Sweep
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each published row's points, and what is wrong with the rows."""
    indexes: list[tuple[int, ...]] = []
    problems: list[Problem] = []
    taken: set[tuple[int, str]] = set()
    for i, row in enumerate(study.published.rows if study.published else ()):
        at: Loc = ("published", "rows", i, "at")
        covered, found = sweep.find(row.at, at)
        problems += found
        if len(covered) > 1 and row.points == "one":
            missing = ", ".join(p.path for p in sweep.parameters if p.path not in row.at)
            what = f"{len(covered)} points of the study are at this"
            wanted = f"also {missing}, or points: all"
            problems.append(sweep.document.problem(at, what, wanted=wanted))
        here = {(index, name) for index in covered for name in row.values}
        twice = sorted({name for _, name in here & taken})
        if twice:
            what = "a second value for the same point"
            problems.append(sweep.document.problem(at, what, got=", ".join(twice)))
        taken |= here
        indexes.append(covered)
    return tuple(indexes), problems


def figure_points(
    study: StudyFile, sweep: Sweep
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each figure's points, and what is wrong with the figures' ``at``."""
    ats = [(figure.at, ("figures", i, "at")) for i, figure in enumerate(study.figures)]
    covered, problems = sweep.find_all(ats)
    for i, figure in enumerate(study.figures):
        if figure.overlay is not None:
            swept: Loc = ("figures", i, "overlay")
            problems += sweep.unswept([figure.overlay], swept)
    return covered, problems


def figure_flows(
    study: StudyFile, sweep: Sweep, covered: tuple[tuple[int, ...], ...]
) -> list[Problem]:
    """Return where figures name flows that are none at their points; flows must be valid."""
    wrong = (
        problem
        for i, (figure, indexes) in enumerate(zip(study.figures, covered, strict=True))
        for index in indexes
        for problem in flow_problems(i, figure, sweep.points[index].settings.flows, sweep.document)
    )
    return list(dict.fromkeys(wrong))


def episode_points(
    study: StudyFile, sweep: Sweep
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each published episode's points, and what is wrong with the ``at``."""
    listed = study.published.episodes if study.published else ()
    ats = [(entry.at, ("published", "episodes", i, "at")) for i, entry in enumerate(listed)]
    return sweep.find_all(ats)


def explanation_points(
    study: StudyFile, sweep: Sweep
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each explanation's points, and what is wrong with the ``at``."""
    listed = enumerate(study.explanations)
    found = [sweep.find_any(one.at, ("explanations", i, "at")) for i, one in listed]
    return tuple(here for here, _ in found), [problem for _, wrong in found for problem in wrong]


def capture_points(study: StudyFile, sweep: Sweep) -> tuple[tuple[int, ...], list[Problem]]:
    """Return the indexes of the points that are captured, and what is wrong with them."""
    loc: Loc = ("collect", "captures_at")
    if study.collect.captures and study.collect.captures_at:
        wanted = "one of captures and captures_at"
        return (), [sweep.document.problem(loc, "every point is captured already", wanted=wanted)]
    if study.collect.captures:
        return tuple(range(len(sweep.points))), []
    ats = [(at, (*loc, i)) for i, at in enumerate(study.collect.captures_at)]
    covered, problems = sweep.find_all(ats)
    return tuple(sorted({index for indexes in covered for index in indexes})), problems
