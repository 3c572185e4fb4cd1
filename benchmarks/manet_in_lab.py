"""A mobile network with AODV, ten CBR flows and one bulk flow. Runs in the lab.

Expects ``settings.json`` and ``movement.csv`` in the cell folder, as manet_cost.py writes them.
"""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from mininet_topos.aodv.driver import Daemon, sysctls
from mininet_topos.netns import Journal, Namespace, create
from mininet_topos.radio import medium, radios
from mininet_topos.radio.netlink import Family
from probes.process import Running, start, start_ready, wait_until

CELL, BIN, S = Path("/cell"), Path("/gt/code/bin"), 1_000_000_000
NEW_INTERFACE, IFINDEX, IFNAME, IFTYPE, MONITOR = 7, 3, 4, 5, 6
READY_S, END_S, CBR_FLOWS = 30.0, 100.0, 10


def joined(names: list[str]) -> tuple[dict[str, Namespace], medium.Medium]:
    """Return the nodes, their radios joined, and the medium between them."""
    nodes = create(names, Journal())
    wanted = [
        radios.Radio(
            index=index,
            node=name,
            interface="wlan0",
            address=f"10.0.0.{index + 1}/32",
            cell=radios.Cell(),
        )
        for index, name in enumerate(names)
    ]
    (CELL / "radios.csv").write_text(medium.table(wanted, names))
    files = {"radios-file": CELL / "radios.csv", "movement-file": CELL / "movement.csv"}
    options = {"origin-ns": time.monotonic_ns(), "seed": 1}
    started = medium.start(medium.command(files, options), CELL / "medium.jsonl")
    radios.bring_up(wanted, nodes)
    return nodes, started


def daemon(node: Namespace, seed: int, options: dict[str, str]) -> Running:
    """Start a node's daemon, which learns of lost links from a monitor interface."""
    with node.entered():
        wireless = Family.of("nl80211")
        words: dict[int, int | str] = {
            IFINDEX: socket.if_nametoindex("wlan0"), IFNAME: "mon0", IFTYPE: MONITOR,
        }  # fmt: skip
        wireless.ask(NEW_INTERFACE, words, "a monitor")
        wireless.netlink.close()
    node.run(["ip", "-batch", "-"], "link set lo up\nlink set mon0 up\n")
    one = Daemon(interfaces=("wlan0",), monitors=("mon0",), seed=seed, options=options)
    for name, value in sysctls(one.interfaces).items():
        node.write_sysctl(name, value)
    return start_ready(node, one.argv(), CELL / f"aodvd-{node.name}", READY_S)


def flows(nodes: dict[str, Namespace], settings: dict[str, Any]) -> list[Running]:
    """Start ten flows of 16 kbit/s, and 10 s later a bulk flow; all end by themselves."""
    running, lasting_s = [], settings["duration_s"]
    for flow in range(CBR_FLOWS):
        words = [str(BIN / "udp_recv"), "--port=9000", "--idle-s=40"]
        running.append(start_ready(nodes[f"n{20 + flow}"], words, CELL / f"cbr{flow}.r", READY_S))
    for flow in range(CBR_FLOWS):
        words = [str(BIN / "udp_send"), f"--host=10.0.0.{21 + flow}", "--port=9000"]
        words += [f"--flow-id={flow}", "--rate-bps=16000", "--message-bytes=512"]
        words += [f"--duration-s={lasting_s}"]
        running.append(start(nodes[f"n{2 + flow}"], words, CELL / f"cbr{flow}.s"))
    wait_until(time.monotonic_ns() + 10 * S)
    protocol = settings["protocol"]
    words = [str(BIN / f"{protocol}_recv"), "--port=5001"]
    running.append(start_ready(nodes["n1"], words, CELL / "main.r", READY_S))
    words = [str(BIN / f"{protocol}_send"), "--host=10.0.0.2", "--port=5001"]
    words += [f"--duration-s={lasting_s - 10}", "--message-bytes=1400"]
    return [start(nodes["n0"], words, CELL / "main.s"), *running]


def main() -> None:
    """Run it once."""
    settings = json.loads((CELL / "settings.json").read_text())
    nodes, air = joined([f"n{index}" for index in range(settings["nodes"])])
    daemons = [
        daemon(node, seed, settings["options"]) for seed, node in enumerate(nodes.values(), start=1)
    ]
    began_ns = time.monotonic_ns()
    running = flows(nodes, settings)
    wait_until(began_ns + (settings["duration_s"] + 5) * S)
    for one in (*running, *daemons):
        one.terminate()
        one.finish(END_S)
    (CELL / "totals.json").write_text(json.dumps(air.end()))
    os.sync()


main()
