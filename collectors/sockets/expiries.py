"""How often flows' retransmission timers expired, by their hosts' own counters. Pure.

The kernel counts per host, not per connection: what a host counted is a flow's where it is the only
one of its protocol there.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from collectors.sockets.protocol import growth
from model.cell import Flow

#: By protocol the group, the counter of expiries, and those of what is no data. T3-rtx of RFC 9260
#: is of data alone; TCP's timer also has a SYN sent again.
COUNTERS = {
    "tcp": ("TcpExt", "TCPTimeouts", ("TCPSynRetrans",)),
    "sctp": ("Sctp", "T3RtxExpireds", ()),
}


def expiries(
    flows: Sequence[Flow], sockets: pl.DataFrame, protocol: pl.DataFrame
) -> dict[str, int]:
    """Return how often each flow's timer expired with data, by flow, where its host tells.

    ``sockets`` and ``protocol`` are the tables of these names. From the first sample, before flows
    start, to the last, after they ended. iperf3's flows are left out: each has a second connection.
    """
    found = {}
    used = [name for _, counter, apart in COUNTERS.values() for name in (counter, *apart)]
    grown = growth(protocol, used)
    sockets = sockets.select("node", "flow", "protocol", "side").unique()
    for flow in flows:
        if flow.protocol not in COUNTERS or flow.generator != "probe":
            continue
        group, counter, apart = COUNTERS[flow.protocol]
        on = sockets.filter(flow=flow.id, side="sender")["node"].unique()
        if on.len() != 1:
            continue
        there = sockets.filter(node=on[0], protocol=flow.protocol)["flow"].unique()
        expired = grown(on[0], group, (counter,))
        no_data = grown(on[0], group, apart)
        if there.len() == 1 and expired is not None and no_data is not None:
            found[flow.id] = expired - no_data
    return found
