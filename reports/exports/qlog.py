"""A TCP or SCTP flow as its sender saw it, as a qlog file of JSON text sequences (RFC 7464).

draft-ietf-quic-qlog-main-schema says what is in it. No event schema of TCP or SCTP is registered,
so these are the project's own; what means the same as in QUIC is named as viewers know it
(``recovery:metrics_updated``, ``transport:packet_sent``).

Invariants: events are in order of time, milliseconds since the flow's start; only rows of some
thousand packets are held at once; what is unknown has no key.
"""

from __future__ import annotations

import datetime
import heapq
import itertools
from collections.abc import Iterator
from typing import Any

from model import run_folder
from model.cell import Flow
from reports.exports.cell import NS_PER_S, ExportedCell, OutFile, host_names, in_ms, json_text
from reports.exports.cell import to_ns as ns
from reports.exports.qlog_events import Event, acknowledgements, losses, packets

ENDING = ".sqlog"
#: What stands before each record.
RECORD = "\N{INFORMATION SEPARATOR TWO}"
#: Private schemas must have URIs of their own; each names its namespace.
SCHEMAS = tuple(f"urn:x-groundtruth:qlog:events:{name}" for name in ("recovery", "transport"))
#: Tables any of which has events.
SOURCES = (
    run_folder.PACKETS_TABLE, run_folder.CONGESTION_TABLE, run_folder.EPISODES_TABLE,
)  # fmt: skip
PROTOCOLS = frozenset({"tcp", "sctp"})
#: Events that are put together into one piece of the file.
AT_ONCE = 1024


def qlog_files(cell: ExportedCell) -> Iterator[OutFile]:
    """Yield one file for each TCP and SCTP flow of a cell; none if nothing recorded them."""
    if not any((cell.folder / name).exists() for name in SOURCES):
        return
    for flow in cell.cell.flows:
        if flow.protocol in PROTOCOLS:
            pieces = _pieces(cell, flow)
            yield OutFile(name=f"{cell.stem}-{flow.id}{ENDING}", pieces=pieces)


def _pieces(cell: ExportedCell, flow: Flow) -> Iterator[bytes]:
    yield _record(_header(cell, flow))
    events = heapq.merge(
        packets(cell.folder, flow),
        acknowledgements(cell.folder, flow),
        losses(cell.found.episodes or (), flow),
        key=lambda event: (event.t_s, event.rank),
    )
    while piece := b"".join(_event(one, flow) for one in itertools.islice(events, AT_ONCE)):
        yield piece


def _event(event: Event, flow: Flow) -> bytes:
    record = {"time": in_ms(event.t_s, flow.start_s), "name": event.name, "data": event.data}
    if event.path:
        record["tuple"] = event.path
    return _record(record)


def _record(content: Any) -> bytes:
    return f"{RECORD}{json_text(content)}\n".encode()


def _header(cell: ExportedCell, flow: Flow) -> dict[str, Any]:
    source, destination = host_names(flow)
    title = f"{cell.title}; flow {flow.id}"
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        # What viewers of earlier drafts look for.
        "qlog_version": "0.3",
        "qlog_format": "JSON-SEQ",
        "title": title,
        "description": (
            f"Flow {flow.id} ({cell.group_label(flow)}) from {source} to {destination}, as its "
            f"sender saw it, on Linux {cell.kernel}; cell {cell.id}."
        ),
        "trace": {
            "title": title,
            "vantage_point": {"name": source, "type": "client"},
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": _reference(cell.epoch_ns, flow.start_s),
                "protocol": flow.protocol,
            },
            "event_schemas": list(SCHEMAS),
        },
    }


def _reference(epoch_ns: int | None, start_s: float) -> dict[str, str]:
    """Return what times count from: the flow's start."""
    if epoch_ns is None:
        return {"clock_type": "monotonic", "epoch": "unknown"}
    at_ns = epoch_ns + ns(start_s)
    since = datetime.datetime.fromtimestamp(at_ns // NS_PER_S, tz=datetime.UTC)
    return {
        "clock_type": "system",
        "epoch": f"{since:%Y-%m-%dT%H:%M:%S}.{at_ns % NS_PER_S:09d}Z",
    }
