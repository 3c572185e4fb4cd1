"""Where on the sweep a part of a study belongs: its ``at``, read like a point and found among them.

A value under ``at`` is checked like a swept one, and its errors name its own line.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from model import units
from testbed.points.sweep import Parameter, Point, point_overrides, read_point
from testbed.study.document import Document
from testbed.study.form import StudyFile
from testbed.study.problems import Loc, Problem, one_of, suggestion
from testbed.study_checks.figures import flow_problems


def points_at(
    at: Mapping[str, Any],
    loc: Loc,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    document: Document,
    known: Collection[Problem],
) -> tuple[tuple[int, ...], list[Problem]]:
    """Return the indexes of the points an ``at`` covers, and what is wrong with it.

    There is at least one index, or a problem, here or with every point.
    """
    unknown = [
        problem for path in at for problem in _unswept([path], (*loc, path), names, document)
    ]
    if unknown:
        return (), unknown
    point, problems = read_point(point_overrides(at, loc), names, document, known)
    if point is None:
        return (), problems
    covered = [i for i, other in enumerate(points) if point.values.items() <= other.values.items()]
    if points and not covered:
        problems.append(document.problem(loc, "not a point of the study", got=point.words()))
    return tuple(covered), problems


def points_at_any(
    at: Mapping[str, Any],
    loc: Loc,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    document: Document,
    known: Collection[Problem],
) -> tuple[tuple[int, ...], list[Problem]]:
    """Return the same of an ``at`` with a list of values for a setting: any of them will do."""
    lists = [value if isinstance(value, tuple) else (value,) for value in at.values()]
    for path, values in zip(at, lists, strict=True):
        if not values or any(value is None or isinstance(value, dict | tuple) for value in values):
            problem = document.problem(
                (*loc, path), "not a value", wanted="one, or a list of some",
                got=units.shown(at[path]),
            )  # fmt: skip
            return (), [problem]
    covered: set[int] = set()
    problems: list[Problem] = []
    for chosen in itertools.product(*lists):
        one = dict(zip(at, chosen, strict=True))
        indexes, wrong = points_at(one, loc, names, points, document, known)
        covered.update(indexes)
        problems += wrong
    return tuple(sorted(covered)), list(dict.fromkeys(problems))


def published_points(
    study: StudyFile,
    document: Document,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    known: Collection[Problem],
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each published row's points, and what is wrong with the rows."""
    indexes: list[tuple[int, ...]] = []
    problems: list[Problem] = []
    taken: set[tuple[int, str]] = set()
    for i, row in enumerate(study.published.rows if study.published else ()):
        at: Loc = ("published", "rows", i, "at")
        covered, found = points_at(row.at, at, names, points, document, known)
        problems += found
        if len(covered) > 1 and row.points == "one":
            missing = ", ".join(p.path for p in names if p.path not in row.at)
            what = f"{len(covered)} points of the study are at this"
            wanted = f"also {missing}, or points: all"
            problems.append(document.problem(at, what, wanted=wanted))
        here = {(index, name) for index in covered for name in row.values}
        twice = sorted({name for _, name in here & taken})
        if twice:
            what = "a second value for the same point"
            problems.append(document.problem(at, what, got=", ".join(twice)))
        taken |= here
        indexes.append(covered)
    return tuple(indexes), problems


def figure_points(
    study: StudyFile,
    document: Document,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    known: Collection[Problem],
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each figure's points, and what is wrong with the figures' ``at``."""
    ats = [(figure.at, ("figures", i, "at")) for i, figure in enumerate(study.figures)]
    covered, problems = _all_points_at(ats, document, names, points, known)
    for i, figure in enumerate(study.figures):
        if figure.overlay is not None:
            swept: Loc = ("figures", i, "overlay")
            problems += _unswept([figure.overlay], swept, names, document)
    return covered, problems


def figure_flows(
    study: StudyFile,
    document: Document,
    points: tuple[Point, ...],
    covered: tuple[tuple[int, ...], ...],
) -> list[Problem]:
    """Return where figures name flows that are none at their points; flows must be valid."""
    wrong = (
        problem
        for i, (figure, indexes) in enumerate(zip(study.figures, covered, strict=True))
        for index in indexes
        for problem in flow_problems(i, figure, points[index].settings.flows, document)
    )
    return list(dict.fromkeys(wrong))


def episode_points(
    study: StudyFile,
    document: Document,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    known: Collection[Problem],
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    """Return the indexes of each published episode's points, and what is wrong with the ``at``."""
    listed = study.published.episodes if study.published else ()
    ats = [(entry.at, ("published", "episodes", i, "at")) for i, entry in enumerate(listed)]
    return _all_points_at(ats, document, names, points, known)


def capture_points(
    study: StudyFile,
    document: Document,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    known: Collection[Problem],
) -> tuple[tuple[int, ...], list[Problem]]:
    """Return the indexes of the points that are captured, and what is wrong with them."""
    loc: Loc = ("collect", "captures_at")
    if study.collect.captures and study.collect.captures_at:
        wanted = "one of captures and captures_at"
        return (), [document.problem(loc, "every point is captured already", wanted=wanted)]
    if study.collect.captures:
        return tuple(range(len(points))), []
    ats = [(at, (*loc, i)) for i, at in enumerate(study.collect.captures_at)]
    covered, problems = _all_points_at(ats, document, names, points, known)
    return tuple(sorted({index for indexes in covered for index in indexes})), problems


def _all_points_at(
    ats: Sequence[tuple[Mapping[str, Any], Loc]],
    document: Document,
    names: tuple[Parameter, ...],
    points: tuple[Point, ...],
    known: Collection[Problem],
) -> tuple[tuple[tuple[int, ...], ...], list[Problem]]:
    covered: list[tuple[int, ...]] = []
    problems: list[Problem] = []
    for at, loc in ats:
        indexes, found = points_at(at, loc, names, points, document, known)
        covered.append(indexes)
        problems += found
    return tuple(covered), problems


def _unswept(
    at: Collection[str], loc: Loc, names: tuple[Parameter, ...], document: Document
) -> Iterator[Problem]:
    """Yield which of some paths, all given at one place, are of no swept setting."""
    paths = [parameter.path for parameter in names]
    for path in at:
        if path not in paths:
            yield document.problem(
                loc,
                "not swept",
                wanted=one_of(paths) if paths else "no settings: the study has one point",
                hint=suggestion(path, paths) if len(paths) > 1 else "",
            )
