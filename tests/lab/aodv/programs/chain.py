"""Five nodes in a row and a way round the middle one; the link n2-n3 is cut meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import network as net  # type: ignore[import-not-found]

from mininet_topos.aodv.driver import Daemon, route_metrics

LINKS = (("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n5"), ("n2", "n6"), ("n6", "n7"),
         ("n7", "n4"))  # fmt: skip
#: What the routes of n4 have besides the way, by iproute2's names.
METRICS = {"advmss": "1000", "initcwnd": "3", "initrwnd": "5", "mtu": "1200", "quickack": "1",
           "rto_min": "492ms", "window": "30000"}  # fmt: skip


def main() -> None:
    nodes = net.nodes([f"n{number}" for number in range(1, 8)])
    for one, other in LINKS:
        net.join(nodes, one, other)
    tap = net.sniff(nodes["n1"], "to-n2")
    daemons = []
    for number, (name, node) in enumerate(nodes.items(), start=1):
        ends = [
            f"to-{other if name == one else one}" for one, other in LINKS if name in (one, other)
        ]
        daemon = Daemon(
            interfaces=tuple(ends), seed=number, events=net.CELL / f"{name}.events",
            options={
                "hello": "", "host_unreachable": "", "ttl_start_hops": "1",
                **route_metrics(METRICS if name == "n4" else {}),
            },
        )  # fmt: skip
        daemons.append(net.start_daemon(node, daemon))
    net.sleep_s(1)
    net.look(nodes["n3"], "before-n3")
    net.ping(nodes["n1"], "n5", 3, 0.2, "first").finish(60)
    for name in ("n1", "n3", "n4"):
        net.look(nodes[name], f"during-{name}")
    running = net.ping(nodes["n1"], "n5", 48, 0.25, "cut")
    net.sleep_s(3)
    for name, interface in (("n2", "to-n3"), ("n3", "to-n2")):
        nodes[name].run(["tc", "qdisc", "add", "dev", interface, "root", "netem", "loss", "100%"])
    running.wait(60)
    net.look(nodes["n2"], "rerouted-n2")
    net.ping(nodes["n1"], "n99", 1, 1, "nobody").wait(60)
    net.sleep_s(60)
    net.look(nodes["n2"], "idle-n2")
    net.end(daemons)
    for name in ("n1", "n2"):
        net.look(nodes[name], f"after-{name}")
    (net.CELL / "wire.txt").write_text(net.sniffed(tap))


main()
