"""n1 and n3 with two radios, n2 between them on one channel, n4 on another; n2 goes away.

An SCTP association has both addresses of both ends; each radio has a routing daemon and a table of
its own, as cells have them. Runs in the lab; leaves what the probes said, routes, the medium's
files.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import network as net  # type: ignore[import-not-found]

from mininet_topos.aodv.driver import Daemon
from mininet_topos.netns import Namespace
from mininet_topos.radio import medium
from mininet_topos.radio.radios import Cell, Radio, bring_up
from model.ad_hoc import NodeRadio, address
from probes.process import start, start_ready
from testbed.guest.radio import second_radios
from testbed.guest.routing import aodv_by_radio
from testbed.guest.routing.adapter import ARP_BY_RADIO

FIRST = Cell()
X_M = {"n1": 0, "n2": 200, "n3": 400, "n4": 200}
#: Which radios each has, by their numbers.
HAS = {"n1": (0, 1), "n2": (0,), "n3": (0, 1), "n4": (1,)}
AWAY_S, ENDS_S, AWAY_M = 12, 40, 5000


def radio_of(node: str, which: int) -> NodeRadio:
    number = list(X_M).index(node)
    return NodeRadio(
        node=node, device=f"wlan{which}", address=address(number, which), is_apart=which == 1
    )


def movement() -> str:
    lines = [medium.MOVEMENT_HEADER]
    for number, (name, x_m) in enumerate(X_M.items()):
        lines.append(f"0,{number},{x_m * 1000},0")
        if name == "n2":
            lines.append(f"{AWAY_S * net.S - 1},{number},{x_m * 1000},0")
            lines.append(f"{AWAY_S * net.S},{number},{AWAY_M * 1000},0")
    return "\n".join([*lines, ""])


def route(node: Namespace, own: list[NodeRadio]) -> list[net.Running]:
    """Set a node's rules and start a daemon for each of its radios."""
    if len(own) > 1:
        node.run(["ip", "-batch", "-"], aodv_by_radio.rule_lines([radio.device for radio in own]))
        for name, value in ARP_BY_RADIO.items():
            node.write_sysctl(name, value)
    started = []
    for radio in own:
        monitor = radio.device.replace("wlan", "mon")
        net.add_monitor(node, radio.device, monitor)
        options = {"no_neighbour_table": "", **aodv_by_radio.daemon_options(radio, own)}
        daemon = Daemon(
            interfaces=(radio.device,), monitors=(monitor,), options=options,
            events=net.CELL / f"{node.name}.{radio.device}.events",
        )  # fmt: skip
        for name, value in net.sysctls(daemon.interfaces).items():
            node.write_sysctl(name, value)
        stem = net.CELL / f"aodvd-{node.name}.{radio.device}"
        started.append(start_ready(node, daemon.argv(), stem, net.READY_S))
    return started


def send(nodes: dict[str, Namespace], of: dict[str, list[NodeRadio]]) -> list[net.Running]:
    """Start an association over both radios: a message of 500 bytes each 40 ms."""
    binds = [f"--bind={radio.address}" for radio in of["n3"]]
    receiver = ["/gt/code/bin/sctp_recv", *binds, "--port=9000"]
    received = start_ready(nodes["n3"], receiver, net.CELL / "received", net.READY_S)
    sender = ["/gt/code/bin/sctp_send", *(f"--bind={radio.address}" for radio in of["n1"])]
    sender += [*(f"--host={radio.address}" for radio in of["n3"]), "--port=9000"]
    sender += ["--message-bytes=500", "--rate-bps=100000", f"--duration-s={ENDS_S}"]
    sender += ["--hb-interval-ms=1000", "--path-max-retrans=2"]
    return [received, start(nodes["n1"], sender, net.CELL / "sent")]


def main() -> None:
    of = {node: [radio_of(node, which) for which in both] for node, both in HAS.items()}
    wanted = [
        Radio(
            index=index, node=radio.node, interface=radio.device, address=f"{radio.address}/32",
            cell=second_radios.cell(radio, FIRST),
        )
        for index, radio in enumerate(radio for both in of.values() for radio in both)
    ]  # fmt: skip
    nodes = net.nodes(list(HAS))
    files = {"radios-file": net.CELL / "radios.csv", "movement-file": net.CELL / "movement.csv"}
    files["radios-file"].write_text(medium.table(wanted, list(HAS)))
    files["movement-file"].write_text(movement())
    began_ns = time.monotonic_ns()
    running = medium.start(
        medium.command(files, {"origin-ns": began_ns}), net.CELL / "medium.jsonl"
    )
    bring_up(wanted, nodes)
    daemons = [one for name, node in nodes.items() for one in route(node, of[name])]
    net.sleep_s(2)
    probes = send(nodes, of)
    net.wait_until(began_ns + (AWAY_S - 1) * net.S)
    for table in (1, 2):
        shown = nodes["n1"].run(["ip", "route", "show", "table", str(table)])
        (net.CELL / f"before-{table}.routes").write_text(shown)
    for one in reversed(probes):
        one.finish(2 * net.END_S)
    net.end(daemons)
    (net.CELL / "totals.json").write_text(json.dumps({**running.end(), "began_ns": began_ns}))


main()
