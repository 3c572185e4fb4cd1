"""What ``resolved.json`` says of a point's path and flows, typed. Pure.

Invariant: a run of an older version says nothing, and then nothing is checked with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from model.run_files.json_file import Name
from model.run_files.point import Point


@dataclass(frozen=True, kw_only=True)
class PathFlow:
    """A flow; ``rate_bps`` is 0 for bulk transfer; a full packet's data and its size with IP."""

    flow: Name
    group: Name
    protocol: str
    rate_bps: float
    payload_bytes: int
    packet_bytes: int


@dataclass(frozen=True, kw_only=True)
class PointPath:
    """The data's way at ``point``; ``base_*`` are propagation alone, ``loss_frac`` random loss."""

    point: Point
    bottleneck_rate_bps: float
    forward_rates_bps: tuple[float, ...]
    base_owd_s: float
    base_rtt_s: float
    loss_frac: float
    flows: tuple[PathFlow, ...]

    def serialisation_s(self, packet_bytes: int) -> float:
        """Return how long the links of the data's way take to send one packet, all together."""
        return sum(8 * packet_bytes / rate_bps for rate_bps in self.forward_rates_bps)
