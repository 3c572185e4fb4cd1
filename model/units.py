"""Quantities with their unit, as people write them, to base units and back.

The only place that multiplies by 8, 1000 or 1e6. Inside the project everything is in base units:
bit/s, seconds, bytes, packets, fractions. Invariants: arithmetic is decimal, so ``0.8 %`` is
exactly ``0.008``; nothing is rounded silently: a value finer than its kind can hold is an error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, InvalidOperation

from model.errors import StudyError

NS_PER_S = 1_000_000_000
BITS_PER_BYTE = 8
MM_PER_M = 1000

#: Numbers are limited to 18 digits either side of the point, so 60 digits hold every product.
_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])
_QUANTITY = re.compile(r"([+-]?)([0-9]{1,18}(?:\.[0-9]{1,18})?)[ ]*([^0-9\s+.,-][^\s]*)")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_SHOWN_CHARACTERS = 40


class UnitError(StudyError, ValueError):
    """A text that is not a quantity of the wanted kind; what, wanted, got and hint are set."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of quantity: its units as factors to the base unit, and the finest step it holds."""

    name: str
    example: str
    units: Mapping[str, Decimal]
    step: Decimal
    step_text: str
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def wanted(self) -> str:
        """Return what a message wants: the kind and an example."""
        return f"{self.name} such as '{self.example}'"


def _factors(**factors: str) -> dict[str, Decimal]:
    return {unit: Decimal(factor) for unit, factor in factors.items()}


RATE = Kind(
    name="a rate",
    example="10 Mbit/s",
    units={f"{prefix}bit/s": Decimal(f) for prefix, f in
           (("", "1"), ("k", "1e3"), ("M", "1e6"), ("G", "1e9"))},
    step=Decimal(1),
    step_text="whole bit/s",
    hints={
        "bps": "did you mean bit/s?", "kbps": "did you mean kbit/s?",
        "Mbps": "did you mean Mbit/s?", "Gbps": "did you mean Gbit/s?",
        "mbit/s": "did you mean Mbit/s? m is milli", "B/s": "rates are in bits: 1 B/s is 8 bit/s",
        "kB/s": "rates are in bits: 1 kB/s is 8 kbit/s",
        "MB/s": "rates are in bits: 1 MB/s is 8 Mbit/s",
    },
)  # fmt: skip
TIME = Kind(
    name="a time",
    example="250 ms",
    units=_factors(ns="1e-9", us="1e-6", ms="1e-3", s="1", min="60"),
    step=Decimal("1e-9"),
    step_text="whole nanoseconds",
    hints={"m": "write min for minutes, ms for milliseconds", "µs": "write us", "μs": "write us",
           "sec": "write s", "seconds": "write s", "msec": "write ms"},
)  # fmt: skip
SIZE = Kind(
    name="a size",
    example="1448 bytes",
    units={**_factors(byte="1", bytes="1", B="1", kB="1000", MB="1000000"),
           **_factors(KiB="1024", MiB="1048576")},
    step=Decimal(1),
    step_text="whole bytes",
    hints={"KB": "ambiguous: write kB for 1000 bytes, KiB for 1024",
           "K": "ambiguous: write kB for 1000 bytes, KiB for 1024",
           "k": "ambiguous: write kB for 1000 bytes, KiB for 1024",
           "M": "ambiguous: write MB for 1000000 bytes, MiB for 1048576",
           "b": "sizes are in bytes: write B or bytes"},
)  # fmt: skip
PACKETS = Kind(
    name="a number of packets",
    example="10 packets",
    units=_factors(packet="1", packets="1"),
    step=Decimal(1),
    step_text="whole packets",
)
FRACTION = Kind(
    name="a percentage",
    example="0.8 %",
    units={"%": Decimal("0.01")},
    step=Decimal("1e-12"),
    step_text="steps of 1e-10 %",
)
LENGTH = Kind(
    name="a length",
    example="250 m",
    units=_factors(mm="1e-3", cm="1e-2", m="1", km="1e3"),
    step=Decimal("1e-3"),
    step_text="whole millimetres",
    hints={"metre": "write m", "metres": "write m", "meter": "write m", "meters": "write m",
           "M": "did you mean m?", "KM": "did you mean km?", "ms": "lengths are in metres: write m",
           "ft": "lengths are in metres: 1 ft is 0.3048 m"},
)  # fmt: skip
SPEED = Kind(
    name="a speed",
    example="20 m/s",
    units={"m/s": Decimal(1)},
    step=Decimal("1e-3"),
    step_text="whole millimetres per second",
    hints={"mps": "did you mean m/s?", "ms": "did you mean m/s?", "m": "write m/s",
           "mph": "write m/s: 100 mph are 44.704 m/s", "km/h": "write m/s: 36 km/h are 10 m/s",
           "kmh": "write m/s: 36 km/h are 10 m/s", "kph": "write m/s: 36 km/h are 10 m/s"},
)  # fmt: skip


