"""Variations of a study: some of its points again, with what was assumed replaced.

Each alternative of an assumption is one variation. Its points are read like points of a sweep, so
its errors name the line they stand on. Invariant: every setting of an alternative differs from the
study's at every point it is tried at, so no variation repeats what it is compared with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from model import units
from testbed.points.at_points import Sweep
from testbed.points.sweep import (
    Override,
    Parameter,
    Point,
    PointValue,
    parameters_at,
    places_of,
    point_overrides,
    read_point,
    value_at,
)
from testbed.study.form_validation import field_name_at
from testbed.study.problems import Loc, Problem
from testbed.study.scaling import FULL
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import Document


@dataclass(frozen=True, kw_only=True)
class Variation:
    """One alternative of an assumption: ``points[i]`` is what the study's ``of[i]`` becomes.

    ``of`` counts the study's points; ``points`` goes on behind them into the variations' points.
    """

    assumption: str
    settings: dict[str, PointValue]
    words: str
    of: tuple[int, ...]
    points: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Variations:
    """All variations of a study, the settings only they replace, and their own points.

    ``ruled_out`` are the words of those that name a kernel where that is not the study's to say.
    """

    variations: tuple[Variation, ...] = ()
    ruled_out: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    points: tuple[Point, ...] = ()


NO_VARIATIONS = Variations()


@dataclass(frozen=True, kw_only=True)
class _Alternative:
    """One alternative as written: of which assumption, where in the file, at which points."""

    assumption: str
    loc: Loc
    overrides: list[Override]
    of: tuple[int, ...]

    def names_kernel(self) -> bool:
        """Return whether it is about another kernel."""
        return any(override.path == "kernel" for override in self.overrides)


def read_variations(
    study: StudyFile, sweep: Sweep, *, kernel_is_given: bool
) -> tuple[Variations, list[Problem]]:
    """Return the variations of a study with these points, and what is wrong with them."""
    document, names, points = sweep.document, sweep.parameters, sweep.points
    written, problems = _alternatives(study, sweep)
    ruled_out = [entry for entry in written if kernel_is_given and entry.names_kernel()]
    written = [entry for entry in written if entry not in ruled_out]
    places, unknown = places_of([entry.overrides for entry in written], document)
    if problems or unknown:
        return Variations(), [*problems, *unknown]
    swept = {parameter.path for parameter in names}
    more = parameters_at({p: loc for p, loc in places.items() if p not in swept}, names)
    index = {frozenset(point.values.items()): i for i, point in enumerate(points)}
    own: list[Point] = []
    found: list[Variation] = []
    for entry in written:
        becomes: list[int] = []
        settings: dict[str, PointValue] = {}
        for base in (points[i] for i in entry.of):
            point, wrong = _moved(entry, base, (*names, *more), sweep.reported)
            problems += wrong
            if point is None:
                continue
            settings = {name: point.values[name] for name in _names(entry, (*names, *more))}
            values = frozenset(point.values.items())
            if values not in index:
                index[values] = len(points) + len(own)
                own.append(point)
            becomes.append(index[values])
        found.append(
            Variation(
                assumption=entry.assumption,
                settings=settings,
                words=_words(entry, document, _times_as_run(settings, entry, document)),
                of=entry.of,
                points=tuple(becomes),
            )
        )
    made = Variations(
        variations=tuple(found),
        ruled_out=tuple(_words(entry, document, {}) for entry in ruled_out),
        parameters=more,
        points=tuple(own),
    )
    return (Variations() if problems else made), problems


def _alternatives(study: StudyFile, sweep: Sweep) -> tuple[list[_Alternative], list[Problem]]:
    found: list[_Alternative] = []
    problems: list[Problem] = []
    for i, assumption in enumerate(study.assumptions):
        at: Loc = ("assumptions", i, "at")
        if "at" in assumption.model_fields_set and not assumption.alternatives:
            what = "nothing is varied here"
            problems.append(
                sweep.document.problem(at, what, wanted="the key 'alternatives' beside")
            )
        if not assumption.alternatives:
            continue
        covered, wrong = sweep.find_any(assumption.at, at)
        problems += wrong
        for j, settings in enumerate(assumption.alternatives):
            loc: Loc = ("assumptions", i, "alternatives", j)
            if not settings:
                problems.append(sweep.document.problem(loc, "empty", wanted="at least one setting"))
            overrides = point_overrides(settings, loc)
            found.append(
                _Alternative(assumption=assumption.id, loc=loc, overrides=overrides, of=covered)
            )
    return found, problems


def _moved(
    entry: _Alternative,
    base: Point,
    names: tuple[Parameter, ...],
    reported: Collection[Problem],
) -> tuple[Point | None, list[Problem]]:
    """Return a point of the study with an alternative's settings, and what is wrong there."""
    read, problems = read_point(entry.overrides, names, base.document, reported)
    if read is None:
        return None, problems
    problems += _same(entry, base, read, names)
    values = {**base.values, **read.values}
    return Point(values=values, settings=read.settings, document=read.document), problems


def _same(
    entry: _Alternative, base: Point, read: Point, names: tuple[Parameter, ...]
) -> Iterator[Problem]:
    by_path = {parameter.path: parameter for parameter in names}
    for override in entry.overrides:
        parameter = by_path[override.path]
        if getattr(base.settings, field_name_at(StudyFile, parameter.loc[:1])) is None:
            continue  # the study's own cannot be read, which is told of it
        if value_at(base.settings, parameter.loc) == read.values[parameter.name]:
            yield base.document.problem(
                override.source,
                "what the study has already",
                wanted="another value",
                hint=f"at {base.words()}; 'at' says where to vary" if base.values else "",
            )


def _names(entry: _Alternative, names: tuple[Parameter, ...]) -> list[str]:
    by_path = {parameter.path: parameter.name for parameter in names}
    return [by_path[override.path] for override in entry.overrides]


def _times_as_run(
    settings: Mapping[str, PointValue], entry: _Alternative, document: Document
) -> dict[str, str]:
    """Return the texts of an alternative's times, by path, where they differ from the written."""
    if document.scale == FULL:
        return {}
    return {
        override.path: units.format_time(value)
        for override, (name, value) in zip(entry.overrides, settings.items(), strict=False)
        if name.endswith("_s") and isinstance(value, float)
    }


def _words(entry: _Alternative, document: Document, as_run: Mapping[str, str]) -> str:
    """Return an alternative as people say it: ``bottleneck queue 20 packets``."""
    said = []
    for override in entry.overrides:
        parts = override.path.split(".")
        if len(parts) > 1 and parts[0] in ("network", "flows"):
            parts = parts[1:]
        written = document.texts.get(override.source, str(override.value))
        value = as_run.get(override.path, written)
        said.append(f"{' '.join(parts).replace('_', ' ')} {value}")
    return ", ".join(said)
