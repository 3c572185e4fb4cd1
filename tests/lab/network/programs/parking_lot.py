"""Run in a lab: build a parking lot, fill every link between routers, then run UDP flows across it.

Leaves the logs of fills, per-flow counters and the qdiscs' counters.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from mininet_topos import check_built, fast_builder
from mininet_topos.layout import counters
from mininet_topos.netns import Journal
from mininet_topos.parking_lot import ParkingLot
from model.cell import from_dict
from probes.driver import BIN
from probes.process import start, start_ready
from testbed.guest import link_fill
from testbed.guest.team import Alone

CELL, TIMEOUT_S = Path("/cell"), 200.0
OPTIONS: dict[str, Any] = json.loads(sys.argv[1])

cell = from_dict(json.loads((CELL / "flows.json").read_text()))
topology = ParkingLot(**OPTIONS)
laid_out = topology.layout()
spaces, routes = fast_builder.build(topology, cell.flows, {}, Journal())
checks, _ = check_built.read_back(laid_out, spaces, {}, routes)
(CELL / "disagree.json").write_text(json.dumps([str(c) for c in checks if not c.agrees]))

time.sleep(10)  # of the lab's time: interfaces that came up speak IPv6 for a while
fills: dict[str, Any] = {}
for fill in link_fill.fills_of(laid_out):
    if fill.what.startswith("bottleneck"):
        fills |= link_fill.measure(fill, spaces, CELL, Alone())
(CELL / "fills.json").write_text(json.dumps(fills))


def qdiscs() -> dict[str, Any]:
    return {
        name: spaces[name].json(["tc", "-j", "-s", "qdisc", "show"]) for name in laid_out.routers
    }


(CELL / "before.json").write_text(json.dumps(qdiscs()))
running = []
for flow in cell.flows:
    here, there = laid_out.sources[flow.source], laid_out.destinations[flow.destination]
    common = ["--port", str(flow.port)]
    receiver = [str(BIN / "udp_recv"), *common, "--idle-s", "10", "--interval-s", "3600"]
    running.append(start_ready(spaces[there], receiver, CELL / f"{flow.id}.receiver", TIMEOUT_S))
    sender = [
        str(BIN / "udp_send"), *common, "--host", laid_out.interface(there).address,
        "--rate-bps", str(flow.rate_bps), "--message-bytes", str(flow.message_bytes),
        "--duration-s", str(flow.stop_s),
    ]  # fmt: skip
    running.append(start(spaces[here], sender, CELL / f"{flow.id}.sender"))
for program in running:
    program.finish(TIMEOUT_S)
(CELL / "after.json").write_text(json.dumps(qdiscs()))
rows = check_built.read_counters(spaces, counters(laid_out, cell.flows))
(CELL / "counters.json").write_text(json.dumps(rows))