def shown(value: object) -> str:
    """Return a value from a study file as messages show it, at most 40 characters of it."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, tuple | list):
        return "a list" if value else "an empty list"
    text = str(value)
    text = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return repr(text) if isinstance(value, str) else text


def parse(
    text: object, kind: Kind, *, more_than: str = "", at_least: str = "", at_most: str = ""
) -> Decimal:
    """Return a quantity in its base unit, exactly.

    The bounds are quantities of the same kind ("0 s", "100 %"); an empty one does not bound.

    Raises:
        UnitError: no unit, unknown unit, finer than the kind's step, or out of bounds.
    """
    number, unit = _split(text, kind)
    factor = kind.units.get(unit)
    if factor is None:
        raise UnitError(
            f"unknown unit '{unit[:_SHOWN_CHARACTERS]}'",
            wanted=kind.wanted,
            got=shown(text),
            hint=_unit_hint(unit, kind),
        )
    value = _EXACT.plus(_EXACT.multiply(number, factor))  # plus: -0 becomes 0
    if value < 0:
        raise UnitError("negative", wanted=kind.wanted, got=shown(text))
    if _EXACT.remainder(value, kind.step):
        raise UnitError(f"not {kind.step_text}", wanted=kind.wanted, got=shown(text))
    _check_bounds(text, value, kind, more_than=more_than, at_least=at_least, at_most=at_most)
    return value


def _split(text: object, kind: Kind) -> tuple[Decimal, str]:
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise _no_unit(text, kind)
    if not isinstance(text, str):
        raise UnitError("wrong kind", wanted=kind.wanted, got=shown(text))
    match = _QUANTITY.fullmatch(text.strip(" "))
    if match:
        return Decimal(match[1] + match[2]), match[3]
    if _NUMBER.fullmatch(text.strip(" ")):
        raise _no_unit(text, kind)
    raise UnitError(f"not {kind.name}", wanted=kind.wanted, got=shown(text))


def _no_unit(text: object, kind: Kind) -> UnitError:
    hint = "a fraction is written in percent" if kind is FRACTION else ""
    return UnitError("no unit", wanted=kind.wanted, got=shown(text), hint=hint)


def _unit_hint(unit: str, kind: Kind) -> str:
    if unit in kind.hints:
        return kind.hints[unit]
    near = difflib.get_close_matches(unit, kind.units, n=1)
    return f"did you mean {near[0]}?" if near else f"known units: {', '.join(kind.units)}"


def _check_bounds(
    text: object, value: Decimal, kind: Kind, *, more_than: str, at_least: str, at_most: str
) -> None:
    if more_than and value <= parse(more_than, kind):
        raise UnitError("out of range", wanted=f"more than {more_than}", got=shown(text))
    if at_least and value < parse(at_least, kind):
        raise UnitError("out of range", wanted=f"at least {at_least}", got=shown(text))
    if at_most and value > parse(at_most, kind):
        raise UnitError("out of range", wanted=f"at most {at_most}", got=shown(text))


def parse_rate_bps(text: object, *, more_than: str = "", at_most: str = "") -> int:
    """Return ``"10 Mbit/s"`` in bit/s; raise :class:`UnitError`."""
    return int(parse(text, RATE, more_than=more_than, at_most=at_most))


def parse_time_s(
    text: object, *, more_than: str = "", at_least: str = "", at_most: str = ""
) -> float:
    """Return ``"250 ms"`` in seconds; raise :class:`UnitError`."""
    return float(parse(text, TIME, more_than=more_than, at_least=at_least, at_most=at_most))


def parse_size_bytes(text: object, *, at_least: str = "", at_most: str = "") -> int:
    """Return ``"1448 bytes"`` in bytes; raise :class:`UnitError`."""
    return int(parse(text, SIZE, at_least=at_least, at_most=at_most))


def parse_count_pkts(text: object, *, at_least: str = "", at_most: str = "") -> int:
    """Return ``"10 packets"`` as a count; raise :class:`UnitError`."""
    return int(parse(text, PACKETS, at_least=at_least, at_most=at_most))


def parse_frac(text: object, *, at_most: str = "") -> float:
    """Return ``"0.8 %"`` as a fraction; raise :class:`UnitError`."""
    return float(parse(text, FRACTION, at_most=at_most))


def parse_length_m(text: object, *, more_than: str = "", at_most: str = "") -> float:
    """Return ``"250 m"`` in metres; raise :class:`UnitError`."""
    return float(parse(text, LENGTH, more_than=more_than, at_most=at_most))


def parse_speed_mps(text: object, *, at_least: str = "", at_most: str = "") -> float:
    """Return ``"20 m/s"`` in metres per second; raise :class:`UnitError`."""
    return float(parse(text, SPEED, at_least=at_least, at_most=at_most))


def _plain(value: Decimal, digits: int) -> str:
    """Return a decimal without exponent or trailing zeros, to so many significant digits."""
    rounded = Context(prec=digits).plus(value)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format(value: float, kind: Kind, units: tuple[str, ...], digits: int) -> str:
    exact = Decimal(str(value))
    unit = units[0]
    for candidate in units:
        if abs(exact) >= kind.units[candidate]:
            unit = candidate
    return f"{_plain(exact / kind.units[unit], digits)} {unit}"


def format_rate(rate_bps: float, *, digits: int = 12) -> str:
    """Return a rate in the unit that keeps it short: ``"10 Mbit/s"``."""
    return _format(rate_bps, RATE, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"), digits)


def format_time(time_s: float, *, digits: int = 12) -> str:
    """Return a time in the unit that keeps it short: ``"250 ms"``, ``"1000 s"``."""
    units = ("s",) if time_s == 0 else ("ns", "us", "ms", "s")
    return _format(time_s, TIME, units, digits)


def format_size(size_bytes: float, *, digits: int = 12) -> str:
    """Return a size in bytes; only round multiples of 1024 become KiB or MiB."""
    for unit in ("MiB", "KiB"):
        if size_bytes and size_bytes % float(SIZE.units[unit]) == 0:
            return f"{_plain(Decimal(str(size_bytes)) / SIZE.units[unit], digits)} {unit}"
    return f"{_plain(Decimal(str(size_bytes)), digits)} byte{'s' if size_bytes != 1 else ''}"


def format_packets(count_pkts: float, *, digits: int = 12) -> str:
    """Return a number of packets: ``"10 packets"``."""
    return f"{_plain(Decimal(str(count_pkts)), digits)} packet{'s' if count_pkts != 1 else ''}"


def format_frac(value_frac: float, *, digits: int = 12) -> str:
    """Return a fraction in percent: ``"0.8 %"``."""
    return f"{_plain(Decimal(str(value_frac)) * 100, digits)} %"


def format_length(length_m: float, *, digits: int = 12) -> str:
    """Return a length in metres: ``"250 m"``."""
    return f"{_plain(Decimal(str(length_m)), digits)} m"


def format_speed(speed_mps: float, *, digits: int = 12) -> str:
    """Return a speed: ``"20 m/s"``."""
    return f"{_plain(Decimal(str(speed_mps)), digits)} m/s"


def metres_to_mm(length_m: float) -> int:
    """Return the nearest whole millimetre (a parsed length is one)."""
    return round(length_m * MM_PER_M)


def seconds_to_ns(time_s: float) -> int:
    """Return the nearest whole nanosecond (a parsed time is one; a sum of floats nearly)."""
    return int((Decimal(str(time_s)) * NS_PER_S).to_integral_value())


def ns_to_seconds(time_ns: int) -> float:
    """Return nanoseconds in seconds."""
    return float(Decimal(time_ns) / NS_PER_S)


def bits(size_bytes: float) -> float:
    """Return bytes in bits."""
    return size_bytes * BITS_PER_BYTE


def bytes_in_flight(rate_bps: float, time_s: float) -> float:
    """Return the bytes a rate moves in a time: with a round trip, the bandwidth-delay product."""
    return rate_bps * time_s / BITS_PER_BYTE


def average_rate_bps(size_bytes: float, time_s: float) -> float:
    """Return the average rate at which so many bytes pass in so much time."""
    return size_bytes * BITS_PER_BYTE / time_s
