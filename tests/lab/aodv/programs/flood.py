"""Five radios with a study's addresses look for who is not there. Runs in the lab."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import network as net  # type: ignore[import-not-found]

from mininet_topos.aodv.driver import Daemon
from model.ad_hoc import address


def main() -> None:
    radios = importlib.import_module("mininet_topos.radio.radios")
    names = [f"n{number}" for number in range(1, 6)]
    nodes = net.nodes(names)
    cell = radios.Cell()
    radios.bring_up(
        [
            radios.Radio(
                index=number, node=name, interface="wlan0",
                address=f"{address(number - 1)}/32", cell=cell,
            )
            for number, name in enumerate(names, start=1)
        ],
        nodes,
    )  # fmt: skip
    options = {"no_request_filter": ""} if "unfiltered" in sys.argv else {}
    daemons = [
        net.start_daemon(node, Daemon(interfaces=("wlan0",), seed=number, options=options))
        for number, node in enumerate(nodes.values(), start=1)
    ]
    net.sleep_s(1)
    for name in ("n1", "n2"):
        net.ping(nodes[name], "n99", 3, 20, f"ping-{name}").wait(120)
    net.end(daemons)


main()
