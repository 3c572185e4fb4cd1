"""Three radios in hearing of each other; n2 leaves at once while n1 pings it. Runs in the lab."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import network as net  # type: ignore[import-not-found]

from mininet_topos.aodv.driver import Daemon
from mininet_topos.radio import medium, radios

#: Where the nodes are at first, and when and how far n2 goes.
X_M, LEAVES_NS, FAR_M = (0, 100, 200), 5 * net.S, 5000


def main() -> None:
    names = ["n1", "n2", "n3"]
    nodes = net.nodes(names)
    cell = radios.Cell()
    wanted = [
        radios.Radio(
            index=index, node=name, interface="wlan0", address=f"{net.address(name)}/32", cell=cell
        )
        for index, name in enumerate(names)
    ]
    places = medium.standing([(x, 0) for x in X_M]).splitlines()
    places[3:3] = [f"{LEAVES_NS - 1},1,{X_M[1] * 1000},0", f"{LEAVES_NS},1,{FAR_M * 1000},0"]
    files = {"radios-file": net.CELL / "radios.csv", "movement-file": net.CELL / "movement.csv"}
    files["radios-file"].write_text(medium.table(wanted, names))
    files["movement-file"].write_text("\n".join([*places, ""]))
    began_ns = time.monotonic_ns()
    argv = medium.command(files, {"origin-ns": began_ns})
    running = medium.start(argv, net.CELL / "medium.jsonl")
    radios.bring_up(wanted, nodes)
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
    net.wait_until(began_ns + LEAVES_NS - net.S)
    net.ping(nodes["n1"], "n2", 10, 0.25, "cut").wait(60)
    net.look(nodes["n1"], "cut-n1")
    net.end(daemons)
    (net.CELL / "totals.json").write_text(json.dumps(running.end()))


main()
