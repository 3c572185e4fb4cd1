"""What ``resolved.json`` says of a point's path and flows, typed. Pure.

Invariant: a run of an older version says nothing, and then nothing is checked with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.store.json_document import Doc


@dataclass(frozen=True, kw_only=True)
class PathFlow:
    """A flow; ``rate_bps`` is 0 for bulk transfer; a full packet's data and its size with IP."""

    flow: str
    group: str
    protocol: str
    rate_bps: float
    payload_bytes: int
    packet_bytes: int


@dataclass(frozen=True, kw_only=True)
class PointPath:
    """The data's way at one point; ``base_*`` are propagation alone, ``loss_frac`` random loss."""

    bottleneck_rate_bps: float
    forward_rates_bps: tuple[float, ...]
    base_owd_s: float
    base_rtt_s: float
    loss_frac: float
    flows: tuple[PathFlow, ...]

    def serialisation_s(self, packet_bytes: int) -> float:
        """Return how long the links of the data's way take to send one packet, all together."""
        return sum(8 * packet_bytes / rate_bps for rate_bps in self.forward_rates_bps)


def parse_path(doc: Doc) -> PointPath:
    """Return the path in one item of ``paths``."""
    return PointPath(
        bottleneck_rate_bps=doc.get("bottleneck_rate_bps").number(),
        forward_rates_bps=tuple(item.number() for item in doc.get("forward_rates_bps").items()),
        base_owd_s=doc.get("base_owd_s").number(),
        base_rtt_s=doc.get("base_rtt_s").number(),
        loss_frac=doc.get("loss_frac").number(),
        flows=tuple(
            PathFlow(
                flow=item.get("flow").name(),
                group=item.get("group").name(),
                protocol=item.get("protocol").text(),
                rate_bps=item.get("rate_bps").number(),
                payload_bytes=item.get("payload_bytes").integer(),
                packet_bytes=item.get("packet_bytes").integer(),
            )
            for item in doc.get("flows").items()
        ),
    )
