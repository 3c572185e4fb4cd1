"""Parse what happened to links and what ends said of their paths: raw text -> typed rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from collectors.raw.files import whole, word
from collectors.raw.flows import json_lines
from model import path_names
from model.cell import Cell, Flow
from model.errors import ParseError
from model.run_files.path_tables import EventRow, PathStateRow
from model.units import NS_PER_S

#: What a sender says of a path, and what a receiver says.
LOOK, CHANGE, DATA_FROM = "path", "path_change", "data_from"
_KINDS = (LOOK, CHANGE, DATA_FROM)
STATES = ("active", "potentially_failed", "inactive", "unconfirmed", "unknown")
MS_PER_S = 1000


def event_rows(
    value: Sequence[Mapping[str, Any]],
    cell: Cell,
    epoch_ns: int,
    ends: Mapping[tuple[str, str], tuple[int, int]],
) -> list[EventRow]:
    """Return a row per event of ``raw/events.json``.

    ``ends`` are what each link's channel had let through and lost in the end, by link and way.

    Raises:
        ValueError: they are not the cell's events.
    """
    if [word(entry["event"]) for entry in value] != [event.id for event in cell.events]:
        raise ValueError("not the events of the cell")
    counts = [_counts(entry) for entry in value]
    rows = []
    for number, (event, entry) in enumerate(zip(cell.events, value, strict=True)):
        later = [
            counts[i] for i in range(number + 1, len(value)) if cell.events[i].link == event.link
        ]
        found = {}
        for way in ("forward", "reverse"):
            passed, lost = later[0][way][:2] if later else ends[event.link, way]
            before_passed, before_lost, _ = counts[number][way]
            found[way] = (passed - before_passed, lost - before_lost)
        rows.append(
            EventRow(
                event=event.id,
                t_s=event.t_s,
                done_s=(whole(entry["done_ns"]) - epoch_ns) / NS_PER_S,
                link=event.link,
                path=path_names.path_of_link(event.link),
                state=event.state or None,
                data_under_way_pkts=counts[number]["forward"][2],
                ack_under_way_pkts=counts[number]["reverse"][2],
                data_passed_pkts=found["forward"][0],
                data_lost_pkts=found["forward"][1],
                ack_passed_pkts=found["reverse"][0],
                ack_lost_pkts=found["reverse"][1],
            )
        )
    return rows


def _counts(entry: Mapping[str, Any]) -> dict[str, tuple[int, int, int]]:
    """Return what the link's channels had let through, lost and held, by way."""
    names = ("passed_pkts", "dropped_pkts", "held_pkts")
    found = {}
    for channel in entry["channels"]:
        passed, lost, held = (whole(channel[name]) for name in names)
        found[word(channel["way"])] = (passed, lost, held)
    return found


def path_states(
    flow: Flow,
    sender: str,
    receiver: str,
    epoch_ns: int,
    where: tuple[str, str],
    path_of: Callable[[str], int] = path_names.path_of_address,
) -> list[PathStateRow]:
    """Return what both ends of a flow said of its paths, in order of time.

    ``path_of`` says which path an address is on.

    Raises:
        ParseError: a line is not one that a probe writes.
    """
    rows = []
    for side, text, place in zip(("sender", "receiver"), (sender, receiver), where, strict=True):
        # Among a line for every interval, which others read.
        lines = [line for line in text.splitlines() if any(f'"{w}"' in line for w in _KINDS)]
        for record in json_lines("\n".join(lines), place):
            if record.get("event") in _KINDS:
                rows.append(_row(flow, side, record, epoch_ns, place, path_of))
    return sorted(rows, key=lambda row: row.t_s)


def _row(
    flow: Flow,
    side: str,
    record: Mapping[str, Any],
    epoch_ns: int,
    where: str,
    path_of: Callable[[str], int],
) -> PathStateRow:
    try:
        address = word(record["address"])
        event = str(record["event"])
        look = event == LOOK
        state = word(record["state"]) if look else None
        if look and state not in STATES:
            raise ValueError(f"{state} is no state of a path")
        return PathStateRow(
            flow=flow.id,
            t_s=(whole(record["t_ns"]) - epoch_ns) / NS_PER_S,
            side=side,
            path=path_of(address),
            address=address,
            event={LOOK: "look", DATA_FROM: DATA_FROM}.get(event) or word(record["change"]),
            state=state,
            cwnd_bytes=whole(record["cwnd_bytes"]) if look else None,
            rto_s=whole(record["rto_ms"]) / MS_PER_S if look else None,
            backoffs=whole(record["backoffs"]) if look else None,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise ParseError(
            "not what a probe says of a path", where=where, got=str(record)[:80], hint=repr(error)
        ) from error
