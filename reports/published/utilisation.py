"""Which reading of utilisation can a printed one be? Pure.

A saturated link carries packets: of each, only a part is user data, and of that only what is not
lost is delivered. So each reading has a ceiling, and a value above it is another reading's.
"""

from __future__ import annotations

from collections.abc import Iterator

from model.run.study import Study
from reports.published.rounding import rounding_span
from reports.published.tables import Printed, TableContradiction, places


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
