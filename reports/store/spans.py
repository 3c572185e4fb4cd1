"""Reads what a study counts between two times: segments sent, windows, bins of arrivals.

Invariant: a table is read only if a metric the study asks for, or claims something of, needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from model import cell as cells
from model import run_folder
from model.run_files.kernel_tables import CongestionRow, QueueRow
from model.run_files.network_path import PointPath
from model.run_files.point import Point
from model.run_files.study import Bins, Span, Study
from model.run_files.traffic_tables import PacketRow
from reports.store.bins import in_bins
from reports.store.columns import read_columns
from reports.store.sample import NO_PATH, Spans

NOT_CAPTURED = "packets were not captured (--pcap)"
NOT_TRACED = "the kernel's congestion state was not recorded"
NOT_SAMPLED = "the bottleneck's buffer was not sampled when the run was to end"
NOT_SAMPLED_WITHIN = "the bottleneck's buffer was not sampled at both ends of the measuring window"
#: The bottleneck's buffer as tables/queue.parquet names it, and how close to a time its sample is.
BUFFER = {"node": "r1", "device": "r1-bottleneck", "role": "shaper"}
SAMPLED_WITHIN_S = 0.01
#: A bin is low if its data takes less than this share of the bottleneck's rate.
LOW_FRAC = 0.5

_PACKETS = ("flow", "point", "direction", "t_s", "payload_bytes", "retransmission")
_QUEUE = ("t_s", "node", "device", "role", "sent_pkts")
_CONGESTION = ("flow", "event", "t_s", "cwnd_bytes", "cwnd_segments")


def read_spans(folder: Path, cell: cells.Cell, study: Study) -> Spans:
    """Return what the study asks for of a measuring cell; raise ``ParseError`` naming a file."""
    asked = study.wanted_metrics

    def asks(*begins: str) -> bool:
        return any(name.startswith(begins) for name in asked)

    found: dict[str, Any] = {}
    sent = study.delivered if asks("sent_") else None
    bins = study.bins if asks("silent_bins", "low_bins") else None
    new_data = asks("utilisation_sent")
    if sent or bins or new_data:
        path = folder / run_folder.PACKETS_TABLE
        packets = _data(path) if path.exists() else None
        if sent:
            found["sent_segments"] = _sent(packets, cell, sent)
        if bins:
            found["bins"] = _shares(packets, study.path_at(Point.of(cell.point)), bins)
        if new_data:
            run = Span(from_s=0.0, to_s=cell.duration_s)
            found["new_pkts"] = _sent(packets, cell, run)
    if study.windows and asks("cwnd_min_", "cwnd_max_"):
        path = folder / run_folder.CONGESTION_TABLE
        found["cwnd_segments"] = NOT_TRACED
        if path.exists():
            found["cwnd_segments"] = _ranges(
                read_columns(path, CongestionRow, _CONGESTION), cell, study.windows
            )
    if asks("utilisation_data", "utilisation_wire"):
        path = folder / run_folder.QUEUE_TABLE
        found["out_of_buffer_pkts"] = _out_of_buffer(path, cell.duration_s)
    if asks("utilisation_link"):
        path = folder / run_folder.QUEUE_TABLE
        found["out_of_buffer_pps"] = _out_of_buffer_pps(path, cell)
    return Spans(**found)


def _out_of_buffer(path: Path, until_s: float) -> int | str:
    """Return how many packets had left the bottleneck's buffer by the sample at a time."""
    if not path.exists():
        return NOT_SAMPLED
    rows = read_columns(path, QueueRow, _QUEUE)
    taken = rows.filter(**BUFFER).filter((pl.col("t_s") - until_s).abs() < SAMPLED_WITHIN_S)
    return int(taken["sent_pkts"][0]) if taken.height else NOT_SAMPLED


def _out_of_buffer_pps(path: Path, cell: cells.Cell) -> float | str:
    """Return how many packets a second left the buffer in the measuring window."""
    first, last = (_out_of_buffer(path, t_s) for t_s in (cell.measure_from_s, cell.measure_to_s))
    if isinstance(first, str) or isinstance(last, str):
        return NOT_SAMPLED_WITHIN
    return (last - first) / (cell.measure_to_s - cell.measure_from_s)


def _data(path: Path) -> pl.DataFrame:
    return read_columns(path, PacketRow, _PACKETS).filter(
        pl.col("payload_bytes") > 0, direction="data"
    )


def _sent(packets: pl.DataFrame | None, cell: cells.Cell, span: Span) -> Mapping[str, float] | str:
    """Return how many packets of new data each flow's sender sent between two times."""
    if packets is None:
        return NOT_CAPTURED
    fresh = packets.filter(
        pl.col("t_s").is_between(span.from_s, span.to_s, closed="left"), point="sent",
        retransmission=False,
    )  # fmt: skip
    return {flow.id: float(fresh.filter(flow=flow.id).height) for flow in cell.flows}


def _shares(
    packets: pl.DataFrame | None, path: PointPath | None, bins: Bins
) -> tuple[float, float] | str:
    """Return the shares of bins in which no data arrived, and in which it took little."""
    if packets is None or path is None:
        return NOT_CAPTURED if packets is None else NO_PATH
    headers = {flow.flow: flow.packet_bytes - flow.payload_bytes for flow in path.flows}
    header = pl.col("flow").replace_strict(headers, default=0, return_dtype=pl.Int64)
    arrived = packets.filter(point="delivered").with_columns(size=pl.col("payload_bytes") + header)
    found = in_bins(arrived, bins.from_s, bins.to_s, bins.bin_s, pl.col("size").sum())
    carried_bytes = found["size"].fill_null(0).to_numpy()
    bins_s = (found["end_s"] - found["start_s"]).round(9).to_numpy()
    least_bytes = LOW_FRAC * path.bottleneck_rate_bps * bins_s / 8
    return float((carried_bytes == 0).mean()), float((carried_bytes < least_bytes).mean())


def _ranges(rows: pl.DataFrame, cell: cells.Cell, span: Span) -> Mapping[str, tuple[float, float]]:
    """Return the smallest and largest window of each flow between two times, in messages.

    An event shows the window it meets, which held since the one before.
    """
    found = {}
    for flow in cell.flows:
        mine = rows.filter(pl.col("cwnd_bytes").is_not_null(), flow=flow.id, event="ack")
        held = mine.filter(pl.col("t_s").is_between(span.from_s, span.to_s))
        if held.height:
            counted = held["cwnd_segments"].is_not_null().all()
            windows = held["cwnd_segments"] if counted else held["cwnd_bytes"] / flow.message_bytes
            found[flow.id] = (float(windows.to_numpy().min()), float(windows.to_numpy().max()))
    return found
