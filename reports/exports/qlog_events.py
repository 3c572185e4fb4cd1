"""Events of a flow for qlog, each stream in order of time: from its packets, kernel and losses.

Invariant: each stream reads its table once, row by row; a table the cell does not have is no event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from model import run_folder
from model.cell import Flow
from model.run_files.kernel_tables import CongestionRow
from model.run_files.traffic_tables import PacketRow
from reports.exports.cell import in_ms
from reports.store.columns import read_slices

#: What comes first of what happens at one time: an acknowledgement comes, the kernel sees it,
#: learns of a loss, and sends.
RECEIVED, SEEN, LOST, SENT = range(4)
#: Of QUIC's metrics the columns they are; those below have no counterpart there.
METRICS = {
    "congestion_window": "cwnd_bytes",
    "ssthresh": "ssthresh_bytes",
    "bytes_in_flight": "flight_bytes",
}
#: Columns that go by their own names, units in them.
OWN_METRICS = (
    "cwnd_segments", "ssthresh_segments", "flight_segments", "unacked_chunks", "una_bytes",
    "nxt_bytes", "snd_wnd_bytes", "rcv_wnd_bytes", "partial_bytes_acked_bytes", "mss_bytes",
    "mtu_bytes",
)  # fmt: skip
_KERNEL = ("t_s", "flow", "event", "local_port", "path", "state", "retransmission", "srtt_s")
OWN_HEADER = (
    "connection", "retransmission", "tcp_flags", "seq", "ack", "window_bytes", "chunk_types", "tsn",
    "data_chunk_count", "cum_tsn_ack", "a_rwnd_bytes",
)  # fmt: skip
BLOCKS = ("sack_blocks", "gap_blocks")
_PACKETS = (
    "point", "direction", "flow", "packet", "t_s", "protocol", "ip_bytes", "payload_bytes",
    *OWN_HEADER, *BLOCKS,
)  # fmt: skip
#: What found a loss, in QUIC's words where they mean the same.
TRIGGERS = {
    "dupacks": "reordering_threshold",
    "rack": "time_threshold",
    "probe": "pto_expired",
    "timeout": "retransmission_timeout",
}
OWN_LOSS = (
    "episode", "basis", "lost_s", "lost_at", "lost_pkts", "first_lost_segment", "detected_by",
    "dupacks", "retransmitted_pkts", "recovered_s",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event: its time since the start of the run, its place among those of that time."""

    t_s: float
    rank: int
    name: str
    data: dict[str, Any]
    path: str = ""


def acknowledgements(folder: Path, flow: Flow) -> Iterator[Event]:
    """Yield what the kernel told of a flow: the state its acknowledgements met, what it did."""
    path = folder / run_folder.CONGESTION_TABLE
    if not path.exists():
        return
    columns = (*_KERNEL, *METRICS.values(), *OWN_METRICS)
    for rows in read_slices(path, CongestionRow, columns):
        for row in rows.filter(pl.col("flow") == flow.id).iter_rows(named=True):
            yield _of_kernel(row)


def _of_kernel(row: Mapping[str, Any]) -> Event:
    ends = f"port {row['local_port']}" + (f" to {row['path']}" if row["path"] else "")
    if row["event"] == "state":
        name, data = "recovery:congestion_state_updated", {"new": row["state"]}
    elif row["event"] == "retransmit":
        name, data = "recovery:retransmitted", {"kind": row["retransmission"]}
    else:
        name = "recovery:metrics_updated"
        data = {metric: row[column] for metric, column in METRICS.items()}
        data["smoothed_rtt"] = None if row["srtt_s"] is None else in_ms(row["srtt_s"])
        data |= {column: row[column] for column in OWN_METRICS} | {"state": row["state"]}
    return Event(t_s=row["t_s"], rank=SEEN, name=name, data=_known(data), path=ends)


def packets(folder: Path, flow: Flow) -> Iterator[Event]:
    """Yield a flow's packets as they leave its sender, and those that reach it."""
    path = folder / run_folder.PACKETS_TABLE
    if not path.exists():
        return
    sent = (pl.col("point") == "sent") & (pl.col("direction") == "data")
    received = (pl.col("point") == "delivered") & (pl.col("direction") == "ack")
    for rows in read_slices(path, PacketRow, _PACKETS):
        mine = rows.filter(pl.col("flow") == flow.id, sent | received)
        for row in mine.iter_rows(named=True):
            yield _of_packet(row)


def _of_packet(row: Mapping[str, Any]) -> Event:
    sent = row["direction"] == "data"
    raw = {"length": row["ip_bytes"], "payload_length": row["payload_bytes"]}
    data = {
        "header": _known({"packet_type": row["protocol"], "packet_number": row["packet"]}),
        "raw": _known(raw),
        **{column: row[column] for column in OWN_HEADER},
        **{column: _pairs(row[column]) for column in BLOCKS},
    }
    return Event(
        t_s=row["t_s"],
        rank=SENT if sent else RECEIVED,
        name=f"transport:packet_{'sent' if sent else 'received'}",
        data=_known(data),
    )


def _pairs(blocks: Sequence[Mapping[str, int]] | None) -> list[list[int]] | None:
    return None if blocks is None else [[block["start"], block["end"]] for block in blocks]


def losses(episodes: Sequence[Mapping[str, Any]], flow: Flow) -> Iterator[Event]:
    """Yield when a flow's sender acted on each loss episode: then it deemed a packet lost."""
    mine = [row for row in episodes if row["flow"] == flow.id and row["detected_s"] is not None]
    for row in sorted(mine, key=lambda one: float(one["detected_s"])):
        number = row["first_lost_packet"]
        data = {
            "header": _known({"packet_type": flow.protocol, "packet_number": number}),
            "trigger": TRIGGERS.get(row["detected_by"]),
            **{column: row[column] for column in OWN_LOSS},
        }
        yield Event(
            t_s=row["detected_s"], rank=LOST, name="recovery:packet_lost", data=_known(data)
        )


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
