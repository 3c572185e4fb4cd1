"""Tables of what the kernel told while flows ran: trace events, queue samples, socket samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from collectors.audit import mark_checks, socket_checks
from collectors.audit.drop_checks import Told
from collectors.raw.files import read_as, read_text
from collectors.raw.flows import probe_mss_bytes
from collectors.sockets.expiries import expiries
from collectors.sockets.protocol import protocol_table
from collectors.sockets.samples import read_samples
from collectors.sockets.sockets import sockets_table
from collectors.tables import packet_evidence
from collectors.tables.parquet import write_parquet
from collectors.trace.congestion import congestion
from collectors.trace.drops import drops, tells_places
from collectors.trace.events import read_trace
from collectors.trace.queue import parse_places, queue
from model import run_folder
from model.cell import Cell, Flow
from model.check import Check
from model.errors import ParseError
from model.tolerances import Tolerances


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recorded:
    """Tables of what the kernel told of itself: congestion, drops, queues; None: not recorded."""

    windows: pl.DataFrame | None = None
    told: Told | None = None
    queue: pl.DataFrame | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counted:
    """What hosts counted, where that is known.

    ``expired``: by flow how often its timer expired; ``marked_at``: by host the marked packets that
    came.
    """

    expired: Mapping[str, int] = dataclasses.field(default_factory=dict)
    marked_at: Mapping[str, int] = dataclasses.field(default_factory=dict)


def write_recorded(folder: Path, cell: Cell, epoch_ns: int) -> Recorded:
    """Write the tables of what the cell was asked to record; what was not recorded has none.

    Raises:
        ParseError: a raw file is missing, cut short or not what its program writes.
    """
    recorded = Recorded()
    if not cell.collect.telemetry and not cell.collect.queue_s:
        return recorded
    places = read_as(folder / run_folder.PLACES, parse_places)
    if cell.collect.telemetry:
        names = (run_folder.TRACE_PAGES, run_folder.TRACE_FORMATS, run_folder.TRACE_COUNTS)
        trace = read_trace(*(folder / name for name in names))
        sizes = {flow.id: _mss_bytes(folder, flow) for flow in cell.flows}
        mss_bytes = {name: size for name, size in sizes.items() if size is not None}
        rows = congestion(trace, cell.flows, epoch_ns, mss_bytes)
        write_parquet(rows, folder / run_folder.CONGESTION_TABLE)
        hooks = {listed.place for listed in packet_evidence.numbered_drops(folder, cell)}
        dropped = drops(trace, places, epoch_ns, hooks)
        if cell.on_machines_kernel():  # it also tells of what else the machine drops
            dropped = dropped.filter(
                (pl.col("event") != "qdisc_drop") | pl.col("node").is_not_null()
            )
        write_parquet(dropped, folder / run_folder.DROPS_TABLE)
        told = Told(rows=dropped, placed=tells_places(trace))
        recorded = Recorded(windows=rows, told=told)
    if cell.collect.queue_s:
        path = folder / run_folder.QUEUE_SAMPLES
        sampled = queue(read_text(path), places, epoch_ns, str(path))
        if not sampled.height:  # the first is taken when the flows start
            raise ParseError("no sample of any qdisc", where=str(path))
        write_parquet(sampled, folder / run_folder.QUEUE_TABLE)
        recorded = dataclasses.replace(recorded, queue=sampled)
    return recorded


def write_sockets(
    folder: Path,
    cell: Cell,
    epoch_ns: int,
    told: Mapping[str, pl.DataFrame] | None,
    tolerances: Tolerances,
) -> tuple[Counted, list[Check]]:
    """Write the tables of sampled sockets and counters.

    Returns what hosts counted of flows, where that is known, and what samples are compared with.
    """
    if not cell.collect.sockets_s:
        return Counted(), []
    samples = read_samples(folder / run_folder.SOCKET_SAMPLES, folder / run_folder.SOCKET_SOURCES)
    sockets = sockets_table(samples, cell.flows, epoch_ns)
    protocol = protocol_table(samples, cell.flows, epoch_ns)
    write_parquet(sockets, folder / run_folder.SOCKETS_TABLE)
    write_parquet(protocol, folder / run_folder.PROTOCOL_TABLE)
    totals = packet_evidence.probe_totals(folder, cell)
    checks = socket_checks.checks(cell, sockets, protocol, told, totals, tolerances)
    counted = Counted(
        expired=expiries(cell.flows, sockets, protocol),
        marked_at=mark_checks.received_by_host(cell, protocol),
    )
    return counted, checks


def _mss_bytes(folder: Path, flow: Flow) -> int | None:
    if flow.protocol != "tcp" or flow.generator != "probe":
        return None
    path = folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    return probe_mss_bytes(read_text(path), str(path))
