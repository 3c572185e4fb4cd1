"""What a network of radios is asked to be: nodes, interfaces, radios, the medium's options. Pure.

Invariant: each radio has one interface that flows use, and its node's first radio comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mininet_topos.layout import Interface, Layout
from mininet_topos.radio import radios
from model.ad_hoc import AdHoc
from testbed.guest.radio import second_radios
from testbed.guest.routing.registry import adapter_of

#: Stations tell each other of themselves so often (time units of 1024 us, 802.11's usual beacons
#: are ten times as often): mac80211 takes no unicast of one that it has not heard before.
BEACON_INTERVAL_TU = 1000


@dataclass(frozen=True, kw_only=True)
class RadioLayout(Layout):
    """Nodes without links: an interface for each radio, that which flows use."""

    radios: Mapping[str, tuple[Interface, ...]]

    def interfaces(self, node: str) -> tuple[Interface, ...]:
        """Return a node's interfaces, that of its first radio first."""
        return self.radios[node]


def lay_out(network: AdHoc) -> RadioLayout:
    """Return the names and interfaces of a network's nodes. Pure."""
    found: dict[str, list[Interface]] = {}
    adapter = adapter_of(network.routing)
    for number, radio in enumerate(network.radios()):
        found.setdefault(radio.node, []).append(adapter.interface(radio, radios.mac_of(number)))
    return RadioLayout(
        sources=network.source_names(),
        routers=(),
        destinations=network.destination_names(),
        wires=(),
        routes={},
        radios={node: tuple(interfaces) for node, interfaces in found.items()},
    )


def wanted_radios(network: AdHoc) -> tuple[radios.Radio, ...]:
    """Return the radios of all nodes, as they shall be. Pure."""
    cell = radios.Cell(
        beacon_interval_tu=BEACON_INTERVAL_TU, rate_bps=network.radio.rate_bps,
        broadcast_rate_bps=network.radio.basic_rate_bps,
        basic_rates_bps=tuple(sorted({1_000_000, network.radio.basic_rate_bps})),
    )  # fmt: skip
    adapter = adapter_of(network.routing)
    return tuple(
        radios.Radio(
            index=index, node=radio.node, interface=radio.device,
            address=adapter.radio_address(radio), cell=second_radios.cell(radio, cell),
        )
        for index, radio in enumerate(network.radios())
    )  # fmt: skip


def medium_options(network: AdHoc, seed: int, origin_ns: int) -> dict[str, int]:
    """Return the medium's options. Pure."""
    radio = network.radio
    options = {
        "origin-ns": origin_ns,
        "seed": seed,
        "range-m": round(radio.range_m),
        "carrier-sense-m": round(radio.carrier_sense_m),
        "queue-frames": radio.queue_pkts,
        "retry-limit": radio.retry_limit,
        "ack-rate-bps": radio.basic_rate_bps,
    }
    if radio.capture_db:
        options["capture-db"] = radio.capture_db
    if radio.rts_threshold_bytes is not None:
        options |= {
            "rts-threshold-bytes": radio.rts_threshold_bytes,
            "long-retry-limit": radio.long_retry_limit,
        }
    return options
