"""Numbers as simulators write them, and what is said of those that are none. Pure.

Invariant: what is returned is finite, and so are sums and products of it; not-a-numbers and
infinities are refused, and so is what is larger than anything that was ever measured.
"""

from __future__ import annotations

import re

from model.errors import ParseError
from model.run_files.metrics.declared import Bounds

MOST_CHARACTERS, LARGEST = 400, 1e100
#: By how much of itself a whole may be exceeded: the rounding of what was printed.
ROUNDING = 1e-9
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,5})?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})*,\d+|[+-]?\d+,\d+", re.ASCII)
_NONE = {"nan", "-nan", "inf", "-inf", "+inf", "infinity", "-infinity", "na", "n/a", "null", "none"}


def number(text: str, where: str, what: str, *, least: float | None = None) -> float:
    """Return a number; raise :class:`ParseError` naming what it was to be.

    Args:
        text: as it stands in the file.
        where: file and line.
        what: what it is, such as ``column goodput``.
        least: the least it may be, if there is one.
    """
    text = text.strip()
    wanted = "a number" if least is None else f"a number of {least:g} or more"
    if len(text) > MOST_CHARACTERS or not _NUMBER.fullmatch(text):
        raise ParseError(f"{what} is no number", where=where, wanted=wanted,
                         got=repr(text[:60]) if text else "nothing", hint=_hint(text))  # fmt: skip
    value = float(text)
    if not abs(value) <= LARGEST:
        raise ParseError(f"{what} is too large", where=where, wanted=wanted, got=text[:60])
    if least is not None and value < least:
        raise ParseError(f"{what} is out of range", where=where, wanted=wanted, got=text[:60])
    return value


def whole(text: str, where: str, what: str, *, least: int = 0, most: int = (1 << 63) - 1) -> int:
    """Return a whole number; raise :class:`ParseError` naming what it was to be."""
    text = text.strip()
    if not re.fullmatch(r"-?\d{1,19}", text, re.ASCII) or not least <= int(text) <= most:
        raise ParseError(
            f"{what} is no such number", where=where, wanted=f"a whole number, {least} to {most}",
            got=repr(text[:60]) if text else "nothing",
        )  # fmt: skip
    return int(text)


def possible(value: float, bounds: Bounds, where: str, what: str) -> float:
    """Return a metric's value; raise :class:`ParseError` if nothing measured can be so.

    Args:
        value: in the metric's unit.
        bounds: what the metric can be.
        where: file and line.
        what: what it is, such as ``goodput_T_bps of column tcp``.
    """
    if bounds.least <= value <= bounds.most * (1 + ROUNDING):
        return value
    raise ParseError(f"{what} is impossible", where=where, wanted=bounds.words, got=f"{value:.6g}",
                     hint="is it that metric, in that unit?")  # fmt: skip


def _hint(text: str) -> str:
    if _COMMA.fullmatch(text):
        return "decimals are written with a point"
    if text.lower() in _NONE:
        return "leave out replicates that have no value, and say why beside the comparison"
    return ""
