"""How numbers are shown: scale, unit and digits by quantity. Pure; nothing here is ever stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from model.run_files.point import Point, Scalar
from model.run_files.quantity import Quantity
from model.run_files.study import Parameter

UNKNOWN = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
#: How many digits more an end of an interval has at most, to be told from zero.
MOST_DIGITS = 3


#: How settings are shown, by the unit at the end of their name.
SETTING_UNITS: dict[str, Quantity] = {
    "drop_data_pkts": Quantity("", 1, 0),  # numbers of packets, not how many
    "_frac": Quantity("%", 100, 6),
    "_bps": Quantity("Mbit/s", 1e-6, 6),
    "_mps": Quantity("m/s", 1, 6),
    "_mm": Quantity("m", 1e-3, 6),
    "_ms": Quantity("ms", 1, 0),
    "_s": Quantity("s", 1, 6),
    "_pkts": Quantity("packets", 1, 0),
    "_bytes": Quantity("bytes", 1, 0),
}
_PLAIN = Quantity("", 1, 6)
#: Rates below this are said in kbit/s.
_SMALL_BPS, _KBPS = 100_000, Quantity("kbit/s", 1e-3, 6)


def setting_quantity(name: str, value: float | None = None) -> Quantity:
    """Return how a setting of this name is shown; small rates, if the value is given, in kbit/s."""
    if name.endswith("_bps") and value is not None and 0 < value < _SMALL_BPS:
        return _KBPS
    for suffix, quantity in SETTING_UNITS.items():
        if name.endswith(suffix):
            return quantity
    return _PLAIN


def setting_number(name: str, value: float) -> float:
    """Return a setting's number in the unit it is shown in (0.008 of ``loss_frac`` is 0.8)."""
    return float(f"{value * setting_quantity(name).scale:.10g}")


def setting(name: str, value: float | int | str) -> str:
    """Return a setting with its unit: ``setting("loss_frac", 0.008)`` is ``0.8 %``."""
    if isinstance(value, str):
        return value
    quantity = setting_quantity(name, value)
    return f"{value * quantity.scale:.10g}{quantity.suffix}"


def setting_name(name: str) -> str:
    """Return a setting's name without the unit, which its shown value has: ``ack loss``."""
    units = (one for one in SETTING_UNITS if one.startswith("_"))
    return name.removesuffix(next(filter(name.endswith, units), "")).replace("_", " ")


def named(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the settings that points are named by: those with labels, all where none has one."""
    return tuple(one for one in parameters if one.label) or tuple(parameters)


def telling(
    settings: Sequence[Mapping[str, Scalar]], names: Sequence[str], chosen: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return few of these names that tell settings apart as all of them do, in their order.

    Those that are ``chosen`` are among them.
    """

    def told_apart(by: Sequence[str]) -> int:
        return len({tuple(one.get(name) for name in by) for one in settings})

    found, most = list(chosen), told_apart(names)
    while told_apart(found) < most:
        found.append(max(names, key=lambda name: told_apart([*found, name])))
    return tuple(name for name in names if name in found)


def called(parameter: Parameter, value: Scalar, plain: str = "{value}") -> str:
    """Return what readers call a setting at a value; ``plain`` is the label of one without."""
    label = parameter.label
    if isinstance(label, tuple):
        label = next((one.text for one in label if one.value == value), None)
    return (label or plain).replace("{value}", setting(parameter.name, value))


def point_words(point: Point, parameters: Sequence[Parameter]) -> str:
    """Return a point in words: ``loss 0.8 %``; ``the whole study`` if nothing is swept.

    It is named by the labels of settings, if there are any, and what it alone has besides.
    """
    values = point.as_dict()
    labelled = [one for one in parameters if one.label and one.name in values]
    hidden = [one.name for one in parameters] if labelled else []
    words = [called(one, values[one.name]) for one in labelled]
    words += [
        f"{setting_name(name)} {setting(name, at)}"
        for name, at in values.items()
        if name not in hidden
    ]
    return ", ".join(words) or "the whole study"


def setting_label(path: str) -> str:
    """Return words for a path in the study file: ``Bottleneck loss, data``."""
    if path.startswith("drops."):
        return f"Packets lost of {path.split('.')[1]}"
    parts = [part.replace("_", " ") for part in path.split(".") if part != "network"]
    words = f"{' '.join(parts[:-1])}, {parts[-1]}" if len(parts) > 2 else " ".join(parts)
    return words[:1].upper() + words[1:]


def number(value: float | None, quantity: Quantity) -> str:
    """Return a value as shown, without its unit; a dash for null."""
    if value is None:
        return UNKNOWN
    text = f"{value * quantity.scale:.{quantity.decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def with_unit(value: float | None, quantity: Quantity) -> str:
    """Return a value with its unit; a dash for null."""
    return UNKNOWN if value is None else f"{number(value, quantity)}{quantity.suffix}"


def with_interval(value: float | None, ci95: tuple[float, float] | None, quantity: Quantity) -> str:
    """Return a value with its unit and, where there is one, its interval."""
    text = with_unit(value, quantity)
    return text if ci95 is None else f"{text} ({interval(ci95, quantity)})"


def interval(bounds: tuple[float, float] | None, quantity: Quantity) -> str:
    """Return ``lo to hi`` as shown; a dash for null.

    One with zero inside shows that it has: an end that would be rounded to zero keeps a digit.
    """
    if bounds is None:
        return UNKNOWN
    low, high = (number(bound, quantity) for bound in bounds)
    if bounds[0] < 0 < bounds[1]:
        low, high = (
            _not_zero(bound, quantity) if float(text) == 0 else text
            for bound, text in zip(bounds, (low, high), strict=True)
        )
    return f"{low} to {high}"


def _not_zero(value: float, quantity: Quantity) -> str:
    """Return a value that would be shown as 0 with its first digit, unless that is far behind."""
    more = next(
        (digits for digits in range(1, MOST_DIGITS + 1)
         if round(abs(value) * quantity.scale, quantity.decimals + digits)), 0,
    )  # fmt: skip
    return number(value, replace(quantity, decimals=quantity.decimals + more))


def as_printed(value: Decimal | None, quantity: Quantity) -> str:
    """Return a published number with the digits of the paper; a dash if there is none."""
    if value is None:
        return UNKNOWN
    if quantity.scale == 1:
        return f"{value:f}"
    return f"{float(value) * quantity.scale:.10g}"


def typographic(text: str) -> str:
    """Return the text with minus signs for hyphens; for numbers and intervals only."""
    return text.replace("-", MINUS)


def difference(value: float | None, published: Decimal | None, quantity: Quantity) -> str:
    """Return value - published with its sign, as shown; a dash if either is not known."""
    if value is None or published is None:
        return UNKNOWN
    text = number(value - float(published), quantity)
    return text if text.startswith("-") else f"+{text}"
