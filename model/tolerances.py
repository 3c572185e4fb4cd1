"""How far what happened may be from what was asked for: a lab says it, checks go by it."""

from __future__ import annotations

from dataclasses import dataclass

#: What a machine may be late with a path's events in real time, so that the path is as asked. Of
#: all of them so many must be in time: late by at most a hundredth of the path's round trip, or a
#: millisecond where that is more.
IN_TIME_FRAC = 0.99
LATE_RTT_FRAC, LATE_S = 0.01, 0.001
#: The longest stall may not look like another path: a tenth of a round trip, or 20 ms; nor come
#: near the least retransmission timeout of Linux, 200 ms.
STALL_RTT_FRAC, STALL_S, MOST_STALL_S = 0.1, 0.02, 0.1


@dataclass(frozen=True, kw_only=True)
class Tolerances:
    """The usual ones are of a lab in which computing takes no time.

    Times in seconds. ``delay_s``: netem's clock ticks every 64 ns, a program that reads the clock
    again and again moves a virtual one, and a path is a few stages each way. ``event_s``: a capture
    and an event, or a program, tell of one packet with looks at the clock of 256 ns between them:
    one, and those of a timer's interrupt where that comes between. ``start_s`` and
    ``start_per_flow_s``: a process wakes up at most the kernel's timer slack of 50 us after its
    time, and of flows that start at once each waits for those before it. ``late_frac`` is the part
    of packets that a timer may let go late, whatever the cause: real machines have such moments.
    """

    delay_s: float = 20e-6
    event_s: float = 5e-6
    rate_frac: float = 0.001
    start_s: float = 100e-6
    start_per_flow_s: float = 20e-6
    late_frac: float = 0.0


#: Of a lab in which computing takes no time.
EXACT = Tolerances()


def most_late_s(rtt_s: float) -> float:
    """Return how late an event may be and still count as in time."""
    return max(LATE_S, LATE_RTT_FRAC * rtt_s)


def most_stall_s(rtt_s: float) -> float:
    """Return how late a single event may be."""
    return min(MOST_STALL_S, max(STALL_S, STALL_RTT_FRAC * rtt_s))
