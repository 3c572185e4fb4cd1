"""The points of a study: every combination of a ``sweep``, or the listed ``points``.

A point is the study file with some settings replaced and read again by the same models, so a
swept value is checked like a written one and its errors name the line it stands on.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from model import units
from testbed.study.form_validation import UNKNOWN_KEY, field_name_at, validate_sections
from testbed.study.problems import MAX_SOUGHT, Loc, Problem, one_of, suggestion
from testbed.study.setting_types import NO_PACKET
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document
from testbed.study_checks.agreement import cross_problems

MAX_POINTS = 1000
SWEEPABLE = (
    "network", "duration", "measure", "hosts", "kernel", "generator", "flows", "events", "drops",
)  # fmt: skip

PointValue = float | int | str


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A swept setting: its name with unit (``loss_frac``), its path and its place in the file."""

    name: str
    path: str
    loc: Loc


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point: its parameters in base units, the study's settings there, and their lines.

    ``document`` is the file with the point's values in place, each on the line it comes from.
    """

    values: dict[str, PointValue]
    settings: StudyFile
    document: Document

    def words(self) -> str:
        """Return the point as messages name it: ``loss_frac=0.01, pairs=2``."""
        return ", ".join(f"{name}={value}" for name, value in self.values.items())


@dataclass(frozen=True, kw_only=True)
class Override:
    """One setting of one point: value as written, and the place it is written at."""

    path: str
    value: Any
    source: Loc


def read_points(
    study: StudyFile, document: Document, reported: Collection[Problem]
) -> tuple[tuple[Parameter, ...], tuple[Point, ...], list[Problem]]:
    """Return the swept parameters, the valid points in file order, and what is wrong.

    Only the sections ``sweep`` and ``points`` of ``study`` need to be valid; ``reported`` problems
    of the file itself are not repeated for each point.
    """
    problems = list(_shape_problems(study, document))
    if problems:
        return (), (), problems
    listed = _listed(study)
    places, problems = places_of(listed, document)
    if problems:
        return (), (), problems
    names = parameters_at(places)
    points: list[Point] = []
    first: dict[frozenset[tuple[str, PointValue]], int] = {}
    for overrides in listed:
        point, found = read_point(overrides, names, document, reported)
        problems += found
        if point is None:
            continue
        if len(problems) > MAX_SOUGHT:
            break
        values = frozenset(point.values.items())
        line = document.line(overrides[-1].source) if overrides else 1
        if values in first:
            what = f"the same point as on line {first[values]}"
            problems.append(document.problem(overrides[-1].source, what, got=point.words()))
        first.setdefault(values, line)
        points.append(point)
    return names, tuple(points), _unknown_once(problems)


def _unknown_once(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems, of a key that there is none of only the first: each point has it."""
    told: set[str] = set()
    found = []
    for problem in problems:
        if problem.what != UNKNOWN_KEY or problem.key not in told:
            found.append(problem)
        if problem.what == UNKNOWN_KEY:
            told.add(problem.key)
    return found


def _shape_problems(study: StudyFile, document: Document) -> Iterator[Problem]:
    given = [key for key in ("sweep", "points") if key in study.model_fields_set]
    if len(given) > 1:
        yield document.problem(("points",), "both sweep and points", wanted="one of them")
        return
    if given and not (study.sweep or study.points):
        yield document.problem((given[0],), "empty", wanted="at least one setting, or no such key")
    count = max(math.prod(len(values) for values in study.sweep.values()), len(study.points))
    if count > MAX_POINTS:
        wanted = f"at most {MAX_POINTS}"
        yield document.problem((given[0],), "too many points", wanted=wanted, got=str(count))
    for i, point in enumerate(study.points):
        if not point:
            yield document.problem(("points", i), "empty", wanted="at least one setting")
        elif set(point) != set(study.points[0]):
            yield document.problem(
                ("points", i),
                "not the settings of the first point",
                wanted=", ".join(study.points[0]),
                got=", ".join(point),
            )


def _listed(study: StudyFile) -> list[list[Override]]:
    if study.points:
        return [point_overrides(point, ("points", i)) for i, point in enumerate(study.points)]
    axes = [
        [Override(path=p, value=v, source=("sweep", p, i)) for i, v in enumerate(values)]
        for p, values in study.sweep.items()
    ]
    return [list(combination) for combination in itertools.product(*axes)]


def point_overrides(values: Mapping[str, Any], at: Loc) -> list[Override]:
    """Return the overrides in a mapping of paths to values at a place of the file."""
    return [Override(path=p, value=v, source=(*at, p)) for p, v in values.items()]


