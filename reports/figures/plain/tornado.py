"""How far each alternative of a study's assumptions moves the number a claim turns on. Pure.

A tornado: a bar from the number as assumed to the number with the alternative, the longest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reports.figures.plain.shapes import line, mark, picture, shortened, ticks, words
from reports.measures.quantities import typographic
from reports.verdict.limits import limits_of_comparison, within
from reports.verdict.sensitivity import TriedClaim
from reports.verdict.verdicts import Judged
from reports.verdict.words import Words

_WIDTH_PX, _NAMES_PX, _NUMBERS_PX, _ROW_PX = 720.0, 250.0, 150.0, 22.0
_TICKS = 5

Bounds = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number in the unit shown, with its interval; ``told`` has both in words."""

    value: float
    ci95: Bounds | None
    told: str


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What an alternative makes of the number; ``turned``: of the claim's verdict the opposite."""

    alternative: str
    number: Number
    turned: bool


@dataclass(frozen=True, kw_only=True)
class Tornado:
    """The number that a claim turns on as assumed, ``bounds`` that it must keep, and its bars."""

    claim: str
    what: str
    wanted: str
    base: Number
    bounds: tuple[float, ...]
    bars: tuple[Bar, ...]


def tornado(tried: Mapping[str, TriedClaim], namer: Words) -> Tornado | None:
    """Return what alternatives do to a claim; None if the runs as assumed have no number.

    Args:
        tried: the claim with each alternative, all tried at the same points, by its words.
        namer: what readers call metrics and settings.
    """
    assumed = next(iter(tried.values())).as_assumed
    decisive = assumed.decisive
    base = _number(decisive, namer) if decisive else None
    if decisive is None or base is None:
        return None
    # Both were judged at the same points, so they made the same comparisons.
    place = assumed.comparisons.index(decisive)
    bars = [
        Bar(alternative=name, number=number, turned=one.changes)
        for name, one in tried.items()
        if (number := _number(one.as_varied.comparisons[place], namer))
    ]
    one = decisive.comparison
    scale = namer.quantity(one).scale
    return Tornado(
        claim=assumed.text,
        what=decisive.what,
        wanted=decisive.wanted,
        base=base,
        bounds=tuple(end * scale for end in (one.low, one.high) if end is not None),
        bars=tuple(sorted(bars, key=lambda bar: -abs(bar.number.value - base.value))),
    )


def _number(judged: Judged, namer: Words) -> Number | None:
    found, one = judged.found, judged.comparison
    if found.estimate is None:
        return None
    scale, ci95 = namer.quantity(one).scale, found.ci95
    if ci95:
        ci95 = within(limits_of_comparison(one), ci95)
    return Number(
        value=found.estimate * scale,
        ci95=(ci95[0] * scale, ci95[1] * scale) if ci95 else None,
        told=typographic(judged.short),
    )


def drawn(found: Tornado) -> Markup:
    """Return the picture of a claim's bars."""
    low, high = _span(found)
    left, right = _NAMES_PX, _WIDTH_PX - _NUMBERS_PX

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    base = found.base
    foot = _ROW_PX * (len(found.bars) + 1) + 4
    parts = [line(x(bound), 2, x(bound), foot, "bound") for bound in found.bounds]
    parts.append(line(x(base.value), 2, x(base.value), foot, "zero"))
    rows = [("as assumed", base, False), *((b.alternative, b.number, b.turned) for b in found.bars)]
    for index, (name, number, turned) in enumerate(rows):
        y = _ROW_PX * index + 14
        parts.append(words(0, y + 4, shortened(name, left - 12), "" if index else "strong"))
        if index:
            parts.append(line(x(base.value), y, x(number.value), y, "swing"))
        if number.ci95:
            parts.append(line(x(number.ci95[0]), y, x(number.ci95[1]), y, "bar"))
        told = f"{name}: {number.told}"
        parts.append(mark("outside" if turned else "kernel", x(number.value), y, told, 3.2))
        parts.append(words(_WIDTH_PX, y + 4, number.told, "faint", "end"))
    parts.append(line(left, foot, right, foot, "axis"))
    for tick in ticks(low, high, _TICKS):
        parts.append(line(x(tick), foot, x(tick), foot + 4, "axis"))
        text = typographic(f"{tick:.10g}")
        parts.append(words(x(tick), foot + 16, text, "faint", "middle"))
    return picture(_label(found), _WIDTH_PX, foot + 22, parts)


def _span(found: Tornado) -> Bounds:
    """Return what the axis shows: every number, interval and bound, and a little more."""
    numbers = [found.base, *(bar.number for bar in found.bars)]
    ends = [one.value for one in numbers] + [*found.bounds]
    ends += [end for one in numbers for end in one.ci95 or ()]
    low, high = min(ends), max(ends)
    room = 0.04 * (high - low) or abs(high) * 0.1 or 1.0
    return low - room, high + room


def _label(found: Tornado) -> str:
    moved: Sequence[str] = [f"{bar.alternative}: {bar.number.told}" for bar in found.bars]
    return f"{found.claim} As assumed: {found.base.told}. {'; '.join(moved)}"
