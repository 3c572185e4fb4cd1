"""Turn a finished cell's raw files into its typed Parquet tables. Reads and writes files only.

Tables are written for every cell, with the same columns and types whether or not a value is
known, so that tables of many cells can be stacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from collectors.audit import ack_checks, mark_checks, message_checks, packet_balance, second_source
from collectors.audit.drop_checks import Told, drop_checks
from collectors.episodes.congestion_window import mean_cwnd_segments
from collectors.episodes.episodes import episodes
from collectors.episodes.sender_limits import Observed, limits
from collectors.packets.messages import message_rows
from collectors.packets.path import path_rows
from collectors.raw import messages
from collectors.raw.acknowledgements import acknowledgement_rows
from collectors.raw.files import read_as, read_bytes, read_text, whole, word
from collectors.raw.flows import (
    Received,
    Sent,
    counters,
    flow_row,
    iperf3_received,
    probe_received,
    probe_sent,
    unconnected,
)
from collectors.tables import packet_evidence, path_files, radio_files
from collectors.tables.kernel_events import write_recorded, write_sockets
from collectors.tables.parquet import write_parquet, write_rows
from collectors.trace.congestion import by_flow
from model import plain_files, run_folder
from model.cell import Cell, Flow
from model.check import Check
from model.links import ACTIVE
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from model.run_files.traffic_tables import (
    AcknowledgementRow,
    AuditRow,
    FlowRow,
    IntervalRow,
    PathRow,
    QdiscRow,
)
from model.tolerances import EXACT, Tolerances


def qdisc_rows(shown: dict[str, list[dict[str, Any]]]) -> list[QdiscRow]:
    """Return the counters of every shaper, managed queue and channel.

    ``shown`` is ``tc -j -s qdisc show`` by node.
    """
    rows = []
    for node in sorted(shown):
        for qdisc in shown[node]:
            manages = qdisc["kind"] in ACTIVE
            if qdisc["kind"] not in packet_balance.SHAPING and not manages:
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
                    marked_pkts=whole(qdisc["ecn_mark"]) if manages else None,
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


def _messages(folder: Path, flow: Flow) -> messages.Recorded:
    """Return what both ends recorded of a flow's messages."""
    found = []
    for side, kind in (("sender", messages.SENT), ("receiver", messages.DELIVERED)):
        path = folder / run_folder.messages(flow.id, side)
        found.append(messages.parse(read_bytes(path, "the times of messages"), kind, str(path)))
    return messages.Recorded(*found)


def _write_acknowledgements(folder: Path, cell: Cell) -> list[AcknowledgementRow]:
    """Write what acknowledging took, if the cell counted it, and return it."""
    if not cell.collect.acknowledgements:
        return []
    path = folder / run_folder.ACKNOWLEDGEMENTS
    rows = read_as(path, lambda entries: acknowledgement_rows(entries, cell))
    write_rows(rows, AcknowledgementRow, folder / run_folder.ACKNOWLEDGEMENTS_TABLE)
    return rows


