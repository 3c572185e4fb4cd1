"""The axes of what is drawn along a sweep. Pure.

x has numbers if one number is swept, else a tick per point; y shows no value that cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from model.run_files.point import Point
from model.run_files.study import Parameter
from reports.measures.quantities import (
    called,
    named,
    setting_label,
    setting_number,
    setting_quantity,
)
from reports.verdict.limits import limits_of

#: An axis begins at the least value there can be where the values come this near to it.
_NEAR = 0.15


@dataclass(frozen=True)
class Axis:
    """Where points stand: at the number that is swept, or at a tick of their own."""

    title: str
    numeric: bool
    parameters: tuple[Parameter, ...]
    ticks: tuple[str, ...]

    def place(self, point: Point) -> float | str:
        """Return where a point stands."""
        settings = point.as_dict()
        if self.numeric:
            (one,) = self.parameters
            return setting_number(one.name, float(settings[one.name]))
        return _words(point, self.parameters)

    def x(self) -> alt.X:
        """Return the axis, for data whose column ``x`` has places."""
        if self.numeric:
            return alt.X("x:Q", title=self.title, scale=alt.Scale(zero=False, padding=14))
        ticks = list(dict.fromkeys(self.ticks))
        return alt.X("x:N", title=self.title, sort=ticks, axis=alt.Axis(labelAngle=-30))


def axis_of(parameters: tuple[Parameter, ...], points: Sequence[Point]) -> Axis:
    """Return the axis of a sweep's points."""
    numeric = len(parameters) == 1 and all(
        not isinstance(point.as_dict()[parameters[0].name], str) for point in points
    )
    parameters = named(parameters)
    titles = [setting_label(parameter.path) for parameter in parameters]
    if numeric and setting_quantity(parameters[0].name).unit:
        titles = [f"{titles[0]} ({setting_quantity(parameters[0].name).unit})"]
    return Axis(
        title="; ".join([*titles[:1], *(f"{t[:1].lower()}{t[1:]}" for t in titles[1:])]) or "Point",
        numeric=numeric,
        parameters=parameters,
        ticks=tuple(_words(point, parameters) for point in points),
    )


def _words(point: Point, parameters: tuple[Parameter, ...]) -> str:
    settings = point.as_dict()
    return ", ".join(called(one, settings[one.name]) for one in parameters) or "as published"


def y_scale(metric: str, lowest: float, highest: float) -> alt.Scale:
    """Return the scale of a metric's values, ends of intervals included, between these two."""
    if limits_of(metric).low == 0 and lowest <= _NEAR * highest:
        return alt.Scale(zero=True, nice=True)
    return alt.Scale(zero=False, nice=True, padding=6)
