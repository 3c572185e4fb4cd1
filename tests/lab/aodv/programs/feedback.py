"""Three radios in one IBSS without a medium; n2's goes down while n1 pings it. Runs in the lab."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import network as net  # type: ignore[import-not-found]

from mininet_topos.aodv.driver import Daemon
from mininet_topos.radio import radios


def main() -> None:
    nodes = net.nodes(["n1", "n2", "n3"])
    cell = radios.Cell()
    radios.bring_up(
        [
            radios.Radio(
                index=number, node=f"n{number}", interface="wlan0",
                address=f"{net.address(f'n{number}')}/32", cell=cell,
            )
            for number in (1, 2, 3)
        ],
        nodes,
    )  # fmt: skip
    daemons = []
    for number, (name, node) in enumerate(nodes.items(), start=1):
        net.add_monitor(node, "wlan0", "mon0")
        daemon = Daemon(
            interfaces=("wlan0",), monitors=("mon0",), seed=number,
            events=net.CELL / f"{name}.events", options={"no_neighbour_table": ""},
        )  # fmt: skip
        daemons.append(net.start_daemon(node, daemon))
    net.sleep_s(1)
    net.ping(nodes["n1"], "n2", 3, 0.2, "first").finish(60)
    running = net.ping(nodes["n1"], "n2", 10, 0.25, "cut")
    net.sleep_s(1)
    nodes["n2"].run(["ip", "link", "set", "wlan0", "down"])
    running.wait(60)
    net.look(nodes["n1"], "cut-n1")
    net.end(daemons)


main()
