"""What points of the study and metrics are called in tables. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model.run_files.point import Point
from model.run_files.quantity import Quantity
from reports.inference.statistics import Estimate
from reports.measures.metrics import Metric
from reports.measures.quantities import (
    called,
    interval,
    named,
    number,
    setting,
    setting_label,
    typographic,
)
from reports.verdict.summary import Summary


def settings_of(point: Point, summary: Summary) -> tuple[str, ...]:
    """Return the settings a point is named by, with units, in the order of the study."""
    settings = point.as_dict()
    return tuple(called(p, settings[p.name]) for p in named(summary.parameters))


def setting_heads(summary: Summary) -> tuple[str, ...]:
    """Return the heads of the settings' columns."""
    return tuple(setting_label(parameter.path) for parameter in named(summary.parameters))


def place_head(summary: Summary) -> str:
    """Return the head of a column of points."""
    return "; ".join(setting_heads(summary)) or "Point"


def place_of(point: Point, summary: Summary) -> str:
    """Return a point of the study or of a variation, whose own settings are named."""
    ours = any(point == one.point for one in summary.points)
    swept = {one.name for one in (summary.parameters if ours else named(summary.parameters))}
    more = (f"{name} {setting(name, value)}" for name, value in point.settings if name not in swept)
    return ", ".join((*settings_of(point, summary), *more)) or "All"


def shared_settings(points: Sequence[Point], summary: Summary) -> str:
    """Return the settings that several points share, in words; all their own if it is one."""
    settings = dict(set.intersection(*(set(point.settings) for point in points)))
    shared = [one for one in summary.parameters if one.name in settings]
    words = [called(one, settings[one.name]) for one in named(shared)]
    return ", ".join(words) or "All"


def in_unit(metric: Metric) -> str:
    """Return what a table of a metric is of: ``Goodput in kbit/s``."""
    unit = metric.quantity.unit
    return f"{metric.label} in {unit}" if unit else metric.label


def with_unit(metric: Metric) -> str:
    """Return a metric's label with its unit."""
    unit = metric.quantity.unit
    return f"{metric.label} ({unit})" if unit else metric.label


def estimated(found: Estimate | None, quantity: Quantity) -> str:
    """Return an estimate with its interval in brackets, if it has one; a dash for null."""
    text = number(found.mean if found else None, quantity)
    if found and found.ci95:
        text += f" ({interval(found.ci95, quantity)})"
    return typographic(text)


def reasons(found: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """Return each reason in a sentence with the places it holds for."""
    places: dict[str, list[str]] = {}
    for place, reason in found:
        if reason:
            places.setdefault(reason, []).append(place)
    return tuple(f"{'; '.join(where)}: {reason}." for reason, where in places.items())
