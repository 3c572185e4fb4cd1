"""Writes the tables of a cell whose network is of radios; says whether all frames add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from collectors.raw import compressed
from collectors.raw.files import read_as, read_text
from collectors.raw.flows import json_lines
from collectors.raw.radios import airtime_rows, radio_rows
from collectors.raw.router_events import RouterEvents, router_events
from collectors.raw.routers import RouterCounts, router_counts
from collectors.raw.routes import Way, followed
from collectors.tables.parquet import write_rows
from model import run_folder
from model.ad_hoc import DEVICES, PROACTIVE, AdHoc, NodeRadio, RoutingProtocol
from model.cell import Cell, Flow
from model.check import Check
from model.errors import ParseError
from model.run_files.path_tables import AirtimeRow, RadioRow, RouteRow
from model.units import seconds_to_ns

EVENTS = "what a routing daemon did"


def write(folder: Path, cell: Cell, epoch_ns: int) -> list[Check]:
    """Write the tables; return what each radio's frames came to beside what it was handed.

    ``epoch_ns`` is the clock at the start of the run, which medium and routers began before and
    ended after. Nothing is there to be done for a network without radios.

    Raises:
        ParseError: a raw file is missing, or not what medium and daemons write.
    """
    network = cell.ad_hoc
    if network is None:
        return []
    radios, end_ns = network.radios(), epoch_ns + seconds_to_ns(cell.duration_s)
    events = read_events(folder, radios, end_ns)
    if events:
        write_routes(folder, network, cell.flows, events, (epoch_ns, end_ns))
    protocol = network.routing.protocol
    routers = []
    for one in radios:
        path = folder / f"{run_folder.routing(one.node, one.device)}.jsonl"
        counted = counts(read_text(path), str(path), protocol)
        seen = events.get(_name(one))
        routers.append(counted if seen is None else replace(counted, **seen.counts))
    medium = folder / run_folder.MEDIUM
    rows = read_as(medium, lambda value: radio_rows(radios, value, routers))
    airtime = read_as(
        medium,
        lambda value: airtime_rows(value, cell.duration_s, routed_all_along=protocol in PROACTIVE),
    )
    write_rows(rows, RadioRow, folder / run_folder.RADIOS_TABLE)
    write_rows(airtime, AirtimeRow, folder / run_folder.AIRTIME_TABLE)
    return [check for row in rows for check in _checks(row)]


def read_events(folder: Path, radios: Iterable[NodeRadio], end_ns: int) -> dict[str, RouterEvents]:
    """Return by router what each daemon wrote down until the run's end; nothing if none did.

    Raises:
        ParseError: some daemons' events are there and others' are not, or not what they write.
    """
    files = {_name(one): _events_file(folder, one) for one in radios}
    if not any(path.exists() for path in files.values()):
        return {}
    return {
        name: router_events(compressed.read_text(path, EVENTS), str(path), name, end_ns)
        for name, path in files.items()
    }


def _events_file(folder: Path, radio: NodeRadio) -> Path:
    kept = folder / run_folder.routing_events(radio.node, radio.device)
    of_older_run = kept.with_suffix("")
    return of_older_run if of_older_run.exists() else kept


def counts(text: str, where: str, protocol: RoutingProtocol) -> RouterCounts:
    """Return what routed for a radio, in numbers, by the file that it left.

    Raises:
        ParseError: it is not what a router of that protocol writes.
    """
    found = totals(text, where)
    try:
        return router_counts(protocol, found)
    except (ValueError, LookupError, TypeError) as error:
        raise ParseError(
            f"not what {protocol} counts", where=where, got=f"{error!r:.200}"
        ) from error


def write_routes(
    folder: Path,
    network: AdHoc,
    flows: Iterable[Flow],
    events: Mapping[str, RouterEvents],
    run_ns: tuple[int, int],
) -> None:
    """Write each flow's routes over time; ``run_ns`` is the clock at start and end of the run."""
    sources, destinations = network.source_names(), network.destination_names()
    ways = []
    for flow in flows:
        source, destination = sources[flow.source], destinations[flow.destination]
        ways += [
            Way(flow.id, "data", source, destination),
            Way(flow.id, "ack", destination, source),
        ]
    addresses = {one.address: _name(one) for one in network.radios()}
    every = [change for router in events.values() for change in router.changes]
    rows = followed(every, ways, addresses, *run_ns)
    write_rows([_of_nodes(row) for row in rows], RouteRow, folder / run_folder.ROUTES_TABLE)


def _of_nodes(row: RouteRow) -> RouteRow:
    """Return a row whose route names nodes where it passes their second radios."""
    if row.nodes is None:
        return row
    return replace(row, nodes=" ".join(one.partition(".")[0] for one in row.nodes.split()))


def _name(radio: NodeRadio) -> str:
    """Return what a router is called: as its node, the one of a second radio by that, too."""
    return radio.node if radio.device == DEVICES[0] else f"{radio.node}.{radio.device}"


def totals(text: str, where: str) -> Mapping[str, Any]:
    """Return what a router says last: all that it counted.

    Raises:
        ParseError: that is not there.
    """
    records = json_lines(text, where)
    if not records or records[-1].get("event") != "totals":
        raise ParseError("no totals at its end", where=where, wanted="a line of event totals")
    return records[-1]


def _checks(row: RadioRow) -> list[Check]:
    """Every frame has one fate, and every transmission and every RTS one outcome."""
    fates = row.acked_frames + row.given_up_frames + row.group_frames
    fates += row.queue_dropped_frames + row.waiting_frames
    outcomes = row.delivered_attempts + row.repeated_attempts + row.collided_attempts
    outcomes += row.out_of_range_attempts + row.deaf_attempts
    rts = row.rts_delivered_attempts + row.rts_collided_attempts
    rts += row.rts_out_of_range_attempts + row.rts_deaf_attempts
    where = f"node {row.node}" + (f", {row.radio}" if row.radio != DEVICES[0] else "")
    return [
        Check(check=what, where=where, wanted=f"{wanted} {unit}",
              got=f"{got} {unit}", agrees=wanted == got)
        for what, wanted, got, unit in (
            ("acknowledged, given up, sent to all, dropped or waiting", row.frames, fates,
             "frames"),
            ("delivered, repeated, collided, out of range or not listened to", row.attempts,
             outcomes, "transmissions"),
            ("RTS decoded, collided, out of range or not listened to", row.rts_attempts, rts,
             "transmissions"),
        )
    ]  # fmt: skip
