"""Turn a finished cell's raw files into its typed Parquet tables. Reads and writes files only.

Tables are written for every cell, with the same columns and types whether or not a value is
known, so that tables of many cells can be stacked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from collectors import audit_parse, evidence_parse, socket_checks_parse
from collectors.audit_parse import AuditRow
from collectors.congestion_parse import congestion
from collectors.drop_checks_parse import Told, drop_checks
from collectors.drops_parse import drops, tells_places
from collectors.flows_parse import (
    FlowRow,
    IntervalRow,
    Received,
    Sent,
    counters,
    flow_row,
    iperf3_received,
    probe_mss_bytes,
    probe_received,
    probe_sent,
)
from collectors.path_parse import PathRow, path_rows
from collectors.places_parse import parse_places
from collectors.protocol_parse import protocol_table
from collectors.queue_parse import queue
from collectors.raw_parse import read_as, read_text, whole, word
from collectors.socket_samples_parse import read_samples
from collectors.sockets_parse import sockets_table
from collectors.trace_parse import read_trace
from testbed import runfolder
from testbed.cell import Cell, Flow
from testbed.check import Check
from testbed.errors import ParseError

TYPES = {
    "str": pl.String,
    "int": pl.Int64,
    "float": pl.Float64,
    "int | None": pl.Int64,
    "float | None": pl.Float64,
    "bool | None": pl.Boolean,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class QdiscRow:
    """One qdisc's counters at the end of a cell; columns of ``qdiscs.parquet``."""

    node: str
    device: str
    handle: str
    kind: str
    sent_pkts: int
    sent_bytes: int
    dropped_pkts: int
    backlog_pkts: int


def schema(row_type: type) -> dict[str, Any]:
    """Return the Parquet columns of a row type."""
    return {f.name: TYPES[str(f.type)] for f in dataclasses.fields(row_type)}


def qdisc_rows(shown: dict[str, list[dict[str, Any]]]) -> list[QdiscRow]:
    """Return the counters of every shaper and channel from ``tc -j -s qdisc show`` per node."""
    rows = []
    for node in sorted(shown):
        for qdisc in shown[node]:
            if qdisc["kind"] != "netem":
                continue
            rows.append(
                QdiscRow(
                    node=node,
                    device=word(qdisc["dev"]),
                    handle=word(qdisc["handle"]),
                    kind=qdisc["kind"],
                    sent_pkts=whole(qdisc["packets"]),
                    sent_bytes=whole(qdisc["bytes"]),
                    dropped_pkts=whole(qdisc["drops"]),
                    backlog_pkts=whole(qdisc["qlen"]),
                )
            )
    return rows


def _received(folder: Path, flow: Flow, epoch_ns: int) -> Received:
    path = folder / "raw" / "flows" / f"{flow.id}.receiver.jsonl"
    if flow.generator == "iperf3":
        return iperf3_received(read_text(path), flow, str(path))
    return probe_received(read_text(path), flow, epoch_ns, str(path))


def _sent(folder: Path, flow: Flow) -> Sent:
    path = folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    if flow.generator == "iperf3":
        return Sent(connect_s=None, retransmitted_pkts=None)
    return probe_sent(read_text(path), flow, str(path))


def write_tables(folder: Path, cell: Cell) -> None:
    """Parse one measuring cell's raw files; write its tables and its audit.

    Raises:
        ParseError: a raw file is missing, cut short or not what its program writes.
    """
    raw = folder / "raw"
    epoch_ns = read_as(raw / "epoch.json", lambda value: whole(value["epoch_ns"]))
    counted = read_as(
        raw / "counters.json", lambda rows: {f.id: counters(rows, f.id) for f in cell.flows}
    )
    received = {flow.id: _received(folder, flow, epoch_ns) for flow in cell.flows}
    flows = [
        flow_row(flow, cell, received[flow.id], _sent(folder, flow), counted[flow.id])
        for flow in cell.flows
    ]
    intervals = [interval for flow in cell.flows for interval in received[flow.id].intervals]
    (folder / "tables").mkdir(exist_ok=True)
    _write(flows, FlowRow, folder / runfolder.FLOWS_TABLE)
    _write(intervals, IntervalRow, folder / runfolder.INTERVALS_TABLE)
    qdiscs = read_as(raw / "qdiscs.json", qdisc_rows)
    _write(qdiscs, QdiscRow, folder / runfolder.QDISCS_TABLE)
    told, windows = _write_telemetry(folder, cell, epoch_ns)
    checks = _write_sockets(folder, cell, epoch_ns, windows)
    _write_packets(folder, cell, counted, received, checks, told)


