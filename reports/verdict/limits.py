"""What no value of a metric can pass, by the metric's name. Pure."""

from __future__ import annotations

import re

from reports.inference.decision import NO_LIMITS, Limits

_LIMITS = (
    (re.compile(r"jain_|.*_frac$"), Limits(low=0.0, high=1.0)),
    (re.compile(r"share_.*_pct$|utilisation_pct$"), Limits(low=0.0, high=100.0)),
    (re.compile(r".*_(bps|s|segments|pkts)$"), Limits(low=0.0)),
    (re.compile(r"goodput_.*_pct$"), Limits(low=0.0)),  # variation
)


def limits_of(metric: str) -> Limits:
    """Return the least and the most a metric can be."""
    return next((limits for name, limits in _LIMITS if name.match(metric)), NO_LIMITS)


def within(metric: str, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the part of an interval that a metric can be in, both ends in its own unit."""
    limits = limits_of(metric)
    low, high = bounds
    if limits.low is not None:
        low, high = max(low, limits.low), max(high, limits.low)
    if limits.high is not None:
        low, high = min(low, limits.high), min(high, limits.high)
    return low, high
