"""Four nodes in a row with a radio each, in hearing of neighbours only. Runs in the lab."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mininet_topos.netns import Journal, Namespace, create
from mininet_topos.radio import medium
from mininet_topos.radio.radios import Cell, Radio, bring_up
from probes.process import start, wait_until

CELL = Path("/cell")
APART_M, NODES = 200, 4
S = 1_000_000_000


@dataclass(frozen=True)
class Row:
    nodes: dict[str, Namespace]
    radios: list[Radio]


@contextlib.contextmanager
def of_radios(moves: Mapping[str, Sequence[tuple[float, float]]] | None = None) -> Iterator[Row]:
    """Bring the radios up; leave the medium's totals at the end.

    ``moves`` are the jumps of nodes along the row: when, in seconds since the kernel's start, and
    to where, in metres.
    """
    names = [f"n{number}" for number in range(1, NODES + 1)]
    nodes = create(names, Journal())
    radios = [
        Radio(
            index=index, node=name, interface="wlan0", address=f"10.0.0.{index + 1}/32",
            cell=Cell(),
        )
        for index, name in enumerate(names)
    ]  # fmt: skip
    files = {"radios-file": CELL / "radios.csv", "movement-file": CELL / "movement.csv"}
    files["radios-file"].write_text(medium.table(radios, names))
    files["movement-file"].write_text(movement(names, moves or {}))
    files["pcap"] = CELL / "pcap"
    running = medium.start(medium.command(files, {}), CELL / "medium.jsonl")
    for node in nodes.values():
        node.run(["ip", "link", "set", "lo", "up"])
        node.write_sysctl("net.ipv4.ip_forward", "1")
    bring_up(radios, nodes)
    yield Row(nodes, radios)
    (CELL / "totals.json").write_text(json.dumps(running.end()))


def movement(names: Sequence[str], moves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    lines = [medium.MOVEMENT_HEADER]
    for number, name in enumerate(names):
        x_mm = APART_M * number * 1000
        lines.append(f"0,{number},{x_mm},0")
        for at_s, x_m in moves.get(name, ()):
            lines.append(f"{int(at_s * S) - 1},{number},{x_mm},0")
            x_mm = round(x_m * 1000)
            lines.append(f"{int(at_s * S)},{number},{x_mm},0")
    return "\n".join([*lines, ""])


def ping(node: Namespace, address: str, stem: str) -> None:
    words = ["ping", "-n", "-c", "10", "-i", "0.5", "-W", "2", address]
    start(node, words, CELL / stem).wait(60)


def sleep_s(seconds: float) -> None:
    wait_until(time.monotonic_ns() + int(seconds * S))


def until_s(when_s: float) -> None:
    """Wait until that time since the kernel's start."""
    wait_until(int(when_s * S))
