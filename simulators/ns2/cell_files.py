"""What ns-2 left of a cell made into files as labs leave them: tables, ledger, audit.

Invariants: the trace is unpacked and read as it comes, never whole; the same raw files give the
same bytes; a table that ns-2 has nothing for is not written, so nothing in a report stands for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from collectors.audit.packet_balance import warnings
from collectors.episodes.episodes import episodes
from collectors.packets.path import path_rows
from collectors.raw.files import read_text
from collectors.raw.flows import Sent, flow_row
from collectors.tables.parquet import write_parquet, write_rows
from collectors.trace.congestion import by_flow
from model import plain_files, run_folder
from model.cell import Cell
from model.check import Check
from model.errors import ParseError, VerifyError
from model.network_path import SMALLEST_PACKET_BYTES
from model.run_files.kernel_tables import DropRow, QueueRow
from model.run_files.loss_tables import EpisodeRow
from model.run_files.traffic_tables import AuditRow, FlowRow, IntervalRow, PathRow
from simulators.ns2 import account, ledger, profiles, receivers, settings, windows
from simulators.ns2 import passages as where
from simulators.ns2 import trace as ns2
from simulators.ns2.packets import Told, packets_frame, tell

#: Lines of a trace for each packet: one for each place, and for what it changes; as many again.
LINES_PER_PACKET, LEAST_LINES = 32, 100_000
START_S = 2e-6
#: Columns that say nothing of the path, and take a third of the table's memory.
NOT_OF_THE_PATH = ("sack_blocks", "gap_blocks", "duplicate_tsns", "chunk_types", "protocol")


@dataclass(frozen=True, kw_only=True)
class Left:
    """All that ns-2 said of a cell."""

    told: Told
    trace: ns2.Trace
    sctp: tuple[ns2.Change, ...]


def read(folder: Path, cell: Cell) -> Left:
    """Read a cell's trace; raise :class:`ParseError` naming file and line."""
    bounds = ns2.Bounds(
        flows=len(cell.flows),
        nodes=settings.nodes(cell),
        most_lines=most_lines(cell),
        until_s=cell.duration_s,
    )
    with _unpacked(folder / run_folder.NS2_TRACE) as stream:
        found = ns2.read(stream, run_folder.NS2_TRACE, bounds)
    with _unpacked(folder / run_folder.NS2_WINDOWS) as stream:
        sctp = ns2.read_windows(stream, run_folder.NS2_WINDOWS, bounds, found.ends)
    return Left(told=tell(found.packets, cell), trace=found, sctp=sctp)


def most_lines(cell: Cell) -> int:
    """Return more lines than the trace of a cell can have."""
    size_bytes = min((flow.message_bytes for flow in cell.flows), default=SMALLEST_PACKET_BYTES)
    rate_bps = cell.wired.bottleneck.forward.rate_bps + sum(f.rate_bps for f in cell.flows)
    packets = rate_bps * cell.duration_s / 8 / max(size_bytes, SMALLEST_PACKET_BYTES)
    return LEAST_LINES + round(LINES_PER_PACKET * packets)


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    try:
        handle = plain_files.opened(path)
    except OSError as error:
        raise ParseError("cannot read a raw file", where=str(path), got=str(error)) from error
    with handle, gzip.GzipFile(fileobj=handle) as stream:
        yield stream  # type: ignore[misc]


def conclude(folder: Path, cell: Cell) -> None:
    """Write all that follows from what ns-2 left of a cell.

    Raises:
        ParseError: a raw file is not what ns-2 writes.
        VerifyError: what was set or started is not as asked.
    """
    profile = profiles.named(cell.lab["kernel"])
    told_back = ledger.read_back(
        read_text(folder / run_folder.NS2_READ_BACK), run_folder.NS2_READ_BACK
    )
    _write(folder / run_folder.ENV, _environment(cell, profile))
    _write(folder / run_folder.LEDGER, ledger.rows(cell, profile, told_back))
    left = read(folder, cell)
    made = [*_set(cell, profile, told_back), *_starts(left, cell)]
    checks = [dataclasses.asdict(one) for one in made]
    _write(folder / run_folder.VERIFY, {"schema": 1, "checks": checks})
    wrong = [one for one in made if one.agrees is False]
    if wrong:
        raise VerifyError(
            f"{wrong[0].check} is not as asked", where=f"cell {folder.name}, {wrong[0].where}",
            wanted=wrong[0].wanted, got=wrong[0].got,
            hint=f"{len(wrong)} of {len(made)} checks disagree; all are in {run_folder.VERIFY}",
        )  # fmt: skip
    packets, congestion = _write_told(folder, cell, left)
    del left  # no smaller than the tables of it
    _write_seen(folder, cell, packets, congestion)


def write_tables(folder: Path, cell: Cell) -> None:
    """Write a cell's tables and its audit."""
    _write_seen(folder, cell, *_write_told(folder, cell, read(folder, cell)))


