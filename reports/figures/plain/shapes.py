"""Shapes of small pictures, as SVG: lines, marks, words. Pure.

Invariants: every text is escaped; colours are names of the page's style, so a picture follows its
scheme. Places are pixels of the picture's own, to a tenth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from markupsafe import Markup

#: What a mark is: a published value, a kernel's, one that is far from published, one not judged.
Mark = Literal["published", "kernel", "outside", "unjudged"]
#: Which part of a text stands at its place.
Anchor = Literal["start", "middle", "end"]
#: About how wide a letter of the small text is.
LETTER_PX = 5.6

_TEXT = Markup('<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>')
_LINE = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>')
_PATH = Markup('<path d="{}" class="mark {}"><title>{}</title></path>')
_CIRCLE = Markup('<circle cx="{}" cy="{}" r="{}" class="mark {}"><title>{}</title></circle>')
_PICTURE = Markup('<svg class="plain" role="img" aria-label="{}" viewBox="0 0 {} {}">{}</svg>')
_RADIUS_PX = 4.0


def picture(label: str, width: float, height: float, parts: Iterable[Markup]) -> Markup:
    """Return a picture with a name, as wide as its place."""
    return _PICTURE.format(label, _places(width), _places(height), Markup("").join(parts))


def words(x: float, y: float, text: str, look: str = "", anchor: Anchor = "start") -> Markup:
    """Return a line of text."""
    return _TEXT.format(_places(x), _places(y), look, anchor, text)


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Markup:
    """Return a straight line."""
    return _LINE.format(_places(x1), _places(y1), _places(x2), _places(y2), look)


def mark(kind: Mark, x: float, y: float, told: str, size: float = _RADIUS_PX) -> Markup:
    """Return a mark; ``told`` is what a pointer on it reads."""
    if kind in ("kernel", "unjudged"):
        return _CIRCLE.format(_places(x), _places(y), _places(size), kind, told)
    far = size * 1.25
    corners = [(x, y - far), (x + far, y), (x, y + far), (x - far, y)]
    if kind == "outside":
        corners = [(x - size, y - size), (x + size, y - size),
                   (x + size, y + size), (x - size, y + size)]  # fmt: skip
    path = "M" + "L".join(f"{_places(one)},{_places(other)}" for one, other in corners) + "Z"
    return _PATH.format(path, kind, told)


def shortened(text: str, room_px: float) -> str:
    """Return as much of a text as has room; what is left out is marked."""
    most = int(room_px / LETTER_PX)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers between two, at most about so many."""
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _places(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
