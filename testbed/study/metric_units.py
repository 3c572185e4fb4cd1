"""Units that a user's file may have a metric in, and what makes them the metric's own. Pure."""

from __future__ import annotations

from model import units

_TOTALS = {
    **{unit: float(factor) * units.BITS_PER_BYTE for unit, factor in units.SIZE.units.items()},
    "bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9,
}  # fmt: skip
_RATES = {unit: float(factor) for unit, factor in units.RATE.units.items()}
_OTHERS: dict[str, dict[str, float]] = {
    "s": {unit: float(factor) for unit, factor in units.TIME.units.items()},
    "frac": {"1": 1.0, "%": 0.01},
    "pct": {"%": 1.0, "1": 100.0},
    "pkts": {"packets": 1.0},
    "segments": {"segments": 1.0, "packets": 1.0},
}


def _ending(metric: str) -> str:
    """Return the unit that a metric's name tells; an increase has it in front."""
    return "pct" if metric.startswith("pct_") else metric.rpartition("_")[2]


def units_of(metric: str) -> list[str]:
    """Return the units a metric may be in; of an index there is none."""
    ending = _ending(metric)
    return [*_RATES, *_TOTALS] if ending == "bps" else list(_OTHERS.get(ending, {}))


def factor_of(metric: str, unit: str) -> tuple[float, bool] | None:
    """Return what a value is multiplied by, and whether it is a total per time; None: no unit.

    A total, of bytes or bits, becomes a rate by what was counted of the run.
    """
    ending = _ending(metric)
    if ending == "bps":
        if unit in _RATES:
            return _RATES[unit], False
        return (_TOTALS[unit], True) if unit in _TOTALS else None
    if ending in _OTHERS and (unit or ending == metric.rpartition("_")[2]):
        return (_OTHERS[ending][unit], False) if unit in _OTHERS[ending] else None
    return (1.0, False) if unit in ("", "1") else None
