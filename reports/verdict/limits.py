"""What no value of a metric, and no difference of two, can pass, by the metrics' names. Pure."""

from __future__ import annotations

import re

from model.run_files.publication import Comparison
from reports.inference.decision import NO_LIMITS, Limits
from reports.inference.statistics import Interval

_LIMITS = (
    (re.compile(r"air_.*_frac$"), Limits(low=0.0)),  # signals far apart, or of two channels, add up
    (re.compile(r"jain_|.*_frac$"), Limits(low=0.0, high=1.0)),
    (re.compile(r"share_.*_pct$|utilisation_pct$"), Limits(low=0.0, high=100.0)),
    (re.compile(r".*_(bps|s|segments|pkts)$"), Limits(low=0.0)),
    (
        re.compile(r"(timeouts|unconnected)_|(link_breaks|routes_broken|discoveries)$|frames_"),
        Limits(low=0.0),
    ),
    (re.compile(r"goodput_.*_pct$"), Limits(low=0.0)),  # variation
    (re.compile(r"pct_increase$"), Limits(low=-100.0)),
)


def limits_of(metric: str) -> Limits:
    """Return the least and the most a metric can be."""
    return next((limits for name, limits in _LIMITS if name.match(metric)), NO_LIMITS)


def limits_of_comparison(one: Comparison) -> Limits:
    """Return the least and the most that what a comparison compares can be, in its own unit.

    What cannot be negative is at most 100 % less than something else that cannot.
    """
    if one.versus is None:
        return limits_of(one.metric)
    if one.per is not None:
        return NO_LIMITS
    first, second = limits_of(one.metric), limits_of(one.versus.metric)
    if one.relative:
        return Limits(low=-100.0) if first.low == second.low == 0.0 else NO_LIMITS
    return Limits(low=_apart(first.low, second.high), high=_apart(first.high, second.low))


def _apart(end: float | None, other: float | None) -> float | None:
    return None if end is None or other is None else end - other


def within(limits: Limits, bounds: Interval) -> Interval:
    """Return the part of an interval that is possible."""
    low, high = bounds
    if limits.low is not None:
        low, high = max(low, limits.low), max(high, limits.low)
    if limits.high is not None:
        low, high = min(low, limits.high), min(high, limits.high)
    return low, high
