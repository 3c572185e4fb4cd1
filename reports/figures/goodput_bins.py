"""Goodput of all flows together in short bins of time, from captures or from the receivers. Pure.

Invariants: only new data counts, at the moment the receiver could hand it on: for TCP and for SCTP
with one ordered stream when no byte before it is missing, for several or unordered streams when it
arrives. Bins without data are zero and drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import polars as pl

from reports.figures.chart import HEIGHT_PX, KERNEL, Figure, drawn, layered
from testbed.cell import Flow

_NS_PER_S = 10**9
_AREA = {"type": "area", "interpolate": "step-after", "color": KERNEL, "opacity": 0.8}
_BIN = {"type": "rect", "opacity": 0}


@dataclass(frozen=True)
class Bins:
    """Goodput per bin: ``start_s``, ``end_s``, ``goodput_kbps``; and what it was counted from."""

    rows: pl.DataFrame
    source: str


def _ns(seconds: pl.Expr) -> pl.Expr:
    return (seconds * _NS_PER_S).round().cast(pl.Int64)


def binned(news: pl.DataFrame, source: str, from_s: float, to_s: float, bin_s: float) -> Bins:
    """Return the goodput in every bin between two times; ``news``: ``t_s``, ``goodput_bytes``."""
    bin_ns, from_ns, to_ns = (round(time * _NS_PER_S) for time in (bin_s, from_s, to_s))
    starts = pl.DataFrame({"at": range(from_ns, to_ns, bin_ns)}, schema={"at": pl.Int64})
    found = (
        news.select("goodput_bytes", at=_ns(pl.col("t_s")))
        .filter(pl.col("at").is_between(from_ns, to_ns, closed="left"))
        .select("goodput_bytes", at=(pl.col("at") - from_ns) // bin_ns * bin_ns + from_ns)
        .group_by("at")
        .agg(pl.col("goodput_bytes").sum())
    )
    end = pl.min_horizontal(pl.col("at") + bin_ns, pl.lit(to_ns))
    rows = starts.join(found, on="at", how="left", maintain_order="left").select(
        start_s=(pl.col("at") / _NS_PER_S).round(9),
        end_s=(end / _NS_PER_S).round(9),
        goodput_kbps=pl.col("goodput_bytes").fill_null(0) * 8e-3 * _NS_PER_S / (end - pl.col("at")),
    )
    return Bins(rows.with_columns(pl.col("goodput_kbps").round(3)), source)


def from_intervals(intervals: pl.DataFrame, from_s: float, to_s: float, bin_s: float) -> Bins | str:
    """Return the bins the receivers' own counts give, or why they cannot."""
    longest_s = intervals.select((pl.col("end_s") - pl.col("start_s")).max()).item()
    if longest_s is None or longest_s > bin_s + 1e-9:
        counted = "nothing" if longest_s is None else f"every {longest_s:g} s"
        return (
            f"bins of {bin_s:g} s need captures (run with --pcap): the receivers counted {counted}"
        )
    news = intervals.select("goodput_bytes", t_s="start_s")
    return binned(news, "what the receivers counted", from_s, to_s, bin_s)


def from_packets(
    packets: pl.DataFrame, flows: tuple[Flow, ...], chunks: Callable[[str], pl.DataFrame],
    from_s: float, to_s: float, bin_s: float,
) -> Bins:  # fmt: skip
    """Return the bins captures give; ``chunks``: a flow's DATA chunks where packets bundle them."""
    news = [new_data(packets, flow, chunks) for flow in flows]
    return binned(pl.concat(news), "captured packets", from_s, to_s, bin_s)


