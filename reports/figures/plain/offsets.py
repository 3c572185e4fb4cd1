"""How far the kernel is from everything published, in per cent of it. Pure.

Two pictures of the same values: one row for each quantity, to be seen at once, and one row for each
value, with what its runs leave open (a forest plot). What is published as 0 has no per cent, and is
counted instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reports.figures.plain.shapes import (
    LETTER_PX,
    Anchor,
    Mark,
    line,
    mark,
    picture,
    shortened,
    words,
)
from reports.measures.metrics import Metric
from reports.measures.quantities import as_printed, number, typographic
from reports.verdict.limits import limits_of, within
from reports.verdict.points import MetricSummary
from reports.verdict.summary import Summary
from reports.verdict.words import Words

#: The axis ends at one of these, in per cent; what is further away stands at its end as an arrow.
_ENDS = (10.0, 20.0, 50.0, 100.0, 200.0)
#: The part of the values that the axis shows at least.
_SHOWN = 0.9
_MARKS: dict[bool | None, Mark] = {True: "kernel", False: "outside", None: "unjudged"}
_ROW_PX, _WIDE_PX = 31.0, 440.0
_FOREST_ROW_PX, _FOREST_PX, _NAMES_PX, _NUMBERS_PX = 18.0, 760.0, 240.0, 170.0


@dataclass(frozen=True, kw_only=True)
class Offset:
    """One published value: where, and the kernel's mean and intervals less it, in per cent of it.

    ``judged`` is whether one run of the kernel could be it; ``told`` has both numbers.
    """

    place: str
    told: str
    mean: float
    ci95: tuple[float, float] | None
    pi95: tuple[float, float] | None
    judged: bool | None


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """All published values of a metric; ``without`` is how many are published as 0."""

    name: str
    offsets: tuple[Offset, ...]
    without: int

    @property
    def counted(self) -> str:
        """How many of them could be one run of the kernel, in words."""
        judged = [one.judged for one in self.offsets if one.judged is not None]
        return f"{sum(judged)} of {len(judged)} inside" if judged else ""


def offsets(summary: Summary) -> tuple[Quantity, ...]:
    """Return every metric with published values that the kernel has a number for."""
    namer = Words(summary.metric_table(), summary.parameters)
    naming = namer.naming(point.point for point in summary.points)
    found = []
    for name, metric in summary.metric_table().items():
        pairs = [
            (point, one)
            for point in summary.points
            if (one := point.metrics.get(name)) and one.published is not None
            and one.estimate.mean is not None
        ]  # fmt: skip
        some = [
            _offset(namer.point(point.point, naming), metric, one)
            for point, one in pairs
            if one.published
        ]
        if some:
            left = len(pairs) - len(some)
            found.append(Quantity(name=metric.label, offsets=tuple(some), without=left))
    return tuple(found)


def _offset(place: str, metric: Metric, found: MetricSummary) -> Offset:
    published, quantity = float(found.published or 0), metric.quantity

    def per_cent(value: float) -> float:
        return 100 * (value - published) / abs(published)

    def apart(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
        if bounds is None:
            return None
        low, high = within(limits_of(metric.name), bounds)
        return per_cent(low), per_cent(high)

    mean = found.estimate.mean or 0.0
    printed, ours = as_printed(found.published, quantity), number(mean, quantity)
    return Offset(
        place=place or "all runs",
        told=typographic(f"{printed} \N{RIGHTWARDS ARROW} {ours}{quantity.suffix}"),
        mean=per_cent(mean),
        ci95=apart(found.estimate.ci95),
        pi95=apart(found.estimate.pi95),
        judged=found.published_in_pi95,
    )


def _end(found: Sequence[Quantity]) -> float:
    far = sorted(abs(one.mean) for part in found for one in part.offsets)
    wanted = far[min(len(far) - 1, int(_SHOWN * len(far)))]
    return next((end for end in _ENDS if end >= wanted), _ENDS[-1])


class _Axis:
    """Where a difference stands between two sides of a picture."""

    def __init__(self, end: float, left_px: float, right_px: float) -> None:
        self.end, self.left_px, self.right_px = end, left_px, right_px

    def x(self, per_cent: float) -> float:
        part = (max(-self.end, min(self.end, per_cent)) + self.end) / (2 * self.end)
        return self.left_px + part * (self.right_px - self.left_px)

    def frame(self, top_px: float, foot_px: float) -> list[Markup]:
        """Return the line of no difference, and the numbers below."""
        shown = [line(self.x(0), top_px, self.x(0), foot_px, "zero")]
        anchors: tuple[Anchor, ...] = ("start", "middle", "middle", "middle", "end")
        for part, anchor in zip((-1.0, -0.5, 0.0, 0.5, 1.0), anchors, strict=True):
            at = part * self.end
            text = typographic(f"{at:+g} %") if part else "as published"
            shown.append(line(self.x(at), foot_px, self.x(at), foot_px + 4, "axis"))
            shown.append(words(self.x(at), foot_px + 16, text, "faint", anchor))
        return [*shown, line(self.left_px, foot_px, self.right_px, foot_px, "axis")]

    def mark(self, one: Offset, y: float, told: str) -> list[Markup]:
        """Return the mark of a value; at the end of the axis one beyond it, with an arrow."""
        kind = _MARKS[one.judged]
        x = self.x(one.mean)
        if abs(one.mean) <= self.end:
            return [mark(kind, x, y, told)]
        inward = -1 if one.mean > 0 else 1
        arrow = "\N{RIGHTWARDS ARROW}" if one.mean > 0 else "\N{LEFTWARDS ARROW}"
        return [
            mark(kind, x + 12 * inward, y, told),
            words(x, y + 4, arrow, "faint", "end" if one.mean > 0 else "start"),
        ]

    def bar(self, bounds: tuple[float, float] | None, y: float, look: str) -> list[Markup]:
        """Return an interval's line, as far as the axis goes."""
        if bounds is None or bounds[0] > self.end or bounds[1] < -self.end:
            return []
        return [line(self.x(bounds[0]), y, self.x(bounds[1]), y, look)]


