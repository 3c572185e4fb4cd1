"""What the kernel says of a network of radios, compared with what it was asked to be."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mininet_topos import check_built
from mininet_topos.netns import Namespace
from mininet_topos.radio import radios
from mininet_topos.radio.netlink import Family
from model.ad_hoc import AdHoc
from model.check import Check
from testbed.guest.radio.layout import wanted_radios
from testbed.guest.routing.adapter import heres
from testbed.guest.routing.registry import adapter_of


def read_back(network: AdHoc, spaces: Mapping[str, Namespace], folder: Path) -> list[Check]:
    """Return what the kernel says of each radio, and of what routes for it."""
    adapter = adapter_of(network.routing)
    nodes = {here.node.name: here for here in heres(network, spaces, folder, {})}
    found = []
    for wanted, radio in zip(wanted_radios(network), network.radios(), strict=True):
        found += _radio(wanted, spaces[wanted.node])
        found += adapter.read_back_radio(nodes[radio.node], radio)
    for here in nodes.values():
        found += adapter.read_back_node(here)
    return found


def _radio(radio: radios.Radio, node: Namespace) -> list[Check]:
    with node.entered():
        wireless = Family.of("nl80211")
        try:
            got = radios.read_back(wireless, socket.if_nametoindex(radio.interface))
        finally:
            wireless.netlink.close()
    asked = {
        "radio's address": (radio.mac, got.mac),
        "radio's network": (radio.cell.bssid, got.bssid),
        "radio's channel": (f"{radio.cell.freq_mhz} MHz", f"{got.freq_mhz} MHz"),
    }
    where = f"{radio.node} {radio.interface}"
    return [
        Check(check=what, where=where, wanted=wanted, got=is_so, agrees=wanted == is_so)
        for what, (wanted, is_so) in asked.items()
    ]


def read_back_routes(
    routes: Mapping[str, Mapping[str, str]], spaces: Mapping[str, Namespace],
    shown_by: Sequence[str],
) -> tuple[list[Check], dict[str, list[dict[str, Any]]]]:  # fmt: skip
    """Compare options of routes with those of each node's that ``ip route show`` shows.

    ``shown_by`` are the words after that; what a daemon finds later has the same options as its
    default. Returns the comparisons, and what was shown.
    """
    checks, shown = [], {}
    for node, wanted in routes.items():
        if not wanted:
            continue
        words = ["ip", "-4", "-j", "-d", "route", "show", *shown_by]
        shown[node] = spaces[node].json(words)
        for one in shown[node] or [{}]:
            checks += check_built.compare_route(node, [one], dict(wanted))
    return checks, shown
