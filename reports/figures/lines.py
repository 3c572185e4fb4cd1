"""Which points of a study with several swept settings are lines along one of them. Pure.

Invariants: a line's points differ in that setting alone; a point that is on no line stands by
itself beside the lines it shares most settings with, so that no point is on no chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.run_files.point import Point, Scalar
from model.run_files.study import Parameter
from reports.measures.quantities import called, setting_name, telling

#: More lines than there are looks that are easily told apart say nothing.
MOST_LINES = 8


@dataclass(frozen=True)
class Lines:
    """Points along a setting, each line's in the order of its values, and what they are called.

    ``shared`` are the values of what else is swept that all of these points have, in words.
    """

    parameter: Parameter
    lines: tuple[tuple[str, tuple[Point, ...]], ...]
    shared: str

    def place(self, point: Point) -> float:
        """Return the value of the setting at a point."""
        return float(point.as_dict()[self.parameter.name])


def lines_of(parameters: Sequence[Parameter], points: Sequence[Point]) -> tuple[Lines, ...]:
    """Return the charts of lines that hold all points, in the order of the study's settings.

    None where one setting is swept, where no two points differ in one number alone, where a point
    has a word where lines have numbers, and where they would be more than :data:`MOST_LINES`.
    """
    found: list[tuple[Parameter, list[list[Point]]]] = []
    if len(parameters) > 1:
        for one in parameters:
            groups = _groups(one.name, points)
            if groups:
                found.append((one, groups))
    on_lines = {point for _, groups in found for group in groups for point in group}
    for point in points:
        if point in on_lines:
            continue
        near = [
            (min(_apart(point, group[0], one.name) for group in groups), number)
            for number, (one, groups) in enumerate(found)
            if not isinstance(point.as_dict().get(one.name, ""), str)
        ]
        if not near:
            return ()
        found[min(near)[1]][1].append([point])
    if any(len(groups) > MOST_LINES for _, groups in found):
        return ()
    return tuple(_named(one, groups, parameters) for one, groups in found)


def _groups(name: str, points: Sequence[Point]) -> list[list[Point]]:
    """Return the points, two at least, that differ in a number alone, by its value."""
    groups: dict[tuple[tuple[str, Scalar], ...], list[Point]] = {}
    for point in points:
        values = point.as_dict()
        value = values.get(name, "")
        if not isinstance(value, str | bool):
            rest = tuple(sorted((key, at) for key, at in values.items() if key != name))
            groups.setdefault(rest, []).append(point)
    lines = [group for group in groups.values() if len(group) > 1]
    return [sorted(group, key=lambda point: float(point.as_dict()[name])) for group in lines]


def _apart(one: Point, other: Point, but: str) -> int:
    """Return in how many settings two points differ, one setting aside."""
    here, there = one.as_dict(), other.as_dict()
    return sum(here.get(name) != there.get(name) for name in {*here, *there} - {but})


def _named(
    along: Parameter, groups: Sequence[Sequence[Point]], parameters: Sequence[Parameter]
) -> Lines:
    rest = [one for one in parameters if one.name != along.name]
    firsts = [group[0].as_dict() for group in groups]
    chosen = telling(firsts, [one.name for one in rest])
    shared = [one.name for one in rest if len({values.get(one.name) for values in firsts}) == 1]

    def words(values: dict[str, Scalar], of: Sequence[str]) -> str:
        return ", ".join(
            _word(one, values[one.name]) for one in rest if one.name in of and one.name in values
        )

    names = [words(values, chosen) for values in firsts]
    return Lines(
        parameter=along,
        lines=tuple((name, tuple(group)) for name, group in zip(names, groups, strict=True)),
        shared=words(firsts[0], shared),
    )


def _word(one: Parameter, value: Scalar) -> str:
    """Return a setting's label, or its name and value."""
    return called(one, value, f"{setting_name(one.name)} {{value}}")
