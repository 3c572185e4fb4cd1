"""Writes the tables events and paths of a cell that has any; compares when events were done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from collectors.audit.packet_balance import compare, roots, stretches
from collectors.raw import paths
from collectors.raw.files import read_as, read_text
from collectors.tables.parquet import write_rows
from model import ad_hoc, path_names, run_folder
from model.cell import Cell
from model.check import Check
from model.run_files.path_tables import EventRow, PathStateRow
from model.tolerances import Tolerances

#: An event is done by a program that the agent starts, and looks at the clock on the way.
EVENT_S = 0.001
WAYS = {"data": "forward", "ack": "reverse"}


def write(folder: Path, cell: Cell, epoch_ns: int, tolerances: Tolerances) -> list[Check]:
    """Write both tables; return the comparisons of when events were done with when they were due.

    Raises:
        ParseError: a raw file is missing, or not what the lab writes.
    """
    flows = [flow for flow in cell.flows if flow.is_multihomed()]
    if flows:
        path_of = ad_hoc.path_of_address if cell.ad_hoc else path_names.path_of_address
        rows = []
        for flow in flows:
            names = [
                str(folder / "raw" / "flows" / f"{flow.id}.{side}.jsonl")
                for side in ("sender", "receiver")
            ]
            sender, receiver = (read_text(Path(name)) for name in names)
            rows += paths.path_states(
                flow, sender, receiver, epoch_ns, (names[0], names[1]), path_of
            )
        write_rows(rows, PathStateRow, folder / run_folder.PATHS_TABLE)
    if not cell.events:
        return []
    ends = read_as(folder / "raw" / "qdiscs.json", lambda shown: _ends(folder, cell, shown))
    events = read_as(
        folder / run_folder.EVENTS, lambda value: paths.event_rows(value, cell, epoch_ns, ends)
    )
    write_rows(events, EventRow, folder / run_folder.EVENTS_TABLE)
    return [*in_time(events, tolerances), *never_through(events)]


def _ends(
    folder: Path, cell: Cell, shown: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[tuple[str, str], tuple[int, int]]:
    """Return what the channel of each way of each bottleneck let through and lost in the end."""
    counted = roots(shown)
    every = read_as(folder / "raw" / "path.json", lambda value: stretches(value, cell))
    return {
        (one.link(), WAYS[one.direction]): counted[one.node, one.devices[0]][:2]
        for one in every
        if one.name == "bottleneck channel"
    }


def in_time(events: Sequence[EventRow], tolerances: Tolerances) -> list[Check]:
    """Compare when events were done with when they were due."""
    most_s = max(EVENT_S, tolerances.delay_s)
    return [
        Check(
            check="event in time", where=f"event {event.event}, {event.link}",
            wanted=f"{event.t_s:g} s, at most {most_s * 1000:g} ms later",
            got=f"{(event.done_s - event.t_s) * 1000:.6f} ms later",
            agrees=0 <= event.done_s - event.t_s <= most_s,
        )
        for event in events
    ]  # fmt: skip


def never_through(events: Sequence[EventRow]) -> list[Check]:
    """Compare what came through a link that was down with what was under way when it went down."""
    return [
        compare(
            f"through a link that is down, {way}", f"event {event.event}, {event.link}", wanted,
            got, "packets",
        )
        for event in events
        if event.state == "down"
        for way, wanted, got in (
            ("data", event.data_under_way_pkts, event.data_passed_pkts),
            ("acknowledgements", event.ack_under_way_pkts, event.ack_passed_pkts),
        )
    ]  # fmt: skip
