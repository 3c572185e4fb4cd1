"""A measurement of a path from end to end: what a calibration sends, from where to where."""

from __future__ import annotations

from dataclasses import dataclass

from model import units

IP_UDP_BYTES = 28


@dataclass(frozen=True, kw_only=True)
class Run:
    """One measurement: UDP packets of one size at one rate from one host to another.

    ``probed``: by programs on both hosts; else by the agent.
    """

    name: str
    source: str
    target: str
    rate_bps: int
    message_bytes: int
    packets: int
    burst_packets: int = 1
    path: int = 1
    probed: bool = True

    def sending_s(self) -> float:
        """Return how long its packets take at its rate."""
        return self.packets * units.bits(self.message_bytes + IP_UDP_BYTES) / self.rate_bps
