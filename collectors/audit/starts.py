"""When each flow was to start, and when it did. Pure, but for reading what its files hold.

Who says so: a probe's sender, of its own connection or first packet; of other generators the agent
that started them. A flow that starts at another time than it was asked to measures something else,
whatever else is right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from collectors.raw.files import read_as, read_text, whole, word
from collectors.raw.flows import json_lines
from model import run_folder
from model.cell import Cell, Flow
from model.check import Check
from model.tolerances import EXACT, Tolerances
from model.units import NS_PER_S

CHECK = "start"
#: How a probe says that it gave up (probes/probe_sender.c).
UNCONNECTED = "unconnected"


def read_checks(folder: Path, cell: Cell, tolerances: Tolerances = EXACT) -> list[Check]:
    """Return the comparisons of a cell's starts.

    Raises:
        ParseError: a raw file is missing or broken.
    """
    epoch_ns, late_ns = read_as(
        folder / run_folder.EPOCH, lambda value: (whole(value["epoch_ns"]), whole(value["late_ns"]))
    )
    launched = read_as(folder / run_folder.STARTS, _launched)
    began = {
        flow.id: _began_ns(folder, flow) if flow.generator == "probe" else launched.get(flow.id)
        for flow in cell.flows
    }
    unconnected = {flow.id for flow in cell.flows if _never_connected(folder, flow)}
    return checks(cell, epoch_ns, late_ns, began, unconnected, tolerances)


def checks(
    cell: Cell,
    epoch_ns: int,
    late_ns: int,
    began: Mapping[str, int | None],
    unconnected: Collection[str] = (),
    tolerances: Tolerances = EXACT,
) -> list[Check]:
    """Compare the times at which flows began, in order of the times at which they should.

    Of a flow that never came to a connection nothing says when it tried first: none can tell.
    """
    ready = Check(
        check="ready", where="agent", wanted="before time zero",
        got="before it" if late_ns == 0 else f"{late_ns / NS_PER_S:.6f} s late",
        agrees=late_ns == 0,
    )  # fmt: skip
    flows = sorted(cell.flows, key=lambda flow: flow.start_s)
    tolerance_s = tolerances.start_s + tolerances.start_per_flow_s * len(flows)
    found = [_start(flow, epoch_ns, began[flow.id], tolerance_s) for flow in flows]
    return [
        ready,
        *(
            dataclasses.replace(check, got="never connected: cannot tell", agrees=None)
            if flow.id in unconnected and began[flow.id] is None
            else check
            for flow, check in zip(flows, found, strict=True)
        ),
    ]


def _start(flow: Flow, epoch_ns: int, began_ns: int | None, tolerance_s: float) -> Check:
    began_s = None if began_ns is None else (began_ns - epoch_ns) / NS_PER_S
    return Check(
        check=CHECK,
        where=f"flow {flow.id}",
        wanted=f"{flow.start_s:.6f} s within {tolerance_s * 1000:g} ms",
        got="never" if began_s is None else f"{began_s:.6f} s",
        agrees=began_s is not None and abs(began_s - flow.start_s) <= tolerance_s,
    )


def _launched(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {word(row["flow"]): whole(row["started_ns"]) for row in rows}


def _never_connected(folder: Path, flow: Flow) -> bool:
    """Return whether a probe says in its totals that it gave up before there was a connection."""
    if flow.generator != "probe":
        return False
    path = folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    text = read_text(path)
    return f'"{UNCONNECTED}"' in text and any(
        one.get("end") == UNCONNECTED for one in json_lines(text, str(path))
    )


def _began_ns(folder: Path, flow: Flow) -> int | None:
    """Return when a probe began to connect or, without connections, sent its first packet."""
    path = folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    event, name = (
        ("totals", "first_send_t_ns") if flow.protocol == "udp"
        else ("connected", "connect_start_t_ns")
    )  # fmt: skip
    lines = [line for line in read_text(path).splitlines() if f'"{event}"' in line]
    found = [record.get(name) for record in json_lines("\n".join(lines), str(path))]
    return found[0] if found and type(found[0]) is int else None
