"""Four nodes in a row with batman-adv: pings to both ends, ways read back. Runs in the lab."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import row  # type: ignore[import-not-found]

from mininet_topos.baselines import batman


def main() -> None:
    with row.of_radios() as made:
        meshes = {}
        for number, (name, node) in enumerate(made.nodes.items(), start=1):
            meshes[name] = batman.Mesh(interfaces=("wlan0",), address=f"10.1.0.{number}/24")
            batman.bring_up(node, meshes[name])
        row.sleep_s(60)
        row.ping(made.nodes["n1"], "10.1.0.4", "first")
        row.ping(made.nodes["n1"], "10.1.0.4", "far")
        row.ping(made.nodes["n4"], "10.1.0.1", "back")
        ways = {name: batman.originators(made.nodes[name], meshes[name]) for name in meshes}
        said = {name: [dataclasses.asdict(way) for way in found] for name, found in ways.items()}
    (row.CELL / "ways.json").write_text(json.dumps(said))


main()
