"""Some points of a study alone: those that ``--at`` names, or that a claim needs. Pure.

Invariants: a point keeps its values and settings, so its cells are those it has in the whole study;
what needs a point that is left out keeps naming it, so that nothing is judged by the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Mapping, Sequence

from model import units
from model.errors import StudyError
from testbed.points.at_points import Sweep
from testbed.points.load_study import Study
from testbed.points.sweep import Parameter, Point, PointValue
from testbed.points.variations import Variation, Variations
from testbed.study.problems import one_of, suggestion
from testbed.study.study_form import StudyFile
from testbed.study.yaml_document import parse_document


def only_at(study: Study, asked: Sequence[str]) -> Study:
    """Return the study at some of its points: those that all settings in ``asked`` are of.

    Each is ``SETTING=VALUE`` or ``SETTING=VALUE,VALUE``; a setting is called by its path, by any
    part of that or by its name in results. None at all: every point.

    Raises:
        StudyError: one of them names no swept setting or none of its values, or no point has all.
    """
    wanted: dict[str, set[PointValue]] = {}
    words: dict[str, list[str]] = {}
    for text in asked:
        called, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise StudyError(
                "not a setting and its value", where="--at", wanted="such as loss=1%", got=text
            )
        parameter = _swept(study, called.strip())
        for value in values.split(","):
            wanted.setdefault(parameter.name, set()).add(_value(study, parameter, value.strip()))
            words.setdefault(parameter.path, []).append("".join(value.split()))
    kept = [
        index
        for index, point in enumerate(study.points)
        if all(point.values[name] in values for name, values in wanted.items())
    ]
    if not kept:
        raise StudyError("no point of the study", where=_place(study), got=" ".join(asked))
    at = tuple(f"{path}={','.join(dict.fromkeys(values))}" for path, values in words.items())
    return dataclasses.replace(_kept(study, kept), at=at) if at else study


def only_of_claim(study: Study, id_: str) -> Study:
    """Return the study at the points that a claim needs, and at no other.

    Raises:
        StudyError: there is no such claim, none that can be judged, or not at the study's points.
    """
    check_claim(study.settings, id_)
    where = _of_claim(study.settings)
    index = [one.id for one in study.settings.claims].index(id_)
    ends = ((one.point, one.versus and one.versus[1]) for one in study.comparisons[index])
    needed = {place for pair in ends for place in pair if place is not None}
    if any(place >= len(study.points) for place in needed):
        raise StudyError(
            "this claim cannot be judged", where=where, wanted="all the points it needs",
            got=f"{id_} at {' '.join(study.at)}", hint="leave --at out",
        )  # fmt: skip
    return dataclasses.replace(_kept(study, sorted(needed)), of_claim=id_)


def check_claim(settings: StudyFile, id_: str) -> None:
    """Raise :class:`StudyError` unless a study has this claim, and it can be judged."""
    claims, where = settings.claims, _of_claim(settings)
    ids = [one.id for one in claims]
    if id_ not in ids:
        hint = suggestion(id_, ids)
        wanted = one_of(ids, hint) if ids else "a study with claims"
        raise StudyError(
            "no such claim", where=where, wanted=wanted, got=units.shown(id_), hint=hint
        )
    if why := claims[ids.index(id_)].untested:
        raise StudyError("this claim cannot be judged", where=where, got=f"{id_}: {why}")


def _of_claim(settings: StudyFile) -> str:
    return f"{settings.study}: --claim"


def _swept(study: Study, called: str) -> Parameter:
    """Return the swept setting of that name, or that has it in its path."""
    swept = study.parameters
    found = [one for one in swept if called in (one.path, one.name)]
    found = found or [one for one in swept if f".{called}." in f".{one.path}."]
    if len(found) == 1:
        return found[0]
    paths = [one.path for one in found or swept]
    raise StudyError(
        "several settings are called that" if found else "not swept",
        where=_place(study), got=units.shown(called),
        wanted=one_of(paths) if paths else "no such option: the study has one point",
        hint="" if found else suggestion(called, [p for path in paths for p in path.split(".")]),
    )  # fmt: skip


def _place(study: Study) -> str:
    return f"{study.settings.study}: --at"


def _value(study: Study, parameter: Parameter, text: str) -> PointValue:
    """Return a value of a swept setting as points have it; it may be written in another unit."""
    sweep = Sweep(
        document=study.document, parameters=study.parameters, points=study.points, reported=()
    )
    values = {point.values[parameter.name] for point in study.points}
    typed: list[object] = []
    with contextlib.suppress(StudyError):
        typed.append(parse_document(f"a: {text}", "").data.get("a"))
    for value in (*typed, text):  # a kernel is a text that looks like a number
        point, _ = sweep.read({parameter.path: value}, ())
        if point is not None and point.values[parameter.name] in values:
            return point.values[parameter.name]
    written = study.settings.sweep.get(parameter.path) or tuple(
        dict.fromkeys(point[parameter.path] for point in study.settings.points)
    )
    raise StudyError(
        "not a value of the sweep", where=f"{_place(study)} {parameter.path}",
        wanted=one_of(units.shown(value).strip("'") for value in written), got=text,
    )  # fmt: skip


def _kept(study: Study, kept: Sequence[int]) -> Study:
    """Return the study with these points, the others behind them as left out."""
    every = (*study.points, *study.left_out)
    gone = [index for index in range(len(every)) if index not in kept]
    place = {old: new for new, old in enumerate((*kept, *gone))}

    def here(indexes: Sequence[int]) -> tuple[int, ...]:
        return tuple(place[index] for index in indexes if index in kept)

    return dataclasses.replace(
        study,
        points=tuple(every[index] for index in kept),
        left_out=tuple(every[index] for index in gone),
        published_points=tuple(map(here, study.published_points)),
        figure_points=tuple(map(here, study.figure_points)),
        episode_points=tuple(map(here, study.episode_points)),
        explanation_points=tuple(map(here, study.explanation_points)),
        capture_points=tuple(place[index] for index in study.capture_points),
        comparisons=tuple(
            tuple(
                dataclasses.replace(
                    one,
                    point=place[one.point],
                    versus=one.versus and (one.versus[0], place[one.versus[1]]),
                )
                for one in comparisons
            )
            for comparisons in study.comparisons
        ),
        alternatives=_variations(study, {index: place[index] for index in kept}),
    )


def without_variations(study: Study, refused: Collection[int]) -> Study:
    """Return the study without some of its variations, by index; they are named as ruled out."""
    kept = tuple(one for i, one in enumerate(study.variations) if i not in refused)
    gone = tuple(study.variations[i].words for i in refused)
    fewer = dataclasses.replace(
        study.alternatives, variations=kept, ruled_out=(*study.alternatives.ruled_out, *gone)
    )
    left = dataclasses.replace(study, alternatives=fewer)
    places = {index: index for index in range(len(study.points))}
    return dataclasses.replace(left, alternatives=_variations(left, places))


def _variations(study: Study, place: Mapping[int, int]) -> Variations:
    """Return the variations of the points in ``place``, which says where these are now.

    A point that is left out and that an alternative turns another into is the alternative's own.
    """
    every = study.all_points
    own: dict[int, Point] = {}
    found: list[Variation] = []
    for one in study.variations:
        pairs = [(of, to) for of, to in zip(one.of, one.points, strict=True) if of in place]
        own |= {to: every[to] for _, to in pairs if to not in place}
        found.append(
            dataclasses.replace(
                one, of=tuple(of for of, _ in pairs), points=tuple(to for _, to in pairs)
            )
        )
    now = {**place, **{old: len(place) + new for new, old in enumerate(sorted(own))}}
    return dataclasses.replace(
        study.alternatives,
        variations=tuple(
            dataclasses.replace(
                one,
                of=tuple(now[index] for index in one.of),
                points=tuple(now[index] for index in one.points),
            )
            for one in found
            if one.of
        ),
        points=tuple(own[index] for index in sorted(own)),
    )