def overview(found: Sequence[Quantity], label: str) -> Markup:
    """Return the picture with one row for each quantity; there must be one."""
    axis = _Axis(_end(found), 8, _WIDE_PX - 8)
    foot = _ROW_PX * len(found) + 6
    parts = axis.frame(4, foot)
    for number_of, one in enumerate(found):
        y = _ROW_PX * number_of + 24
        room = _WIDE_PX - 12 - LETTER_PX * len(one.counted)
        parts += [
            words(8, y - 10, shortened(one.name, room)),
            words(_WIDE_PX - 8, y - 10, one.counted, "faint", "end"),
            line(8, y, _WIDE_PX - 8, y, "row"),
        ]
        for offset in one.offsets:
            parts += axis.mark(offset, y, f"{one.name}, {offset.place}: {offset.told}")
    return picture(label, _WIDE_PX, foot + 22, parts)


def forest(found: Sequence[Quantity], label: str) -> Markup:
    """Return the picture with one row for each published value, and its intervals."""
    axis = _Axis(_end(found), _NAMES_PX, _FOREST_PX - _NUMBERS_PX)
    y, parts = 0.0, []
    for one in found:
        y += _FOREST_ROW_PX + 6
        parts.append(words(0, y, one.name, "strong"))
        for offset in one.offsets:
            y += _FOREST_ROW_PX
            told = f"{one.name}, {offset.place}: {offset.told}"
            parts += [
                words(8, y, shortened(offset.place, _NAMES_PX - 16)),
                *axis.bar(offset.pi95, y - 4, "band"),
                *axis.bar(offset.ci95, y - 4, "bar"),
                *axis.mark(offset, y - 4, told),
                words(_FOREST_PX, y, offset.told, "faint", "end"),
            ]
    foot = y + 12
    return picture(label, _FOREST_PX, foot + 22, [*axis.frame(6, foot), *parts])
