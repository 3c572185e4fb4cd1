"""Where in a study a file, a run or a row belongs: its point and its replicate. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from model import units
from model.errors import ParseError
from model.run_files.comparing.brought import KnownPoint, ResultsMapping, Setting, Span
from model.run_files.point import Point, Scalar

#: Gives the text of a named part; None: there is none.
Lookup = Callable[[str], str | None]
#: What settings are written as, one after the other.
Texts = tuple[str | None, ...]
#: What a setting's value is, by the unit that its name ends in.
KINDS = {
    "bps": units.RATE, "s": units.TIME, "bytes": units.SIZE, "pkts": units.PACKETS,
    "frac": units.FRACTION,
}  # fmt: skip
#: Two numbers that are the same setting, written with other digits.
SAME = 1e-9
#: A simulation in whose last part of the counted time, so large, there is no packet may be shorter.
SILENT_FRAC = 0.05
MOST_NAMED, MOST_REPLICATE = 8, 200


def ended_early(where: str, last_s: float, span: Span) -> tuple[str, ...]:
    """Return what is to be told of a file whose packets end long before what is counted does."""
    if span.to_s - last_s <= SILENT_FRAC * span.length_s:
        return ()
    told = f"its last packet is at {last_s:g} s, and goodput is counted to {span.to_s:g} s"
    return (f"{where}: {told}: was less simulated?",)


class Places:
    """The points of a study, found by the texts of settings."""

    def __init__(self, mapping: ResultsMapping, points: Sequence[KnownPoint]) -> None:
        self._mapping, self._points = mapping, points
        self._at = {one.point: one for one in points}
        self._spans = {one.span for one in points}
        self._found: dict[Texts, KnownPoint] = {}

    def find(self, lookup: Lookup, where: str) -> KnownPoint:
        """Return the point; raise :class:`ParseError` if it is none of the study's."""
        texts = tuple(one.part and lookup(one.part) for one in self._mapping.settings)
        if texts not in self._found:
            self._found[texts] = self._sought(lookup, where)
        return self._found[texts]

    def _sought(self, lookup: Lookup, where: str) -> KnownPoint:
        settings = {one.name: self._value(one, lookup, where) for one in self._mapping.settings}
        exact = self._at.get(Point.of(settings))
        if exact is not None:
            return exact
        found = [one for one in self._points if _is_at(one.point, settings)]
        if len(found) != 1:
            known = [_words(one.point) for one in self._points]
            more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
            raise ParseError(
                "no point of the run" if not found else "more than one point of the run",
                where=where, got=", ".join(f"{name} {value}" for name, value in settings.items())
                or "no setting", wanted=f"{'; '.join(known[:MOST_NAMED])}{more}",
                hint=f"points: in {self._mapping.where}",
            )  # fmt: skip
        return found[0]

    def span(self, lookup: Lookup, where: str) -> Span:
        """Return what is counted of a file before its points are known: the same at all of them."""
        return next(iter(self._spans)) if len(self._spans) == 1 else self.find(lookup, where).span

    def totals_of(self, place: KnownPoint) -> Span:
        """Return what a simulator's totals are of: as the mapping says, or the whole run."""
        return self._mapping.counted or Span(from_s=0.0, to_s=place.duration_s)

    def at(self, point: Point) -> KnownPoint:
        """Return what is known of a point that was found."""
        return self._at[point]

    def replicate(self, lookup: Lookup, where: str) -> str:
        """Return the replicate's name; empty if the mapping does not say what tells replicates."""
        if not self._mapping.replicate:
            return ""
        text = lookup(self._mapping.replicate)
        if not text or len(text) > MOST_REPLICATE:
            raise ParseError(
                "no replicate", where=where, wanted=f"a text called {self._mapping.replicate!r}",
                got=repr((text or "")[:60]), hint=f"replicate: in {self._mapping.where}",
            )  # fmt: skip
        return text.strip()

    def _value(self, one: Setting, lookup: Lookup, where: str) -> Scalar:
        text = lookup(one.part) if one.part else one.text
        if text is None:
            raise ParseError(
                f"{one.name} is not told", where=where, wanted=f"a text called {one.part!r}",
                hint=f"points: in {self._mapping.where}",
            )  # fmt: skip
        return value_of(one.name, f"{text.strip()} {one.unit}".strip(), where)


def value_of(name: str, text: str, where: str) -> Scalar:
    """Return a setting's value in its base unit; what is no quantity is text, or a number."""
    kind = KINDS.get(name.rpartition("_")[2])
    if kind is None:
        return scalar(text)
    try:
        return float(units.parse(text, kind))
    except units.UnitError as error:
        raise ParseError(f"{name}: {error.what}", where=where, wanted=error.wanted,
                         got=error.got, hint=error.hint) from error  # fmt: skip


def same_setting(value: Scalar, text: str) -> bool:
    """Return whether a text in base units is a setting's value."""
    return value == text if isinstance(value, str) else _same(value, scalar(text))


def scalar(text: str) -> Scalar:
    """Return the number that a text is, or the text."""
    try:
        return float(text)
    except ValueError:
        return text


def _is_at(point: Point, settings: dict[str, Scalar]) -> bool:
    there = point.as_dict()
    return there.keys() == settings.keys() and all(
        _same(there[name], value) for name, value in settings.items()
    )


def _same(one: Scalar, other: Scalar) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return str(one) == str(other)
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def _words(point: Point) -> str:
    return ", ".join(f"{name} {value}" for name, value in point.settings) or "no setting"