def _write_told(folder: Path, cell: Cell, left: Left) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Write what follows from the trace itself; return its packets and congestion windows."""
    told = left.told
    congestion = windows.congestion(told, left.trace.changes, left.sctp, cell)
    flows, intervals = _flows(told, cell, congestion)
    audit = account.audit_rows(told, cell)
    write_rows(flows, FlowRow, folder / run_folder.FLOWS_TABLE)
    write_rows(intervals, IntervalRow, folder / run_folder.INTERVALS_TABLE)
    write_parquet(congestion, folder / run_folder.CONGESTION_TABLE)
    write_rows(account.drops(told, cell), DropRow, folder / run_folder.DROPS_TABLE)
    write_rows(account.queue_at_end(told, cell), QueueRow, folder / run_folder.QUEUE_TABLE)
    write_rows(audit, AuditRow, folder / run_folder.AUDIT_TABLE)
    checks = account.checks(told, left.trace, cell, audit)
    content = {
        "schema": 1,
        "checks": [dataclasses.asdict(one) for one in checks],
        "warnings": warnings(checks),
    }
    _write(folder / run_folder.AUDIT, content)
    return packets_frame(told, cell), congestion


def _write_seen(folder: Path, cell: Cell, packets: pl.DataFrame, congestion: pl.DataFrame) -> None:
    """Write what follows from packets as captures would have seen them."""
    lost = episodes(cell, packets, by_flow(congestion, cell.flows)) or []
    write_rows(lost, EpisodeRow, folder / run_folder.EPISODES_TABLE)
    if cell.collect.pcap:
        write_parquet(packets, folder / run_folder.PACKETS_TABLE)
        packets = packets.drop(NOT_OF_THE_PATH)
        write_rows(path_rows(cell, packets), PathRow, folder / run_folder.PATH_TABLE)


def _flows(
    told: Told, cell: Cell, congestion: pl.DataFrame
) -> tuple[list[FlowRow], list[IntervalRow]]:
    flows: list[FlowRow] = []
    intervals: list[IntervalRow] = []
    for number, flow in enumerate(cell.flows, 1):
        got = receivers.received(flow, cell, told.got[number])
        sent = told.data(told.of(number, where.DATA, where.SENT))
        packet = told.packets.packet[sent]
        again = sum(one in told.repeats for one in packet.tolist())
        began = told.of(number, where.DATA, where.SENT)[:1]
        connect_s = None
        if flow.protocol != "udp" and len(sent):
            connect_s = float(told.t_s[sent[0]] - told.t_s[began[0]])
        mean = (
            None if flow.protocol == "udp" else windows.mean_cwnd_segments(flow, cell, congestion)
        )
        ends = Sent(
            connect_s=connect_s, retransmitted_pkts=None if flow.protocol == "udp" else again
        )
        flows.append(flow_row(flow, cell, got, ends, account.counted(told, number), mean))
        intervals += got.intervals
    return flows, intervals


def _environment(cell: Cell, profile: profiles.Profile) -> dict[str, Any]:
    return {
        "schema": 1,
        "kernel_release": f"{cell.lab['simulator']}, {profile.id}",
        "kernel_version": profile.title,
        "tick_hz": profile.tick_hz,
        "tools": {"ns2": cell.lab["kernel_package"]},
        "lab": dict(cell.lab),
        "seed": cell.seed,
        "clock": "virtual",
        "sysctls": {},
        "warnings": [],
    }


def _set(
    cell: Cell, profile: profiles.Profile, told_back: dict[tuple[int, str, str, str], str]
) -> Iterator[Check]:
    missing = ledger.unread(cell, profile, told_back)
    yield Check(
        check="variables read back", where="agents", wanted="each", agrees=not missing,
        got=f"not {', '.join(missing[:3])}" if missing else "each",
    )  # fmt: skip
    for row in ledger.rows(cell, profile, told_back):
        for knob in row["knobs"]:
            yield Check(check=knob["name"], where=row["parameter"], wanted=knob["value"],
                        got=", ".join(sorted(set(knob["read_back"].values()))) or "no such agent",
                        agrees=knob["agrees"])  # fmt: skip


def _starts(left: Left, cell: Cell) -> Iterator[Check]:
    """Yield whether each flow's first packet left when it was to."""
    for number, flow in enumerate(cell.flows, 1):
        lines = left.told.of(number, where.DATA, where.SENT)
        began_s = float(left.told.t_s[lines[0]]) if len(lines) else None
        agrees = began_s is not None and abs(began_s - flow.start_s) <= START_S
        yield Check(check="start", where=f"flow {flow.id}", wanted=f"{flow.start_s:.6f} s",
                    got="never" if began_s is None else f"{began_s:.6f} s",
                    agrees=agrees)  # fmt: skip


def _write(path: Path, value: Any) -> None:
    plain_files.write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
