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