def write_tables(folder: Path, cell: Cell, tolerances: Tolerances = EXACT) -> None:
    """Parse one measuring cell's raw files; write its tables and its audit.

    ``tolerances`` are those of the lab it ran in.

    Raises:
        ParseError: a raw file is missing, cut short or not what its program writes.
    """
    raw = folder / "raw"
    epoch_ns = read_as(raw / "epoch.json", lambda value: whole(value["epoch_ns"]))
    counted = read_as(
        raw / "counters.json", lambda rows: {f.id: counters(rows, f.id) for f in cell.flows}
    )
    received = {flow.id: _received(folder, flow, epoch_ns) for flow in cell.flows}
    recorded = write_recorded(folder, cell, epoch_ns)
    windows = recorded.windows
    by_its_flow = None if windows is None else by_flow(windows, cell.flows)
    told, checks = write_sockets(folder, cell, epoch_ns, by_its_flow, tolerances)
    marked = mark_checks.of_flows(cell, told.marked_at)
    flows = [
        flow_row(
            flow,
            cell,
            received[flow.id],
            _sent(folder, flow),
            counted[flow.id],
            None if by_its_flow is None else mean_cwnd_segments(flow, cell, by_its_flow[flow.id]),
            told.expired.get(flow.id),
            marked.get(flow.id),
        )
        for flow in cell.flows
    ]
    intervals = [interval for flow in cell.flows for interval in received[flow.id].intervals]
    write_rows(flows, FlowRow, folder / run_folder.FLOWS_TABLE)
    write_rows(intervals, IntervalRow, folder / run_folder.INTERVALS_TABLE)
    qdiscs = read_as(raw / "qdiscs.json", qdisc_rows)
    write_rows(qdiscs, QdiscRow, folder / run_folder.QDISCS_TABLE)
    checks += path_files.write(folder, cell, epoch_ns, tolerances)
    checks += radio_files.write(folder, cell, epoch_ns)
    timed = {flow.id: _messages(folder, flow) for flow in cell.flows
             if cell.records_messages_of(flow)}  # fmt: skip
    totals = {flow.id: packet_evidence.last_totals(folder, flow) for flow in cell.flows}
    checks += message_checks.checks(cell, timed, received, totals)
    packets, paths = _write_packets(
        folder, cell, counted, received, recorded.told, checks, unconnected(flows), tolerances,
        _Marks(qdiscs, told.marked_at),
    )  # fmt: skip
    if timed:
        known = packet_evidence.one_way_delays(folder)
        table = message_rows(cell, timed, epoch_ns, packets, one_way_delays=known)
        write_parquet(table, folder / run_folder.MESSAGES_TABLE)
    found_episodes = episodes(cell, packets, by_its_flow)
    if found_episodes is not None:
        write_rows(found_episodes, EpisodeRow, folder / run_folder.EPISODES_TABLE)
    if found_episodes is not None and by_its_flow is not None:
        seen = Observed(
            cell=cell,
            flows=flows,
            told=by_its_flow,
            episodes=found_episodes,
            queue=recorded.queue,
            paths=paths,
            data_until_s={interval.flow: interval.end_s for interval in intervals},
            totals=totals,
        )
        write_rows(limits(seen), LimitsRow, folder / run_folder.LIMITS_TABLE)


@dataclass(frozen=True)
class _Marks:
    """Marks by the queues that made them, and by the hosts they came to."""

    made: list[QdiscRow]
    came_to: Mapping[str, int]


def _write_packets(
    folder: Path,
    cell: Cell,
    counted: Mapping[str, Mapping[str, int]],
    received: Mapping[str, Received],
    told: Told | None,
    sampled: list[Check],
    of_flows: list[dict[str, str]],
    tolerances: Tolerances,
    marks: _Marks,
) -> tuple[pl.DataFrame | None, list[PathRow]]:
    """Write what rests on captures, if there are any, and the audit of the cell.

    Returns the packets table and the path's rows.
    """
    packets = packet_evidence.packets(folder, cell)
    acknowledgements = _write_acknowledgements(folder, cell)
    totals = packet_evidence.probe_totals(folder, cell)
    paths: list[PathRow] = []
    if packets is not None:
        known = packet_evidence.one_way_delays(folder)
        paths = path_rows(cell, packets, one_way_delays=known)
        write_parquet(packets, folder / run_folder.PACKETS_TABLE)
        write_rows(paths, PathRow, folder / run_folder.PATH_TABLE)
    found = packet_evidence.evidence(folder, cell, packets, counted, received)
    audit = packet_balance.rows(cell, found)
    if cell.ad_hoc:
        checks = [
            *sampled,
            *second_source.checks(cell, found, totals, received),
        ]
        write_rows([], AuditRow, folder / run_folder.AUDIT_TABLE)
        text = packet_evidence.audit_text(checks, (), of_flows)
        plain_files.write_text(folder / run_folder.AUDIT, text)
        return None, []
    lists = packet_evidence.numbered_drops(folder, cell)
    checks = [
        *packet_evidence.checks(cell, found, packets, paths, tolerances),
        *sampled,
        *packet_evidence.numbered_checks(folder, cell, lists, packets),
        *packet_evidence.row_checks(audit),
        *packet_evidence.draw_checks(folder, cell, found),
        *second_source.checks(cell, found, totals, received),
        *mark_checks.checks(cell, found, marks.made, marks.came_to),
        *ack_checks.checks(cell, acknowledgements, packets, totals),
    ]
    if told is not None:
        checks += drop_checks(cell, found, told, audit, packets, tolerances)
    write_rows(audit, AuditRow, folder / run_folder.AUDIT_TABLE)
    plain_files.write_text(
        folder / run_folder.AUDIT, packet_evidence.audit_text(checks, lists, of_flows)
    )
    return packets, paths
