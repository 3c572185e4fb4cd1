"""What ``resolved.json`` says of each point's path and flows. Pure.

Invariant: enough for arithmetic on a published table, without any cell: rates, delays, loss, and
how many bytes of a packet are data.
"""

from __future__ import annotations

import math
from typing import Any

from model.cell import Network
from model.paths import HEADER_BYTES, MTU_BYTES, data_loss_frac, forward_path
from testbed.points.load import Study
from testbed.points.resolve import resolve_network
from testbed.study.flow_copies import Copy, copies


def point_paths(study: Study) -> list[dict[str, Any]]:
    """Return one record for each point, in their order."""
    return [
        {
            "point": point.values,
            **_path(resolve_network(point.settings.network)),
            "flows": [_flow(copy) for copy in copies(point.settings.flows)],
        }
        for point in study.points
    ]


def _path(network: Network) -> dict[str, Any]:
    way = forward_path(network)
    return {
        "bottleneck_rate_bps": network.bottleneck.forward.rate_bps,
        "forward_rates_bps": [direction.rate_bps for direction in way],
        "base_owd_s": round(math.fsum(direction.owd_s for direction in way), 9),
        "base_rtt_s": network.base_rtt_s(),
        "loss_frac": round(data_loss_frac(network), 12),
    }


def _flow(copy: Copy) -> dict[str, Any]:
    """Return a flow, with the data and the size of its full packets; a rate of 0 is bulk."""
    flow = copy.flow
    headers = HEADER_BYTES[flow.protocol]
    payload_bytes = min(flow.message_bytes, MTU_BYTES - headers)
    return {
        "flow": copy.id,
        "group": flow.group,
        "protocol": flow.protocol,
        "rate_bps": 0 if flow.rate_bps == "bulk" else flow.rate_bps,
        "payload_bytes": payload_bytes,
        "packet_bytes": payload_bytes + headers,
    }
