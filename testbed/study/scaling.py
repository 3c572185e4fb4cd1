"""The scale of a run: what times of the experiment are multiplied by as a study is read. Pure.

Scaled are the times at which something is to happen or is looked at in a run; what the network and
the hosts do in their own time is not. Which fields are scaled is said by their type, one of those
made with :func:`of_run` (:mod:`testbed.study.setting_types`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from pydantic import ValidationInfo

from model import units
from model.errors import StudyError
from testbed.study.problems import SettingError

#: The study as written.
FULL = Decimal(1)
WANTED = "a number such as 0.1, above 0 and at most 1, with up to 4 digits after the point"
#: Where the validators of fields find the scale.
CONTEXT_KEY = "scale"
_WRITTEN = re.compile(r"[0-9](\.[0-9]{1,4})?")


def parse_scale(text: str) -> Decimal:
    """Return a scale given as text, without trailing zeros.

    Raises:
        StudyError: it is not from above 0 to 1, or has more than four digits after the point.
    """
    scale = Decimal(text) if _WRITTEN.fullmatch(text) else Decimal(0)
    if not 0 < scale <= FULL:
        hint = "write 10 % as 0.1" if text.strip().endswith("%") else ""
        raise StudyError(
            "no such scale", where="SCALE", wanted=WANTED, got=units.shown(text), hint=hint
        )
    return scale.normalize() if scale < FULL else FULL


def of_run(**bounds: str) -> Callable[[object, ValidationInfo[Any]], float]:
    """Return a reader of times of the experiment: in seconds, scaled, in whole nanoseconds.

    ``bounds`` are those of :func:`model.units.parse`, of the time as written.
    """

    def read(text: object, info: ValidationInfo[Any]) -> float:
        written_s = units.parse(text, units.TIME, **bounds)
        scale = (info.context or {}).get(CONTEXT_KEY, FULL)
        scaled_s = (written_s * scale).quantize(units.TIME.step, rounding=ROUND_HALF_EVEN)
        if written_s and not scaled_s:
            raise SettingError(
                "nothing is left of it",
                wanted="at least 1 ns when scaled",
                got=f"{units.shown(text)} times {scale}",
            )
        return float(scaled_s)

    return read
