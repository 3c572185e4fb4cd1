"""One comparison of what was wanted with what was read back, measured or counted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """One comparison; ``agrees`` is None where a side is unknown or could not be measured."""

    check: str
    where: str
    wanted: str
    got: str
    agrees: bool | None
