"""Four nodes in a row with babeld: ways, pings, what it sent, and a way that breaks.

Runs in the lab. At ``BREAK_S`` the third node is gone and the fourth beside the second.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import row  # type: ignore[import-not-found]

from mininet_topos.baselines import babel, babel_ways
from mininet_topos.baselines.babel_nowhere import METRIC, NOWHERE
from mininet_topos.filters import message_counts
from mininet_topos.netns import Namespace
from probes.process import start

WLAN, TCP_PORT = "wlan0", 5001
BREAK_S, FAR_AWAY_M, BESIDE_N2_M = 200, 10_000, 300
PINGS, EVERY_S = 200, 0.5
#: An address that nobody has.
GONE = "10.0.0.9"


def connect(nodes: dict[str, Namespace]) -> float:
    """Return how long a TCP connection from end to end takes that begins before there is a way."""
    with nodes["n4"].entered():
        server = socket.create_server(("10.0.0.4", TCP_PORT))
    with nodes["n1"].entered():
        client = socket.socket()
    began_s = time.monotonic()
    client.settimeout(100)
    client.connect(("10.0.0.4", TCP_PORT))
    took_s = time.monotonic() - began_s
    client.close()
    server.close()
    return took_s


def withdrawn(before: Namespace, here: Namespace) -> None:
    """Ping an address that has no way any more, from there and over there."""
    # As babeld has them in the kernel.
    here.run(["ip", "route", "add", "unreachable", GONE, "metric", str(METRIC + 1)])
    before.run(["ip", "route", "add", GONE, "via", "10.0.0.2", "dev", WLAN, "onlink"])
    row.ping(here, GONE, "own")
    row.ping(before, GONE, "passed-on")


def counted(node: Namespace) -> dict[str, int]:
    """Return what the kernel counted of IPv6 on a node's radio."""
    lines = node.read_file(f"/proc/net/dev_snmp6/{WLAN}").splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines)}


def known(
    nodes: dict[str, Namespace], daemons: dict[str, babel.Daemon]
) -> Iterator[dict[str, object]]:
    """Yield what each node's kernel and daemon know."""
    for name, node in nodes.items():
        answer = babel_ways.ask(daemons[name].questions, name)
        yield {"routes": babel_ways.routes(node), "answer": dataclasses.asdict(answer)}


def main() -> None:
    moves = {"n3": [(BREAK_S, FAR_AWAY_M)], "n4": [(BREAK_S, BESIDE_N2_M)]}
    said: dict[str, object] = {}
    with row.of_radios(moves) as made:
        daemons, counters, running = {}, {}, []
        own = {radio.node: radio.address.removesuffix("/32") for radio in made.radios}
        for radio in made.radios:
            node = made.nodes[radio.node]
            daemon = babel.Daemon(
                addresses={WLAN: own[radio.node]}, router_id=radio.mac,
                place=Path("/run/babel") / radio.node,
                others=(*(one for name, one in own.items() if name != radio.node), GONE),
            )  # fmt: skip
            babel.bring_up(node, daemon, {WLAN: radio.mac})
            counters[radio.node] = message_counts.count(node, WLAN, babel.PORT)
            running.append(start(node, daemon.argv(), row.CELL / radio.node))
            counters[radio.node].await_first(10)
            daemons[radio.node] = daemon
        said["started_s"] = time.monotonic()
        said["connect_s"] = connect(made.nodes)
        row.sleep_s(60)
        row.ping(made.nodes["n1"], "10.0.0.4", "first")
        row.ping(made.nodes["n1"], "10.0.0.4", "far")
        row.ping(made.nodes["n4"], "10.0.0.1", "back")
        withdrawn(made.nodes["n1"], made.nodes["n2"])
        (row.CELL / "dump").write_text(babel_ways.dump(daemons["n2"].questions, "n2"))
        said["before"] = dict(zip(made.nodes, known(made.nodes, daemons), strict=True))
        row.until_s(BREAK_S)
        words = ["ping", "-n", "-c", str(PINGS), "-i", str(EVERY_S), "-W", "1", "10.0.0.4"]
        start(made.nodes["n1"], words, row.CELL / "broken").wait(PINGS * EVERY_S + 20)
        said["after"] = dict(zip(made.nodes, known(made.nodes, daemons), strict=True))
        for one in running:
            one.terminate()
        for one in running:
            one.finish(10)
        row.sleep_s(1)  # what they said last may wait in a radio
        said["left"] = {name: babel_ways.routes(node) for name, node in made.nodes.items()}
        said["kernel"] = {name: counted(node) for name, node in made.nodes.items()}
        said["sent"] = {name: dataclasses.asdict(one.sent()) for name, one in counters.items()}
        said["nowhere"] = {
            name: node.json(["ip", "-json", "-stats", "link", "show", NOWHERE])[0]["stats64"]
            for name, node in made.nodes.items()
        }
    (row.CELL / "said.json").write_text(json.dumps(said, indent=1))


main()
