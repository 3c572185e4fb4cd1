"""Which reading of utilisation can a printed one be, and can the printed windows carry it? Pure.

A saturated link carries packets: of each, only a part is user data, and of that only what is not
lost is delivered. So each reading has a ceiling, and a value above it is another reading's. By
Little's law, data under way on average is its rate times the time it takes, at least the empty
path's round trip; and what is under way fits into the windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from model.run_files.study import Study
from model.run_files.summary_points import TableContradiction
from model.words import how_many
from reports.published.rounding import rounding_span
from reports.published.tables import Printed, places

#: Packets a sender may have under way beyond its window: limited transmit, SCTP's last packet.
BEYOND_PKTS = 1


def utilisation_beyond_readings(
    study: Study, printed: tuple[Printed, ...]
) -> Iterator[TableContradiction]:
    """Find the printed utilisations that delivered user data cannot reach; all are one finding."""
    above = [one for one in printed if _least(one) > _delivered_pct(one)]
    if not above:
        return
    parts = [
        f"{one.values['utilisation_pct']} % ({_readings(one)})" for one in sorted(above, key=_least)
    ]
    yield TableContradiction(
        rule="utilisation-of-what",
        where=places(above),
        points=tuple(one.point for one in above),
        metrics=("utilisation_pct",),
        title="a utilisation counts more than delivered user data",
        text="printed utilisation counts more than the user data that is delivered, or it could "
        f"not be {'; '.join(parts)}",
    )


def _least(one: Printed) -> float:
    value = one.values.get("utilisation_pct")
    return float("-inf") if value is None or one.path is None else float(rounding_span(value)[0])


def _data_pct(one: Printed) -> float:
    """Return the most of a packet that is user data, of any of the flows, in per cent."""
    flows = one.path.flows if one.path else ()
    return max((100 * flow.payload_bytes / flow.packet_bytes for flow in flows), default=100.0)


def _delivered_pct(one: Printed) -> float:
    return _data_pct(one) * (1 - (one.path.loss_frac if one.path else 0.0))


def _readings(one: Printed) -> str:
    """Say the ceiling of each reading, and which of them reach the printed value."""
    least, data, delivered = _least(one), _data_pct(one), _delivered_pct(one)
    said = f"delivered user data is {delivered:.1f} % at most"
    if least > 100:
        return f"{said}, whole packets 100 %: no reading reaches it"
    if least > data:
        return f"{said}, all user data {data:.1f} %: only whole packets, with headers, reach it"
    return f"{said}, all user data with lost and repeated packets {data:.1f} %"


def window_against_utilisation(
    study: Study, printed: tuple[Printed, ...]
) -> Iterator[TableContradiction]:
    """Find points where goodput needs more under way than the windows allow, rounding included."""
    for one in printed:
        found = _too_small_windows(study, one)
        if found:
            yield found


def _too_small_windows(study: Study, one: Printed) -> TableContradiction | None:
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
        f"each of {how_many(flows, 'flow')}; printed mean windows are {shown}, at most "
        f"{float(windows):g} in all with rounding and {how_many(BEYOND_PKTS, 'segment')} more for "
        "each",
    )
