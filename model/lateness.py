"""What a machine may be late with a path's events in real time, so that the path is as asked. Pure.

Of all of them so many must be in time: late by at most a hundredth of the path's round trip, or a
millisecond where that is more. The longest stall may not look like another path: a tenth of a round
trip, or 20 ms; nor come near the least retransmission timeout of Linux, 200 ms.
"""

from __future__ import annotations

IN_TIME_FRAC = 0.99
LATE_RTT_FRAC, LATE_S = 0.01, 0.001
STALL_RTT_FRAC, STALL_S, MOST_STALL_S = 0.1, 0.02, 0.1


def most_late_s(rtt_s: float) -> float:
    """Return how late an event may be and still count as in time."""
    return max(LATE_S, LATE_RTT_FRAC * rtt_s)


def most_stall_s(rtt_s: float) -> float:
    """Return how late a single event may be."""
    return min(MOST_STALL_S, max(STALL_S, STALL_RTT_FRAC * rtt_s))
