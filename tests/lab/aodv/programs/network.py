"""Nodes with AODV daemons in namespaces of their own: made, started, looked at. Runs in the lab."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

from mininet_topos.aodv.driver import Daemon, sysctls
from mininet_topos.netns import Journal, Namespace, create
from mininet_topos.radio.netlink import Family
from probes.process import Running, start, start_ready, wait_until

CELL = Path("/cell")
READY_S, END_S, S = 30.0, 60.0, 1_000_000_000
ETH_P_IP = 0x0800
AODV_PORT = 654
NEW_INTERFACE, IFINDEX, IFNAME, IFTYPE, MONITOR = 7, 3, 4, 5, 6  # linux/nl80211.h


def address(node: str) -> str:
    """Return the one address of a node, the same on all its interfaces."""
    return f"10.0.0.{node.removeprefix('n')}"


def nodes(names: list[str]) -> dict[str, Namespace]:
    made = create(names, Journal())
    for node in made.values():
        node.run(["ip", "link", "set", "lo", "up"])
    return made


def join(nodes: dict[str, Namespace], one: str, other: str) -> None:
    """Put a link between two nodes; each end is named for where it leads."""
    ends = [(one, f"to-{other}"), (other, f"to-{one}")]
    words = ["ip", "link", "add", ends[0][1], "netns", one, "type", "veth"]
    subprocess.run([*words, "peer", "name", ends[1][1], "netns", other], check=True, timeout=60)
    for node, interface in ends:
        configure(nodes[node], interface)


def configure(node: Namespace, interface: str) -> None:
    node.run(["ip", "address", "add", f"{address(node.name)}/32", "dev", interface])
    node.run(["ip", "link", "set", interface, "up"])


def add_monitor(node: Namespace, interface: str, monitor: str) -> None:
    """Put a monitor on the radio of an interface, and have it up."""
    with node.entered():
        wireless = Family.of("nl80211")
        values: dict[int, int | str] = {
            IFINDEX: socket.if_nametoindex(interface),
            IFNAME: monitor,
            IFTYPE: MONITOR,
        }
        wireless.ask(NEW_INTERFACE, values, "a monitor")
        wireless.netlink.close()
    node.run(["ip", "link", "set", monitor, "up"])


def start_daemon(node: Namespace, daemon: Daemon) -> Running:
    for name, value in sysctls(daemon.interfaces).items():
        node.write_sysctl(name, value)
    return start_ready(node, daemon.argv(), CELL / f"aodvd-{node.name}", READY_S)


def sniff(node: Namespace, interface: str) -> socket.socket:
    """Return a socket that holds what passes an interface until it is asked."""
    with node.entered():
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    tap.bind((interface, 3))
    tap.setblocking(False)
    return tap


def sniffed(tap: socket.socket) -> str:
    """Return AODV's packets as lines: sent or received, then the IP packet in hex."""
    lines: list[str] = []
    while True:
        try:
            packet, (_, protocol, kind, _, _) = tap.recvfrom(4096)
        except BlockingIOError:
            return "".join(lines)
        if protocol != ETH_P_IP or packet[9] != socket.IPPROTO_UDP:
            continue
        if int.from_bytes(packet[22:24]) == AODV_PORT:
            lines.append(
                f"{'sent' if kind == socket.PACKET_OUTGOING else 'heard'} {packet.hex()}\n"
            )


def ping(node: Namespace, to: str, count: int, interval_s: float, stem: str) -> Running:
    words = ["ping", "-n", "-D", "-c", str(count), "-i", str(interval_s), "-W", "15", address(to)]
    return start(node, words, CELL / stem)


def look(node: Namespace, name: str) -> None:
    (CELL / f"{name}.routes").write_text(node.run(["ip", "route"]))
    (CELL / f"{name}.links").write_text(node.run(["ip", "-brief", "link"]))


def sleep_s(seconds: float) -> None:
    wait_until(time.monotonic_ns() + int(seconds * S))


def end(running: list[Running]) -> None:
    for one in running:
        one.terminate()
    for one in running:
        one.finish(END_S)
    os.sync()