def places_of(
    listed: Iterable[list[Override]], document: Document
) -> tuple[dict[str, Loc], list[Problem]]:
    """Return the place of every path that is replaced, and which paths there are none of."""
    places: dict[str, Loc] = {}
    problems: dict[str, Problem] = {}
    for override in itertools.chain.from_iterable(listed):
        path = override.path
        if path in places or path in problems:
            continue
        found = locate(path, document)
        if isinstance(found, str):
            key_of_list = override.source[: override.source.index(path) + 1]
            problems[path] = document.problem(key_of_list, found)
        else:
            places[path] = found
    return places, list(problems.values())


def locate(path: str, document: Document) -> Loc | str:
    """Return the place of a dotted path, or why there is none; list items go by their id.

    Only the last key may be absent from the file: it is then one with a default, or unknown.
    """
    parts = path.split(".")
    if parts[0] not in SWEEPABLE:
        return f"cannot be swept: wanted a setting in {one_of(SWEEPABLE)}"
    loc: Loc = ()
    here: Any = document.data
    for number, part in enumerate(parts):
        step = _step(here, part)
        if step is None and number + 1 == len(parts) and isinstance(here, dict):
            return (*loc, part)
        if step is None:
            hint = suggestion(part, _names(here))
            return f"no such setting: {'.'.join(parts[: number + 1])}" + (hint and f" ({hint})")
        loc, here = (*loc, step), here[step]
    return loc


def _step(here: Any, part: str) -> str | int | None:
    if isinstance(here, dict) and part in here:
        return part
    if isinstance(here, tuple):
        names = [item.get("id") if isinstance(item, dict) else None for item in here]
        return names.index(part) if part in names else None
    return None


def _names(here: Any) -> list[str]:
    if isinstance(here, dict):
        return list(here)
    if isinstance(here, tuple):
        return [str(item["id"]) for item in here if isinstance(item, dict) and "id" in item]
    return []


def parameters_at(
    places: Mapping[str, Loc], others: tuple[Parameter, ...] = ()
) -> tuple[Parameter, ...]:
    """Return a parameter per path, named like its field, or longer where names would be equal.

    ``network.bottleneck.rate`` alone is ``rate_bps``; beside ``network.source_access.rate`` the
    two are ``bottleneck_rate_bps`` and ``source_access_rate_bps``. ``others`` keep their names.
    """
    fields = {path: field_name_at(StudyFile, loc) or path for path, loc in places.items()}
    names = dict(fields)
    for length in range(1, 1 + max((path.count(".") for path in places), default=0)):
        taken = [*names.values(), *(parameter.name for parameter in others)]
        for path in places:
            if taken.count(names[path]) > 1:
                above = path.split(".")[:-1][-length:]
                names[path] = "_".join([*above, fields[path]])
    return tuple(Parameter(name=names[p], path=p, loc=loc) for p, loc in places.items())


def read_point(
    overrides: Iterable[Override],
    names: Iterable[Parameter],
    document: Document,
    reported: Collection[Problem],
) -> tuple[Point | None, list[Problem]]:
    """Return the point at which some settings are replaced, and what is wrong only there.

    The point is None if its values cannot be told; with problems in other sections its settings
    are partial (see :func:`validate_sections`).
    """
    by_path = {parameter.path: parameter for parameter in names}
    here = document
    changed: list[Parameter] = []
    for override in overrides:
        parameter = by_path[override.path]
        here = here.replaced(parameter.loc, override.value, document.line(override.source))
        changed.append(parameter)
    settings, valid, problems = validate_sections(StudyFile, here)
    problems += cross_problems(settings, valid, here)
    new = [problem for problem in problems if problem not in reported]
    sections = {field_name_at(StudyFile, parameter.loc[:1]) for parameter in changed}
    if not sections <= valid:
        return None, new
    values = {p.name: value_at(settings, p.loc) for p in changed}
    point = Point(values=values, settings=settings, document=here)
    written = {here.key(parameter.loc) for parameter in changed}
    return point, [_at(problem, point, problem.key in written) for problem in new]


def _at(problem: Problem, point: Point, written_there: bool) -> Problem:
    """Say at which point a setting is wrong that is right in the file itself."""
    return problem if written_there else dataclasses.replace(problem, hint=f"at {point.words()}")


def value_at(study: StudyFile, loc: Loc) -> PointValue:
    """Return a setting of a valid section in base units; true, false and no packet as words."""
    here: Any = study
    for part in loc:
        if isinstance(here, BaseModel):
            here = getattr(here, field_name_at(type(here), (part,)))
        else:
            here = here[part]
    if isinstance(here, tuple):  # packet numbers: a point has one of them, or none
        here = here[0] if here else NO_PACKET
    value: PointValue = units.shown(here) if isinstance(here, bool) else here
    return value
