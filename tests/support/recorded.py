"""Outputs of real tools as recorded (tests/data/<tool>-<version>/, each with a README)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

from model.cell import Cell, from_dict
from model.links import Direction, Link, Loss

Way = Literal["forward", "reverse"]
DATA = Path(__file__).parents[1] / "data"


def text(name: str) -> str:
    """Return a recorded output, line ends and all."""
    return (DATA / name).read_bytes().decode()


def value(name: str) -> Any:
    """Return a recorded JSON output."""
    return json.loads(text(name))


def put(path: Path, content: str | bytes | None) -> None:
    """Put other content into a file; None takes the file away."""
    path.unlink()
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def wireless_cell(**changes: Any) -> Cell:
    """Return the cell the probes' outputs come from: 1 % loss, seed 1, 100 s; with changes.

    All of a run of another length is measured.
    """
    if "duration_s" in changes:
        changes = {"measure_to_s": changes["duration_s"], **changes}
    return dataclasses.replace(from_dict(value("probes-0.1.0/cell.json")), **changes)


def direction(**changes: Any) -> Direction:
    """Return one direction of a link, 3 Mbit/s, 250 ms and 10 packets, with changes."""
    plain = Direction(
        rate_bps=3_000_000,
        queue_pkts=10,
        owd_s=0.25,
        channel_limit_pkts=3458,
        loss=Loss(model="none", loss_frac=0.0),
    )
    return dataclasses.replace(plain, **changes)


def with_bottleneck(cell: Cell, way: Way = "forward", **changes: Any) -> Cell:
    """Return a cell with other properties of one direction of its bottleneck."""
    link = cell.wired.bottleneck
    changed = dataclasses.replace(link, **{way: dataclasses.replace(getattr(link, way), **changes)})
    return dataclasses.replace(cell, network=dataclasses.replace(cell.wired, bottleneck=changed))


def both_ways(one: Direction) -> Link:
    """Return a link that is the same in both directions."""
    return Link(forward=one, reverse=one)
