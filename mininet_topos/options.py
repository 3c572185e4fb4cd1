"""The options of ``mn --topo NAME,option=value,…`` as the links of a network. Pure.

An option is a quantity of a link, with its unit in its name, behind the link and the way it is of:
``source_access_forward_rate_bps``. Left out, the way stands for both, and the link for all that
have no option of their own: ``access_rate_bps`` is of both sides, ``rate_bps`` of the bottleneck.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from model.links import Link

WAYS = ("forward", "reverse")
BURSTS = ("to_bad_frac", "to_good_frac", "loss_bad_frac", "loss_good_frac")
#: By quantity: least and most, and whether it is a whole number.
QUANTITIES: Mapping[str, tuple[float, float, bool]] = {
    "rate_bps": (1, math.inf, True),
    "queue_pkts": (1, math.inf, True),
    "owd_s": (0, math.inf, False),
    "channel_limit_pkts": (1, math.inf, True),
    **dict.fromkeys(("loss_frac", *BURSTS), (0, 1, False)),
}
NO_LOSS = dict.fromkeys(("loss_frac", *BURSTS), 0.0)
#: No option makes a buffer manage its queue.
DROP_TAIL = SimpleNamespace(kind="fifo", is_active=False)
#: What a link is like unless an option says otherwise.
BOTTLENECK = {"rate_bps": 3_000_000, "queue_pkts": 50, "owd_s": 0.05, **NO_LOSS}
ACCESS = {"rate_bps": 10_000_000, "queue_pkts": 100, "owd_s": 0.002, **NO_LOSS}
#: Where the options of a link are looked for, the first found before those after it.
SOURCE_ACCESS = ("source_access_", "access_")
DESTINATION_ACCESS = ("destination_access_", "access_")


class OptionError(ValueError):
    """An option of ``mn --topo`` that is unknown or has no possible value."""


class Options:
    """The options given; each is looked up under all names it may have, and none may be left."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self._known: set[str] = set()

    def count(self, name: str, default: int, *, most: float = math.inf) -> int:
        """Return a number of things, at least 1."""
        self._known.add(name)
        return int(_checked(name, self._given.get(name, default), 1, most, whole=True))

    def seed(self) -> int:
        """Return the seed of all loss models."""
        self._known.add("seed")
        return int(_checked("seed", self._given.get("seed", 1), 0, math.inf, whole=True))

    def link(self, places: Sequence[str], defaults: Mapping[str, float]) -> Link:
        """Return a link, of the same shape as a study's cell has."""
        ways = {way: self._direction(places, way, defaults) for way in WAYS}
        return cast("Link", SimpleNamespace(**ways))

    def done(self) -> None:
        """Raise :class:`OptionError` for an option that nothing has looked for."""
        unknown = sorted(set(self._given) - self._known)
        if unknown:
            raise OptionError(
                f"unknown option {unknown[0]}; known are {', '.join(sorted(self._known))}"
            )

    def _direction(
        self, places: Sequence[str], way: str, defaults: Mapping[str, float]
    ) -> SimpleNamespace:
        values = {name: self._quantity(name, places, way, defaults) for name in QUANTITIES}
        rate_bps, owd_s = int(values["rate_bps"]), values["owd_s"]
        limit_pkts = values["channel_limit_pkts"] or derived_channel_limit_pkts(rate_bps, owd_s)
        return SimpleNamespace(
            rate_bps=rate_bps, queue_pkts=int(values["queue_pkts"]), owd_s=owd_s,
            channel_limit_pkts=int(limit_pkts), loss=_loss(values), discipline=DROP_TAIL,
        )  # fmt: skip

    def _quantity(
        self, name: str, places: Sequence[str], way: str, defaults: Mapping[str, float]
    ) -> float:
        names = [place + middle + name for place in places for middle in (f"{way}_", "")]
        self._known.update(names)
        for full in names:
            if full in self._given:
                least, most, whole = QUANTITIES[name]
                return _checked(full, self._given[full], least, most, whole=whole)
        return defaults.get(name, 0.0)


def _checked(name: str, value: Any, least: float, most: float, *, whole: bool) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        bounds = f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
        raise OptionError(f"{name}: wanted {kind} {bounds}, got {value!r}")
    return float(value) if not whole else int(value)


def _loss(values: Mapping[str, float]) -> SimpleNamespace:
    if values["to_bad_frac"]:
        return SimpleNamespace(model="gilbert_elliott", **{name: values[name] for name in BURSTS})
    loss_frac = values["loss_frac"]
    return SimpleNamespace(model="random" if loss_frac else "none", loss_frac=loss_frac)


def derived_channel_limit_pkts(rate_bps: int, owd_s: float) -> int:
    """Return more packets than a channel can hold, however small: what a study derives too."""
    return math.ceil(rate_bps * owd_s / 8 / 40) + 1000
