"""AODV on the nodes of a network of radios: a daemon of its own for each radio.

Invariants: a radio has a /32 address; what tells of broken links is what the study names, alone.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from collectors.recording import compressing
from mininet_topos.aodv import driver
from mininet_topos.layout import Interface
from mininet_topos.radio.netlink import Family
from model import run_folder
from model.ad_hoc import AdHoc, NodeRadio
from model.check import Check
from probes.process import Running, start_ready
from testbed.guest.routing import aodv_by_radio
from testbed.guest.routing.adapter import (
    ARP_BY_RADIO,
    Adapter,
    Here,
    Router,
    arp_checks,
    forwarding_check,
    own_interface,
)

#: nl80211's command, attributes and type of a monitor interface (linux/nl80211.h).
NEW_INTERFACE, IFINDEX, IFNAME, IFTYPE, MONITOR_TYPE = 7, 3, 4, 5, 6
READY_S = 60.0
#: Of what a daemon tells of routes, bytes a second at most.
EVENTS_BYTES_PER_S = 64 << 10


@dataclass(frozen=True)
class Daemon(Router):
    """A daemon that runs; its last line says what it counted."""

    running: Running
    #: What it writes of what it does, compressed when it has ended.
    events: Path

    def terminate(self) -> None:
        """Ask it to end."""
        self.running.terminate()

    def finish(self, timeout_s: float) -> None:
        """Wait until it has ended."""
        self.running.finish(timeout_s)
        compressing.replaced(self.events)


class Aodv(Adapter):
    """aodvd (RFC 3561): packets routed by the kernel, on routes that daemons set."""

    leaves: ClassVar[Mapping[str, int]] = {
        ".jsonl": 0, ".err": 0, ".events" + run_folder.COMPRESSED: EVENTS_BYTES_PER_S,
    }  # fmt: skip
    routes_shown = ("default", "table", "all")

    def radio_address(self, radio: NodeRadio) -> str | None:
        """Return the radio's address alone: a connected subnet would take what needs a route."""
        return f"{radio.address}/32"

    def interface(self, radio: NodeRadio, mac: str) -> Interface:
        """Return the radio's own interface."""
        return own_interface(radio, mac)

    def set_up(self, here: Here) -> None:
        """Have a node's loopback and monitors up, and the rules that tell two radios apart."""
        devices = [radio.device for radio in here.radios]
        monitors = _monitors(here.network, *devices)
        with here.node.entered():
            for device, monitor in zip(devices, monitors, strict=False):
                _add_monitor(device, monitor)
        lines = "".join(f"link set {name} up\n" for name in ("lo", *monitors))
        if len(devices) > 1:
            lines += aodv_by_radio.rule_lines(devices)
            for name, value in ARP_BY_RADIO.items():
                here.node.write_sysctl(name, value)
        here.node.run(["ip", "-batch", "-"], lines)

    def start(self, here: Here, radio: NodeRadio) -> Router:
        """Start the routing daemon of a node's radio; return once it routes."""
        network, node = here.network, here.node
        # What the study names tells of broken links, and nothing besides: the kernel's probes of a
        # neighbour can be lost in a full queue, and its link be good.
        options = {**network.routing.options, "no_neighbour_table": ""}
        options |= aodv_by_radio.daemon_options(radio, here.radios)
        options |= driver.route_metrics(here.route_options)
        if network.routing.link_breaks == "hello":
            options["hello"] = ""
        kept = run_folder.routing_events(node.name, radio.device)
        events = here.folder / kept.removesuffix(run_folder.COMPRESSED)
        daemon = driver.Daemon(
            interfaces=(radio.device,), monitors=_monitors(network, radio.device), options=options,
            seed=network.radios().index(radio) + 1,
            events=events,
        )  # fmt: skip
        for name, value in driver.sysctls(daemon.interfaces).items():
            node.write_sysctl(name, value)
        stem = here.folder / run_folder.routing(node.name, radio.device)
        return Daemon(start_ready(node, daemon.argv(), stem, READY_S), events)

    def read_back_node(self, here: Here) -> list[Check]:
        """Return whether the node passes packets on, and two radios are told apart."""
        devices = [radio.device for radio in here.radios]
        if len(devices) == 1:
            return [forwarding_check(here)]
        shown: Sequence[dict[str, object]] = json.loads(here.node.run(["ip", "-json", "rule"]))
        rules = aodv_by_radio.rule_check(here.node.name, devices, shown)
        return [forwarding_check(here), rules, *arp_checks(here)]


def _monitors(network: AdHoc, *devices: str) -> tuple[str, ...]:
    """Return the interfaces that see what becomes of each frame that radios send, if any."""
    if network.routing.link_breaks != "link-layer":
        return ()
    return tuple(device.replace("wlan", "mon") for device in devices)


def _add_monitor(device: str, monitor: str) -> None:
    """Make an interface beside a radio's that sees what becomes of each frame it sends."""
    wireless = Family.of("nl80211")
    try:
        interface = socket.if_nametoindex(device)
        wanted: dict[int, int | str] = {
            IFINDEX: interface, IFNAME: monitor, IFTYPE: MONITOR_TYPE,
        }  # fmt: skip
        wireless.ask(NEW_INTERFACE, wanted, f"a monitor beside {device}")
    finally:
        wireless.netlink.close()
