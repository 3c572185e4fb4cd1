"""Brings up radios in the lab, runs what it is told, and leaves the medium's counters.

usage: cell.py SETTINGS.json (in the cell's folder): places_m, options, steps; a step is a node's
command line, or seconds to wait; ``acknowledgements`` are flows whose are counted at a node.
Writes said.json and the medium's files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mininet_topos import netns
from mininet_topos.filters import ack_counts
from mininet_topos.radio import medium, radios

CELL = Path("/cell")


def main() -> None:
    """Run the settings."""
    settings: dict[str, Any] = json.loads((CELL / sys.argv[1]).read_text())
    places = settings["places_m"]
    names = [f"n{i}" for i in range(len(places))]
    nodes = netns.create(names, netns.Journal())
    wanted = [
        radios.Radio(
            index=i,
            node=name,
            interface="wlan0",
            address=f"10.0.{i >> 8}.{(i & 255) + 1}/16",
            cell=radios.Cell(),
        )
        for i, name in enumerate(names)
    ]
    files = {"radios-file": CELL / "radios.csv", "movement-file": CELL / "movement.csv"}
    files["radios-file"].write_text(medium.table(wanted, names))
    files["movement-file"].write_text(settings.get("movement") or medium.standing(places))
    for kind in settings.get("records", ()):
        files[kind] = CELL / kind
    began_ns = time.monotonic_ns()
    options = {"origin-ns": began_ns, **settings.get("options", {})}
    running = medium.start(medium.command(files, options), CELL / "medium.jsonl")
    radios.bring_up(wanted, nodes)
    counting = ack_counts.install(
        nodes, [ack_counts.Watched(**flow) for flow in settings.get("acknowledgements", ())]
    )
    ack_counts.begin(counting, began_ns, 1 << 62)
    said = [f"set up in {time.monotonic_ns() - began_ns} ns"]
    children = []
    for step in settings["steps"]:
        if isinstance(step, (int, float)):
            time.sleep(step)
            continue
        node, *argv = step
        if argv[-1] == "&":
            with nodes[node].entered():
                children.append(subprocess.Popen(argv[:-1], stdout=subprocess.PIPE, text=True))
            continue
        with nodes[node].entered():
            done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
        said.append(done.stdout + done.stderr)
    for child in children:
        said.append(child.communicate(timeout=600)[0])
    peers = {}
    for name in names:
        with nodes[name].entered():
            peers[name] = radios.stations("wlan0")
    checks, _ = ack_counts.read_back(nodes, counting)
    left = {
        "said": said, "totals": running.end(), "peers": peers,
        "hung": [check.agrees for check in checks],
        "acknowledgements": ack_counts.read_counts(counting),
    }  # fmt: skip
    (CELL / "said.json").write_text(json.dumps(left))


main()
