"""Do experiments that fill the same bottleneck put as much on the wire? Pure.

Rows that differ in a flow's protocol alone compete with the same traffic for the same full link:
what their packets take, headers included, can differ by repeated packets and what the other traffic
leaves, not by much more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from model.run_files.network_path import PathFlow, PointPath
from model.run_files.study import Study
from model.run_files.summary_points import TableContradiction
from reports.published.tables import Printed, once, places

#: How far wire rates may be apart. Repeated packets and other traffic explain some of it.
APART = 1.25
#: Mean delays this many times the empty path's are of a buffer that never runs empty.
FULL = 2.0
#: The hypothesis that so many bytes of each full packet were counted, and how well it must fit.
COUNTED_BYTES, FULL_PACKET_BYTES, FITS = 1000, 1500, 0.05


@dataclass(frozen=True)
class _Wire:
    """What a row prints of its bulk flows, and what that takes on the wire at least."""

    printed: Printed
    path: PointPath
    protocol: str
    flows: tuple[PathFlow, ...]
    goodput_bps: float
    wire_bps: float
    delay: float

    @property
    def metrics(self) -> tuple[str, ...]:
        """The goodputs that are added."""
        return tuple(_goodput(flow) for flow in self.flows)


def _goodput(flow: PathFlow) -> str:
    return f"flow_goodput_{flow.flow}_bps"


def _wire(one: Printed, swept: str) -> _Wire | None:
    """Return a row's wire rate; None unless all its bulk flows' rates and delays are printed."""
    if one.path is None or one.path.loss_frac:
        return None
    protocol = str(one.point.as_dict()[swept])
    flows = tuple(f for f in one.path.flows if not f.rate_bps and f.protocol == protocol)
    delays = [f"flow_owd_mean_{flow.flow}_s" for flow in flows]
    if not flows or not {*map(_goodput, flows), *delays} <= set(one.values):
        return None
    rates = [float(one.values[_goodput(flow)]) for flow in flows]
    wire = [r * f.packet_bytes / f.payload_bytes for r, f in zip(rates, flows, strict=True)]
    empty_s = [one.path.base_owd_s + one.path.serialisation_s(flow.packet_bytes) for flow in flows]
    waits = [float(one.values[name]) / s for name, s in zip(delays, empty_s, strict=True)]
    return _Wire(one, one.path, protocol, flows, sum(rates), sum(wire), min(waits))


def wire_rates(study: Study, printed: tuple[Printed, ...]) -> Iterator[TableContradiction]:
    """Find pairs of rows, alike but for the protocol, whose wire rates are too far apart."""
    swept = [p.name for p in study.parameters if p.path.endswith(".protocol")]
    found = []
    for name in swept:
        rows = [row for one in printed if (row := _wire(one, name))]
        for one, other in combinations(rows, 2):
            if _comparable(one, other, name):
                low, high = sorted((one, other), key=lambda row: row.wire_bps)
                if low.wire_bps > 0 and high.wire_bps / low.wire_bps > APART:
                    found.append(_finding(low, high))
    yield from once(found)


def _comparable(one: _Wire, other: _Wire, swept: str) -> bool:
    """Return whether two rows fill the same bottleneck with the same flows by two protocols."""
    settings = [row.printed.point.as_dict() for row in (one, other)]
    ours, theirs = ({k: v for k, v in setting.items() if k != swept} for setting in settings)
    return (
        ours == theirs
        and one.protocol != other.protocol
        and [f.flow for f in one.flows] == [f.flow for f in other.flows]
        and min(one.delay, other.delay) >= FULL
    )


def _finding(low: _Wire, high: _Wire) -> TableContradiction:
    def row(one: _Wire) -> str:
        flow = one.flows[0]
        return (
            f"{one.protocol}: {one.goodput_bps / 1000:.1f} kbit/s x {flow.packet_bytes} / "
            f"{flow.payload_bytes} = {one.wire_bps / 1000:.1f} kbit/s"
        )

    return TableContradiction(
        rule="wire-rates-apart",
        where=places([low.printed, high.printed]),
        points=(low.printed.point, high.printed.point),
        metrics=tuple(dict.fromkeys((*low.metrics, *high.metrics))),
        title="two experiments that fill the same link differ by more than headers",
        text=f"with headers the printed goodputs take {row(high)}, {row(low)} on the wire, "
        f"{100 * (high.wire_bps / low.wire_bps - 1):.0f} % apart. Both fill the same "
        f"{low.path.bottleneck_rate_bps / 1000:g} kbit/s beside the same other flows (printed "
        f"delays are at least {min(low.delay, high.delay):.1f} times the empty path's), so both "
        f"put nearly as much on it{_hypothesis(low, high)}",
    )


def _hypothesis(low: _Wire, high: _Wire) -> str:
    """Say what counting 1000 of each 1500 bytes would print of equal wire rates, if it fits."""
    would_bps = high.wire_bps * COUNTED_BYTES / FULL_PACKET_BYTES
    off = low.goodput_bps / would_bps - 1
    if abs(off) > FITS:
        return ""
    return (
        f". Counting {COUNTED_BYTES} bytes of each {FULL_PACKET_BYTES}-byte packet of "
        f"{low.protocol} would print {high.wire_bps / 1000:.1f} x {COUNTED_BYTES} / "
        f"{FULL_PACKET_BYTES} = {would_bps / 1000:.1f} kbit/s, within {100 * abs(off):.1f} % of "
        f"the {low.goodput_bps / 1000:.1f} printed"
    )
