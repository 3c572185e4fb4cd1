"""Can the printed congestion windows carry the printed utilisation? Pure.

Little's law: data under way on average is its rate times the time it takes, at least the empty
path's round trip; and what is under way fits into the windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from model.run.study import Study
from reports.measures.quantities import count
from reports.published.rounding import rounding_span
from reports.published.tables import Printed, TableContradiction, places

#: Packets a sender may have under way beyond its window: limited transmit, SCTP's last packet.
BEYOND_PKTS = 1


def window_against_utilisation(
    study: Study, printed: tuple[Printed, ...]
) -> Iterator[TableContradiction]:
    """Find points where goodput needs more under way than the windows allow, rounding included."""
    for one in printed:
        found = _at(study, one)
        if found:
            yield found


def _at(study: Study, one: Printed) -> TableContradiction | None:
    path, used = one.path, one.values.get("utilisation_pct")
    if path is None or used is None or any(flow.rate_bps for flow in path.flows):
        return None
    sizes = {group.id: 0 for group in study.groups}
    for flow in path.flows:
        sizes[flow.group] += 1
    names = {group: f"cwnd_mean_{group}_segments" for group, size in sizes.items() if size}
    if not names or not set(names.values()) <= set(one.values):
        return None
    # The reading of utilisation that needs least under way counts whole packets.
    packet_bytes = max(flow.packet_bytes for flow in path.flows)
    payload_bytes = max(flow.payload_bytes for flow in path.flows)
    rtt_s = path.base_rtt_s + path.serialisation_s(min(f.packet_bytes for f in path.flows))
    per_pct = path.bottleneck_rate_bps / 100 * rtt_s / (8 * packet_bytes)
    of_data = float(used) * per_pct * packet_bytes / payload_bytes
    least = float(rounding_span(used)[0]) * per_pct
    windows = sum(
        (sizes[group] * (rounding_span(one.values[name])[1] + BEYOND_PKTS)
         for group, name in names.items()),
        Fraction(0),
    )  # fmt: skip
    if least <= windows:
        return None
    flows = len(path.flows)
    labels = {group.id: group.label for group in study.groups}
    shown = " and ".join(f"{one.values[name]} ({labels[group]})" for group, name in names.items())
    return TableContradiction(
        rule="utilisation-against-windows",
        where=places([one]),
        points=(one.point,),
        metrics=("utilisation_pct", *names.values()),
        title="the windows are too small for the utilisation",
        text=f"printed utilisation {used} % of {path.bottleneck_rate_bps / 1e6:g} Mbit/s over a "
        f"round trip of at least {rtt_s * 1000:.1f} ms needs {float(used) * per_pct:.1f} packets "
        f"under way if it counts headers, {of_data:.1f} if user data, {of_data / flows:.1f} for "
        f"each of {count(flows, 'flow')}; printed mean windows are {shown}, at most "
        f"{float(windows):g} in all with rounding and {count(BEYOND_PKTS, 'segment')} more for "
        "each",
    )