def _write_telemetry(
    folder: Path, cell: Cell, epoch_ns: int
) -> tuple[Told | None, pl.DataFrame | None]:
    """Write the tables of what the cell was asked to record; what was not recorded has none.

    Returns what was told of drops, and the congestion table, if there are.
    """
    told, windows = None, None
    if not cell.collect.telemetry and not cell.collect.queue_s:
        return told, windows
    places = read_as(folder / runfolder.PLACES, parse_places)
    if cell.collect.telemetry:
        names = (runfolder.TRACE_PAGES, runfolder.TRACE_FORMATS, runfolder.TRACE_COUNTS)
        trace = read_trace(*(folder / name for name in names))
        known = {flow.id: _mss_bytes(folder, flow) for flow in cell.flows}
        mss_bytes = {name: size for name, size in known.items() if size is not None}
        windows = congestion(trace, cell.flows, epoch_ns, mss_bytes)
        write_parquet(windows, folder / runfolder.CONGESTION_TABLE)
        hooks = {listed.place for listed in evidence_parse.listed_drops(folder, cell)}
        rows = drops(trace, places, epoch_ns, hooks)
        told = Told(rows=rows, placed=tells_places(trace))
        write_parquet(told.rows, folder / runfolder.DROPS_TABLE)
    if cell.collect.queue_s:
        path = folder / runfolder.QUEUE_SAMPLES
        sampled = queue(read_text(path), places, epoch_ns, str(path))
        if not sampled.height:  # the first is taken when the flows start
            raise ParseError("no sample of any qdisc", where=str(path))
        write_parquet(sampled, folder / runfolder.QUEUE_TABLE)
    return told, windows


def _write_sockets(
    folder: Path, cell: Cell, epoch_ns: int, windows: pl.DataFrame | None
) -> list[Check]:
    """Write the tables of sampled sockets and counters; return what they are compared with."""
    if not cell.collect.sockets_s:
        return []
    samples = read_samples(folder / runfolder.SOCKET_SAMPLES, folder / runfolder.SOCKET_SOURCES)
    sockets = sockets_table(samples, cell.flows, epoch_ns)
    protocol = protocol_table(samples, cell.flows, epoch_ns)
    write_parquet(sockets, folder / runfolder.SOCKETS_TABLE)
    write_parquet(protocol, folder / runfolder.PROTOCOL_TABLE)
    totals = evidence_parse.probe_totals(folder, cell)
    return socket_checks_parse.checks(cell, sockets, protocol, windows, totals)


def _mss_bytes(folder: Path, flow: Flow) -> int | None:
    if flow.protocol != "tcp" or flow.generator != "probe":
        return None
    path = folder / "raw" / "flows" / f"{flow.id}.sender.jsonl"
    return probe_mss_bytes(read_text(path), str(path))


def _write_packets(
    folder: Path,
    cell: Cell,
    counted: Mapping[str, Mapping[str, int]],
    received: Mapping[str, Received],
    sampled: list[Check],
    told: Told | None,
) -> None:
    """Write what rests on captures, if there are any, and the audit of the cell."""
    packets = evidence_parse.packets(folder, cell)
    paths: list[PathRow] = []
    if packets is not None:
        paths = path_rows(cell, packets)
        write_parquet(packets, folder / runfolder.PACKETS_TABLE)
        _write(paths, PathRow, folder / runfolder.PATH_TABLE)
    found = evidence_parse.evidence(folder, cell, packets, counted, received)
    audit = audit_parse.rows(cell, found)
    lists = evidence_parse.listed_drops(folder, cell)
    checks = [
        *evidence_parse.checks(cell, found, packets, paths),
        *sampled,
        *evidence_parse.listed_checks(folder, lists, packets),
        *evidence_parse.row_checks(audit),
    ]
    if told is not None:
        checks += drop_checks(cell, found, told, audit, packets)
    _write(audit, AuditRow, folder / runfolder.AUDIT_TABLE)
    (folder / runfolder.AUDIT).write_text(evidence_parse.audit_text(checks, lists))


def _write(rows: Sequence[Any], row_type: type, path: Path) -> None:
    frame = pl.DataFrame([dataclasses.asdict(row) for row in rows], schema=schema(row_type))
    write_parquet(frame, path)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write one table; equal rows give equal bytes."""
    frame.write_parquet(path, compression="zstd", statistics=False)
