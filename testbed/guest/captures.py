"""Captures of a cell inside a lab: which taps, what they mean, and that nothing was lost."""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.recording import tcpdump
from mininet_topos import taps
from mininet_topos.layout import Layout
from mininet_topos.netns import Namespace
from model.cell import Cell

SCHEMA = 1


@dataclass(frozen=True)
class Captures:
    """The captures of a cell that run: none if it asks for none."""

    folder: Path
    running: tuple[tcpdump.Capture, ...]

    def stop(self) -> None:
        """End them on a silent network; write counts.json; raise if one lost a packet."""
        if self.running:
            _write(self.folder / "counts.json", tcpdump.stop(self.running))


def write_path(laid_out: Layout, raw: Path) -> None:
    """Write raw/path.json: what packets pass, and the capture points before and after."""
    stretches = taps.stretches(laid_out)
    _write(raw / "path.json", [dataclasses.asdict(stretch) for stretch in stretches])


def start(cell: Cell, raw: Path, laid_out: Layout, spaces: Mapping[str, Namespace]) -> Captures:
    """Start one capture in each router if the cell asks for captures.

    raw/pcap/points.json says which point each interface index and way is.
    """
    folder = raw / "pcap"
    if not cell.collect.pcap:
        return Captures(folder, ())
    folder.mkdir()
    snap_bytes = tcpdump.snap_bytes(cell)
    running, points = [], []
    for router in laid_out.routers:
        file = folder / f"{router}.pcap"
        chosen = []
        for tap in taps.taps(laid_out):
            if tap.node == router:
                with spaces[router].entered():
                    ifindex = socket.if_nametoindex(tap.device)
                chosen.append(tcpdump.Tap(ifindex=ifindex, way=tap.way))
                points.append({"file": file.name, "ifindex": ifindex, **dataclasses.asdict(tap)})
        running.append(tcpdump.start(spaces[router], chosen, snap_bytes, file))
    content = {"schema": SCHEMA, "snap_bytes": snap_bytes, "taps": points}
    _write(folder / "points.json", content)
    return Captures(folder, tuple(running))


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