def new_data(
    packets: pl.DataFrame, flow: Flow, chunks: Callable[[str], pl.DataFrame]
) -> pl.DataFrame:
    """Return when a flow's receiver got how much new data: ``t_s``, ``goodput_bytes``."""
    arrived = packets.filter(
        pl.col("payload_bytes") > 0, flow=flow.id, direction="data", point="delivered"
    )
    if flow.protocol == "udp":
        return arrived.select("t_s", goodput_bytes="payload_bytes")
    if flow.protocol == "tcp":
        start, size = pl.col("seq") - 1, pl.col("payload_bytes")
        return in_order(arrived.select("t_s", start=start, end=start + size, bytes=size))
    if (arrived["data_chunk_count"] > 1).any():
        listed = chunks(flow.id).select("t_s", "data_chunks").explode("data_chunks")
        arrived = listed.drop_nulls().unnest("data_chunks")
    units = arrived.select(
        "t_s", start="tsn", end=pl.col("tsn") + 1, bytes="payload_bytes"
    ).drop_nulls()
    if flow.ordered and flow.streams == 1:
        return in_order(units)
    first = units.sort("t_s").unique("start", keep="first", maintain_order=True)
    return first.select("t_s", goodput_bytes="bytes")


def in_order(units: pl.DataFrame) -> pl.DataFrame:
    """Return when data could be handed on: once all before it is there.

    ``units``: ``t_s``, from ``start`` up to ``end`` (bytes or chunks, from 0), and how many
    ``bytes`` a unit carries; where units overlap, only what is new of it counts.
    """
    known = units.group_by("start", "end").agg(pl.col("t_s").min(), pl.col("bytes").first())
    reached = pl.col("end").cum_max().shift(1, fill_value=0)
    new = (
        known.sort("start", "end")
        .with_columns(reached=reached)
        .filter(pl.col("end") > pl.col("reached"))
    )
    before_hole = (pl.col("start") <= pl.col("reached")).cast(pl.Int8).cum_min() == 1
    # Of a unit partly there already, the new part: all of a chunk, some bytes of a segment.
    fresh = (pl.col("end") - pl.col("reached")) / (pl.col("end") - pl.col("start"))
    part = (pl.col("bytes") * pl.min_horizontal(fresh, pl.lit(1.0))).round().cast(pl.Int64)
    return new.filter(before_hole).select(t_s=pl.col("t_s").cum_max(), goodput_bytes=part)


def bins_figure(found: Bins, *, id: str, label: str, bin_s: float) -> Figure:
    """Return the total goodput per bin as a step curve."""
    rows = found.rows
    # A step curve ends where its last row begins: one more row carries it to the end.
    closed = pl.concat([rows, rows.tail(1).with_columns(start_s=pl.col("end_s"))])
    ends = [float(rows["start_s"][0]), float(rows["end_s"][-1])]
    x = alt.X("start_s:Q", title="Time (s)", scale=alt.Scale(domain=ends, nice=False))
    y = alt.Y("goodput_kbps:Q", title=f"Goodput per {bin_s:g} s (kbit/s)")
    curve = drawn(closed, _AREA).encode(x, y)
    # The pointer finds a bin at any height.
    height = {"y": alt.value(0), "y2": alt.value(HEIGHT_PX)}
    near = drawn(rows, _BIN).encode(x, x2="end_s", tooltip=_WORDS, **height)
    spec, live = layered([curve], [], hover=[near], zoom=("x",))
    empty = rows["goodput_kbps"].eq(0).sum()
    return Figure(
        id=id,
        title=f"Total goodput of {label}",
        caption=(
            f"New data of all flows as it could be handed to the applications, from "
            f"{found.source}. {empty} of {rows.height} bins are empty. What "
            "waited behind a hole is handed on at once when it is filled, so a bin may hold more "
            "than the bottleneck carries in its time."
        ),
        spec=spec,
        live=live,
    )


_WORDS = [
    alt.Tooltip("start_s:Q", title="from (s)", format=".3f"),
    alt.Tooltip("end_s:Q", title="to (s)", format=".3f"),
    alt.Tooltip("goodput_kbps:Q", title="goodput (kbit/s)", format=".1f"),
]
