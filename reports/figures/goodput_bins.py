"""Goodput of all flows together in short bins of time, from captures or from the receivers. Pure.

Invariants: only new data counts, each once, at the moment the study asks for: when the receiver
could hand it on (for TCP and for SCTP with one ordered stream when no byte before it is missing),
when it first came out of the bottleneck, or when it was first sent. Bins without data are zero and
drawn.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.cell import Flow
from reports.figures.chart import HEIGHT_PX, KERNEL, Figure, drawn, layered
from reports.store.bins import in_bins

HANDED_ON, ARRIVALS, SENT = "handed_on", "arrivals", "sent"
#: Where data is seen that counts, by when it counts.
POINTS = {HANDED_ON: "delivered", ARRIVALS: "loss_passed", SENT: "sent"}
#: A flow's DATA chunks at a point of the path, where packets bundle them.
Chunks = Callable[[str, str], pl.DataFrame]

_AREA = {"type": "area", "interpolate": "step-after", "color": KERNEL, "opacity": 0.8}
_BIN = {"type": "rect", "opacity": 0}


@dataclass(frozen=True)
class Bins:
    """Goodput per bin: ``start_s``, ``end_s``, ``goodput_kbps``; and what it was counted from."""

    rows: pl.DataFrame
    source: str


def binned(news: pl.DataFrame, source: str, from_s: float, to_s: float, bin_s: float) -> Bins:
    """Return the goodput in every bin between two times; ``news``: ``t_s``, ``goodput_bytes``."""
    found = in_bins(news, from_s, to_s, bin_s, pl.col("goodput_bytes").sum())
    kbit = pl.col("goodput_bytes").fill_null(0) * 8e-3
    kbps = (kbit / (pl.col("end_s") - pl.col("start_s"))).round(3)
    return Bins(found.select("start_s", "end_s", goodput_kbps=kbps), source)


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
    packets: pl.DataFrame, flows: tuple[Flow, ...], chunks: Chunks,
    from_s: float, to_s: float, bin_s: float, counted: str = HANDED_ON,
) -> Bins:  # fmt: skip
    """Return the bins captures give."""
    news = [new_data(packets, flow, chunks, counted) for flow in flows]
    return binned(pl.concat(news), "captured packets", from_s, to_s, bin_s)


def new_data(
    packets: pl.DataFrame, flow: Flow, chunks: Chunks, counted: str = HANDED_ON
) -> pl.DataFrame:
    """Return when how much new data of a flow counts: ``t_s``, ``goodput_bytes``."""
    point = POINTS[counted]
    seen = packets.filter(
        pl.col("payload_bytes") > 0, flow=flow.id, direction="data", point=point
    ).sort("t_s", maintain_order=True)
    if flow.protocol == "udp":
        return seen.select("t_s", goodput_bytes="payload_bytes")
    if flow.protocol == "tcp":
        start, size = pl.col("seq") - 1, pl.col("payload_bytes")
        units = seen.select("t_s", start=start, end=start + size, bytes=size)
        return in_order(units) if counted == HANDED_ON else first_seen(units)
    if (seen["data_chunk_count"] > 1).any():
        listed = chunks(flow.id, point).select("t_s", "data_chunks").explode("data_chunks")
        seen = listed.drop_nulls().unnest("data_chunks")
    units = seen.select(
        "t_s", start="tsn", end=pl.col("tsn") + 1, bytes="payload_bytes"
    ).drop_nulls()
    if counted == HANDED_ON and flow.ordered and flow.streams == 1:
        return in_order(units)
    first = units.sort("t_s").unique("start", keep="first", maintain_order=True)
    return first.select("t_s", goodput_bytes="bytes")


def first_seen(units: pl.DataFrame) -> pl.DataFrame:
    """Return what of each unit of bytes was not there before, in order of time; as `in_order`."""
    starts: list[int] = []  # of the stretches there are, which neither overlap nor touch
    ends: list[int] = []
    new_bytes = []
    for start, end in units.select("start", "end").iter_rows():
        first, after = bisect_left(ends, start), bisect_right(starts, end)
        seen_bytes = sum(
            max(0, min(ends[i], end) - max(starts[i], start)) for i in range(first, after)
        )
        new_bytes.append(end - start - seen_bytes)
        low = min([start, *starts[first:after]])
        high = max([end, *ends[first:after]])
        starts[first:after], ends[first:after] = [low], [high]
    found = pl.DataFrame({"goodput_bytes": new_bytes}, schema={"goodput_bytes": pl.Int64})
    return (
        units.select("t_s").with_columns(found["goodput_bytes"]).filter(pl.col("goodput_bytes") > 0)
    )


def in_order(units: pl.DataFrame) -> pl.DataFrame:
    """Return when data could be handed on: once all before it is there.

    ``units``: ``t_s``, from ``start`` up to ``end`` (bytes or chunks, from 0), and how many
    ``bytes`` a unit carries; where units overlap, only what is new of it counts.
    """
    first = units.group_by("start", "end").agg(pl.col("t_s").min(), pl.col("bytes").first())
    reached = pl.col("end").cum_max().shift(1, fill_value=0)
    new = (
        first.sort("start", "end")
        .with_columns(reached=reached)
        .filter(pl.col("end") > pl.col("reached"))
    )
    before_hole = (pl.col("start") <= pl.col("reached")).cast(pl.Int8).cum_min() == 1
    # Of a unit partly there already, the new part: all of a chunk, some bytes of a segment.
    fresh = (pl.col("end") - pl.col("reached")) / (pl.col("end") - pl.col("start"))
    part = (pl.col("bytes") * pl.min_horizontal(fresh, pl.lit(1.0))).round().cast(pl.Int64)
    return new.filter(before_hole).select(t_s=pl.col("t_s").cum_max(), goodput_bytes=part)


def bins_figure(
    found: Bins, *, id: str, label: str, bin_s: float, counted: str = HANDED_ON
) -> Figure:
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
    spec, zoomable = layered([curve], [], hover=[near], zoom=("x",))
    empty = rows["goodput_kbps"].eq(0).sum()
    what, remark = _MEANING[counted]
    return Figure(
        id=id,
        title=f"Total goodput{what} of {label}",
        caption=(
            f"New data of all flows {_WHEN[counted]}, from {found.source}. "
            f"{empty} of {rows.height} bins are empty. {remark}"
        ),
        spec=spec,
        zoomable=zoomable,
    )


_WHEN = {
    HANDED_ON: "as it could be handed to the applications",
    ARRIVALS: "as it first came out of the bottleneck's far end",
    SENT: "as it was first sent",
}
#: What a title says of it, and what a reader might take wrongly.
_MEANING = {
    HANDED_ON: (
        "",
        (
            "What waited behind a hole is handed on at once when it is filled, so a bin may hold "
            "more than the bottleneck carries in its time."
        ),
    ),
    ARRIVALS: (" as it arrives,", "What waits behind a hole at the receiver has arrived."),
    SENT: (" as it is sent,", "Data sent again is left out, whether it had been lost or not."),
}
_WORDS = [
    alt.Tooltip("start_s:Q", title="from (s)", format=".3f"),
    alt.Tooltip("end_s:Q", title="to (s)", format=".3f"),
    alt.Tooltip("goodput_kbps:Q", title="goodput (kbit/s)", format=".1f"),
]
