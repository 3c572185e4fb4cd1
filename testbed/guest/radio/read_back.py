"""What the kernel says of a network of radios, compared with what it was asked to be."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from mininet_topos import check_built
from mininet_topos.netns import Namespace
from mininet_topos.radio import radios
from mininet_topos.radio.netlink import Family
from model.ad_hoc import AdHoc
from model.check import Check
from testbed.guest.radio import two_radios
from testbed.guest.radio.layout import lay_out, wanted_radios


def read_back(network: AdHoc, spaces: Mapping[str, Namespace]) -> list[Check]:
    """Return what the kernel says of each radio, and whether each node passes packets on."""
    found = []
    for radio in wanted_radios(network):
        node = spaces[radio.node]
        where = f"{radio.node} {radio.interface}"
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
            "net.ipv4.ip_forward": ("1", node.read_sysctl("net.ipv4.ip_forward")),
        }
        found += [
            Check(check=what, where=where, wanted=wanted, got=is_so, agrees=wanted == is_so)
            for what, (wanted, is_so) in asked.items()
        ]
    return found + _rules_read_back(network, spaces)


def _rules_read_back(network: AdHoc, spaces: Mapping[str, Namespace]) -> list[Check]:
    laid_out = lay_out(network)
    found = []
    for name in network.node_names():
        devices = laid_out.devices(name)
        if len(devices) > 1:
            shown = json.loads(spaces[name].run(["ip", "-json", "rule"]))
            found.append(two_radios.rule_check(name, devices, shown))
            found += [
                Check(check="sysctl", where=f"{name} {sysctl}", wanted=value, got=got,
                      agrees=value == got)
                for sysctl, value in two_radios.SYSCTLS.items()
                for got in (spaces[name].read_sysctl(sysctl),)
            ]  # fmt: skip
    return found


def read_back_routes(
    routes: Mapping[str, Mapping[str, str]], spaces: Mapping[str, Namespace]
) -> tuple[list[Check], dict[str, list[dict[str, Any]]]]:
    """Compare options of routes with those of each node's default, which a daemon set; return both.

    What the daemon finds later has the same options.
    """
    checks, shown = [], {}
    for node, wanted in routes.items():
        if not wanted:
            continue
        words = ["ip", "-4", "-j", "-d", "route", "show", "default", "table", "all"]
        shown[node] = spaces[node].json(words)
        for one in shown[node] or [{}]:
            checks += check_built.compare_route(node, [one], dict(wanted))
    return checks, shown
