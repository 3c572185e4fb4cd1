"""What readers call the points of a study: the labels of its swept settings.

Invariant: no two points of a study are called the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from model import units
from model.run_files.study import ValueLabel
from testbed.points.at_points import Sweep
from testbed.points.sweep import PointValue
from testbed.study.problems import Loc, Problem, one_of, suggestion
from testbed.study.study_form import StudyFile

#: A text with the value's place in it, or one for each value.
Label = str | tuple[ValueLabel, ...]


def read_labels(study: StudyFile, sweep: Sweep) -> tuple[dict[str, Label], list[Problem]]:
    """Return the labels by their settings' paths, and what is wrong with them."""
    found: dict[str, Label] = {}
    problems = [one for path in study.label for one in sweep.unswept([path], ("label", path))]
    if problems:
        return {}, problems
    for path, label in study.label.items():
        if isinstance(label, str):
            found[path] = label
            continue
        values = _written(study, path)
        loc: Loc = ("label", path)
        for text in label:
            if text not in values:
                problems.append(
                    sweep.document.problem(
                        (*loc, text), "not a value of the sweep", wanted=one_of(values), got=text,
                        hint=suggestion(text, values),
                    )
                )  # fmt: skip
        missing = [text for text in values if text not in label]
        if missing:
            problems.append(
                sweep.document.problem(loc, "values without a label", got=", ".join(missing))
            )
        found[path] = tuple(
            ValueLabel(value=value, text=label[text])
            for text, written in values.items()
            if text in label and (value := _value(sweep, path, written)) is not None
        )
    return found, problems or _same_names(found, sweep)


def _written(study: StudyFile, path: str) -> dict[str, object]:
    """Return a setting's values as written, by their texts."""
    values = study.sweep.get(path) or [point[path] for point in study.points]
    return {units.shown(value).strip("'"): value for value in values}


def _value(sweep: Sweep, path: str, written: object) -> PointValue | None:
    point, _ = sweep.read({path: written}, ())
    return next(iter(point.values.values())) if point else None


def _same_names(labels: Mapping[str, Label], sweep: Sweep) -> list[Problem]:
    """Return which points labels do not tell apart."""
    first: dict[tuple[object, ...], str] = {}
    problems = []
    for point in sweep.points if labels else ():
        name = tuple(
            _told(labels[one.path], point.values[one.name])
            for one in sweep.parameters
            if one.path in labels
        )
        if name in first:
            problems.append(
                sweep.document.problem(
                    ("label",), "two points are called the same",
                    wanted="labels of settings that tell all points apart",
                    got=f"{first[name]}; {point.words()}",
                )
            )  # fmt: skip
        first.setdefault(name, point.words())
    return problems


def _told(label: Label, value: PointValue) -> object:
    """Return what tells values of a setting apart for readers."""
    if isinstance(label, str):
        return value
    return next((one.text for one in label if one.value == value), value)
