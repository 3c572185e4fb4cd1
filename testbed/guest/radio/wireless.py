"""A cell's network of radios inside a lab: built, warmed up, ended with all that it counted.

Invariants: the medium is there before the first radio and after the last; nodes stand where they
are at time zero until then; each radio has one /32 address and a daemon that routes for it.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mininet_topos.aodv import driver as aodv
from mininet_topos.netns import Journal, Namespace, create
from mininet_topos.radio import audit, medium, radios
from mininet_topos.radio.netlink import Family
from model import run_folder
from model.ad_hoc import AdHoc, NodeRadio
from model.cell import Cell
from model.check import Check
from model.errors import RunError
from model.units import NS_PER_S
from probes.process import Running, start_ready
from testbed.guest.radio import two_radios
from testbed.guest.radio.layout import RadioLayout, lay_out, medium_options, wanted_radios

#: nl80211's command, attributes and type of a monitor interface (linux/nl80211.h).
NEW_INTERFACE, IFINDEX, IFNAME, IFTYPE, MONITOR_TYPE = 7, 3, 4, 5, 6
#: To start all that there is, at most, before nodes warm up.
SET_UP_S = 10
READY_S, END_S = 60.0, 100.0


@dataclass(frozen=True, kw_only=True)
class Wireless:
    """What runs besides the flows, and time zero of where nodes are."""

    network: AdHoc
    laid_out: RadioLayout
    folder: Path
    medium: medium.Medium
    daemons: Sequence[Running]
    epoch_ns: int

    def end(self) -> list[Check]:
        """End daemons and medium, keep what they counted; return whether it adds up.

        Raises:
            RunError: one of them did not end well.
        """
        for running in self.daemons:
            running.terminate()
        for running in self.daemons:
            running.finish(END_S)
        totals = self.medium.end()
        place = self.folder / run_folder.MEDIUM
        place.write_text(json.dumps(totals, indent=1, sort_keys=True) + "\n")
        return checks(totals)


def build(
    cell: Cell, network: AdHoc, moved: bytes, routes: Mapping[str, Mapping[str, str]],
    folder: Path, journal: Journal,
) -> tuple[dict[str, Namespace], Wireless]:  # fmt: skip
    """Make nodes, medium, radios and routing daemons; return them, not yet warmed up.

    ``moved`` is the content of movement.csv, which says where the nodes are;
    ``routes`` are the options of each node's routes, by iproute2's names. Of a calibrating cell the
    medium lists all transmissions.
    """
    place = folder / "raw" / "radio"
    place.mkdir(parents=True)
    (folder / "raw" / "routing").mkdir()
    names = network.node_names()
    spaces = create(names, journal)
    wanted = wanted_radios(network)
    (folder / run_folder.RADIOS).write_text(medium.table(wanted, names))
    (folder / run_folder.MOVEMENT).write_bytes(moved)
    ahead_s = SET_UP_S + network.warm_up_s
    epoch_ns = (int(time.monotonic_ns() / NS_PER_S + ahead_s) + 1) * NS_PER_S
    files = {
        "radios-file": folder / run_folder.RADIOS, "movement-file": folder / run_folder.MOVEMENT,
    }  # fmt: skip
    if cell.collect.pcap:
        files["pcap"] = folder / run_folder.MEDIUM_CAPTURE
    if cell.purpose == "calibrate":
        files["frames"] = folder / run_folder.FRAMES
    argv = medium.command(files, medium_options(network, cell.seed, epoch_ns))
    running = medium.start(argv, place / "medium.jsonl")
    radios.bring_up(wanted, spaces)
    of_nodes = {name: [one for one in network.radios() if one.node == name] for name in names}
    for name, of_node in of_nodes.items():
        _set_up(network, [radio.device for radio in of_node], spaces[name])
    daemons = [
        _route(
            network, radio, of_nodes[radio.node], spaces[radio.node], folder,
            routes.get(radio.node, {}),
        )
        for radio in network.radios()
    ]  # fmt: skip
    wireless = Wireless(
        network=network, laid_out=lay_out(network), folder=folder, medium=running,
        daemons=daemons, epoch_ns=epoch_ns,
    )  # fmt: skip
    return spaces, wireless


def _monitors(network: AdHoc, *devices: str) -> tuple[str, ...]:
    """Return the interfaces that see what becomes of each frame that radios send, if any."""
    if network.routing.link_breaks != "link-layer":
        return ()
    return tuple(device.replace("wlan", "mon") for device in devices)


def _set_up(network: AdHoc, devices: Sequence[str], node: Namespace) -> None:
    """Have a node's loopback and monitors up, and the rules that tell two radios apart."""
    monitors = _monitors(network, *devices)
    with node.entered():
        for device, monitor in zip(devices, monitors, strict=False):
            _add_monitor(device, monitor)
    lines = "".join(f"link set {name} up\n" for name in ("lo", *monitors))
    if len(devices) > 1:
        lines += two_radios.rule_lines(devices)
        for name, value in two_radios.SYSCTLS.items():
            node.write_sysctl(name, value)
    node.run(["ip", "-batch", "-"], lines)


def _route(
    network: AdHoc, radio: NodeRadio, of_node: Sequence[NodeRadio], node: Namespace, folder: Path,
    metrics: Mapping[str, str],
) -> Running:  # fmt: skip
    """Start the routing daemon of a node's radio; return once it routes."""
    # What the study names tells of broken links, and nothing besides: the kernel's probes of a
    # neighbour can be lost in a full queue, and its link be good.
    options = {**network.routing.options, "no_neighbour_table": ""}
    options |= two_radios.daemon_options(radio, of_node) | aodv.route_metrics(metrics)
    if network.routing.link_breaks == "hello":
        options["hello"] = ""
    daemon = aodv.Daemon(
        interfaces=(radio.device,), monitors=_monitors(network, radio.device), options=options,
        seed=network.radios().index(radio) + 1,
        events=folder / run_folder.routing_events(node.name, radio.device),
    )  # fmt: skip
    for name, value in aodv.sysctls(daemon.interfaces).items():
        node.write_sysctl(name, value)
    stem = folder / run_folder.routing(node.name, radio.device)
    return start_ready(node, daemon.argv(), stem, READY_S)


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


def wait_for_time_zero(wireless: Wireless, ahead_s: int) -> int:
    """Wait until so long before time zero, when nodes have warmed up; return time zero.

    Raises:
        RunError: it is later than that already.
    """
    left_ns = wireless.epoch_ns - ahead_s * NS_PER_S - time.monotonic_ns()
    if left_ns < 0:
        raise RunError(
            "nodes were not ready in time", wanted=f"{ahead_s} s before time zero",
            got=f"{-left_ns / NS_PER_S:.3f} s later",
        )  # fmt: skip
    time.sleep(left_ns / NS_PER_S)
    return wireless.epoch_ns


def checks(totals: Mapping[str, Any]) -> list[Check]:
    """Return the sums of the medium's counters that do not close, or that all do."""
    sums: Sequence[audit.Sum] = audit.audit(totals)
    wrong = [one for one in sums if not one.closes]
    made = [
        Check(check="sum of the medium's counters", where=one.what, wanted=str(one.wanted),
              got=str(one.got), agrees=False)
        for one in wrong
    ]  # fmt: skip
    return made or [
        Check(
            check="sums of the medium's counters", where="all radios", wanted=f"{len(sums)} close",
            got=f"{len(sums)} close", agrees=True,
        )
    ]  # fmt: skip
