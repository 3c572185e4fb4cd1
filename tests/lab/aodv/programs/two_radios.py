"""n1 and n3 with two radios each, n2 (and n4) between them; pings to both addresses of n3.

usage: two_radios.py same|apart|split. ``same``: all radios on one channel; ``apart``: the second
ones on another; ``split``: n2 has a radio on the one channel only, n4 on the other, and n2 goes
away while n1 pings. Runs in the lab; leaves what pings and UDP said, routes, the medium's files.
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
from probes.process import start

FIRST = Cell()
APART = Cell(freq_mhz=2437, ssid="second", bssid="02:ff:00:00:00:02")
#: Which of a node's two radios it has.
BOTH: dict[str, tuple[int, ...]] = {"n1": (0, 1), "n2": (0, 1), "n3": (0, 1)}
SPLIT: dict[str, tuple[int, ...]] = {"n1": (0, 1), "n2": (0,), "n3": (0, 1), "n4": (1,)}
X_M = {"n1": 0, "n2": 200, "n3": 400, "n4": 200}
AWAY_S, AWAY_M = 20, 5000


def address(node: str, which: int) -> str:
    return f"10.0.{which}.{node.removeprefix('n')}"


def radios_of(layout: dict[str, tuple[int, ...]], second: Cell) -> list[Radio]:
    wanted = [(node, which) for node, both in layout.items() for which in both]
    return [
        Radio(
            index=index, node=node, interface=f"wlan{which}",
            address=f"{address(node, which)}/32", cell=second if which else FIRST,
        )
        for index, (node, which) in enumerate(wanted)
    ]  # fmt: skip


def movement(names: list[str], *, leaves: bool) -> str:
    lines = [medium.MOVEMENT_HEADER]
    for number, name in enumerate(names):
        lines.append(f"0,{number},{X_M[name] * 1000},0")
        if leaves and name == "n2":
            lines.append(f"{AWAY_S * net.S - 1},{number},{X_M[name] * 1000},0")
            lines.append(f"{AWAY_S * net.S},{number},{AWAY_M * 1000},0")
    return "\n".join([*lines, ""])


def daemon_of(node: Namespace, radios: list[Radio]) -> Daemon:
    mine = [radio.interface for radio in radios if radio.node == node.name]
    monitors = [interface.replace("wlan", "mon") for interface in mine]
    for interface, monitor in zip(mine, monitors, strict=True):
        net.add_monitor(node, interface, monitor)
    return Daemon(
        interfaces=tuple(mine), monitors=tuple(monitors), seed=int(node.name.removeprefix("n")),
        events=net.CELL / f"{node.name}.events", options={"no_neighbour_table": ""},
    )  # fmt: skip


def ping(node: Namespace, which: int, count: int, stem: str) -> None:
    words = ["ping", "-n", "-c", str(count), "-i", "0.2", "-W", "2", "-I", address("n1", which)]
    start(node, [*words, address("n3", which)], net.CELL / stem).wait(120)


def udp(nodes: dict[str, Namespace], which: int) -> None:
    port = f"--port={9000 + which}"
    receiver = ["/gt/code/bin/udp_recv", port, "--idle-s=3"]
    received = start(nodes["n3"], receiver, net.CELL / f"udp-{which}")
    sender = ["/gt/code/bin/udp_send", f"--host={address('n3', which)}", port, "--rate-bps=100000"]
    sender += ["--message-bytes=500", "--duration-s=4"]
    start(nodes["n1"], sender, net.CELL / f"udp-sent-{which}").finish(60)
    received.finish(60)


def main() -> None:
    case = sys.argv[1]
    layout = SPLIT if case == "split" else BOTH
    radios = radios_of(layout, FIRST if case == "same" else APART)
    nodes = net.nodes(list(layout))
    files = {"radios-file": net.CELL / "radios.csv", "movement-file": net.CELL / "movement.csv"}
    files["radios-file"].write_text(medium.table(radios, list(layout)))
    files["movement-file"].write_text(movement(list(layout), leaves=case == "split"))
    files |= {kind: net.CELL / kind for kind in ("frames", "pcap")}
    began_ns = time.monotonic_ns()
    options = {"origin-ns": began_ns, "rts-threshold-bytes": 0}
    running = medium.start(medium.command(files, options), net.CELL / "medium.jsonl")
    bring_up(radios, nodes)
    daemons = [net.start_daemon(node, daemon_of(node, radios)) for node in nodes.values()]
    net.sleep_s(2)
    for which in (0, 1):
        ping(nodes["n1"], which, 10, f"ping-{which}")
        net.look(nodes["n1"], f"ping-{which}-n1")
    for which in (0, 1):
        udp(nodes, which)
    if case == "split":
        net.wait_until(began_ns + (AWAY_S - 2) * net.S)
        ping(nodes["n1"], 0, 30, "leaving")
        net.look(nodes["n1"], "left-n1")
    net.end(daemons)
    (net.CELL / "totals.json").write_text(json.dumps(running.end()))


main()
