"""How far what happened may be from what was asked for: a lab says it, checks go by it."""

from __future__ import annotations

from dataclasses import dataclass


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
