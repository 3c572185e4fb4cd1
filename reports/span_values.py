"""Reads what a study counts between two times: segments sent, windows, bins of arrivals.

Invariant: a table is read only if a metric the study asks for, or claims something of, needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

from reports.columns import read_columns
from reports.point_paths import PointPath
from reports.records import Bins, Point, Span, Study
from reports.sample import NO_PATH, Spans
from testbed import cell as cells
from testbed import runfolder

NOT_CAPTURED = "packets were not captured (--pcap)"
NOT_TRACED = "the kernel's congestion state was not recorded"
#: A bin is low if its data takes less than this share of the bottleneck's rate.
LOW_FRAC = 0.5

_PACKETS = {
    "flow": "text", "point": "text", "direction": "text", "t_s": "numbers",
    "payload_bytes": "numbers", "retransmission": "true or false",
}  # fmt: skip
_CONGESTION = {
    "flow": "text", "event": "text", "t_s": "numbers", "cwnd_bytes": "numbers",
    "cwnd_segments": "numbers",
}  # fmt: skip


def read_spans(folder: Path, cell: cells.Cell, study: Study) -> Spans:
    """Return what the study asks for of a measuring cell; raise ``ParseError`` naming a file."""
    asked = study.asked_metrics
    sent = study.delivered if any(name.startswith("sent_") for name in asked) else None
    windows = (
        study.windows
        if any(name.startswith(("cwnd_min_", "cwnd_max_")) for name in asked)
        else None
    )
    bins = study.bins if {"silent_bins_frac", "low_bins_frac"} & set(asked) else None
    found = Spans()
    if sent or bins:
        path = folder / runfolder.PACKETS_TABLE
        packets = _data(path) if path.exists() else None
        found = Spans(
            sent_segments=_sent(packets, cell, sent) if sent else {},
            bins=_shares(packets, study.paths.get(Point.of(cell.point)), bins)
            if bins
            else found.bins,
        )
    if windows:
        path = folder / runfolder.CONGESTION_TABLE
        ranges = _ranges(read_columns(path, _CONGESTION), cell, windows) if path.exists() else None
        found = Spans(
            sent_segments=found.sent_segments,
            bins=found.bins,
            cwnd_segments=NOT_TRACED if ranges is None else ranges,
        )
    return found


def _data(path: Path) -> pl.DataFrame:
    return read_columns(path, _PACKETS).filter(pl.col("payload_bytes") > 0, direction="data")


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
    inside = packets.filter(
        pl.col("t_s").is_between(bins.from_s, bins.to_s, closed="left"), point="delivered"
    )
    number = max(1, round((bins.to_s - bins.from_s) / bins.bin_s))
    # Whole nanoseconds: a bin's bound belongs to the bin it begins.
    since_ns = np.round((inside["t_s"].to_numpy() - bins.from_s) * 1e9)
    at = np.minimum((since_ns // round(bins.bin_s * 1e9)).astype(np.int64), number - 1)
    header = inside["flow"].replace_strict(headers, default=0, return_dtype=pl.Int64)
    sizes = (inside["payload_bytes"] + header).to_numpy()
    carried_bytes = np.bincount(at, weights=sizes, minlength=number)
    least_bytes = LOW_FRAC * path.bottleneck_rate_bps * bins.bin_s / 8
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
