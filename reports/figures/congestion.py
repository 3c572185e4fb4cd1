"""Congestion window and slow-start threshold of a flow against time, in segments. Pure.

Invariants: TCP's kernel counts segments, SCTP's bytes of user data; both are shown in segments of
the flow's payload per packet, and in bytes under the pointer. The kernel's events tell the state
an event *meets*, so each value is drawn from the event before to its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.cell import Flow
from model.run_files.figures import PublishedMark
from reports.figures import published_marks
from reports.figures.chart import BAD, KERNEL, NEAR, PUBLISHED, Figure, Key, drawn, layered
from reports.figures.published_marks import Laid, Marks, moved_s
from reports.figures.thinning import held_until, outline

WINDOW, THRESHOLD, EPISODE = "congestion window", "slow-start threshold", "loss detected"
#: Headers of IPv4, SCTP and a DATA chunk: what a packet holds besides one message.
SCTP_HEADERS_BYTES = 20 + 12 + 16
#: The y axis goes this far above the highest window; a threshold may lie beyond.
HEADROOM = 1.12
#: The kernel's event and the packet it sends then are at most this far apart.
AT_ONCE_S = 0.001

_STEPS = {"type": "line", "interpolate": "step-before"}
_WINDOW = {**_STEPS, "color": KERNEL, "strokeWidth": 1.4}
_THRESHOLD = {**_STEPS, "color": PUBLISHED, "strokeWidth": 1.2, "strokeDash": [4, 3]}
_EPISODE = {"type": "point", "shape": "triangle-up", "size": 36, "filled": True, "opacity": 1,
            "color": BAD}  # fmt: skip

#: Just inside the plot, wherever its y axis is moved to.
_FOOT = alt.value(alt.ExprRef("height - 5"))


@dataclass(frozen=True)
class Curve:
    """One flow's curve in a window of time: rows, the segment they count in, and their mean.

    ``rows``: ``t_s``, ``cwnd`` and ``ssthresh`` in segments, the same in bytes, ``flight_bytes``.
    """

    flow: Flow
    rows: pl.DataFrame
    segment_bytes: int | None
    mean: float | None
    events: int
    thinned: bool


def curve(congestion: pl.DataFrame, flow: Flow, from_s: float, to_s: float) -> Curve | str:
    """Return a flow's curve between two times, or why there is none."""
    told = pl.col("cwnd_bytes").is_not_null() | pl.col("cwnd_segments").is_not_null()
    rows = congestion.filter(told, flow=flow.id)
    if rows.is_empty():
        return f"the kernel's telemetry has no congestion window of flow {flow.id}"
    main = rows.group_by("local_port", "path").len().sort("len", "path", "local_port").tail(1)
    rows = rows.join(main, on=["local_port", "path"], maintain_order="left")
    segment_bytes = _segment_bytes(rows, flow)
    size = pl.lit(segment_bytes, dtype=pl.Int64)
    rows = rows.select(
        "t_s",
        cwnd=pl.coalesce(pl.col("cwnd_segments"), pl.col("cwnd_bytes") / size).cast(pl.Float64),
        ssthresh=pl.coalesce(pl.col("ssthresh_segments"), pl.col("ssthresh_bytes") / size).cast(
            pl.Float64
        ),
        cwnd_bytes="cwnd_bytes",
        ssthresh_bytes="ssthresh_bytes",
        flight_bytes="flight_bytes",
    ).filter(pl.col("t_s").is_between(from_s, to_s))
    if rows.is_empty() or rows["cwnd"].null_count():
        return f"flow {flow.id} has no congestion window known in segments in this window of time"
    steps = held_until(rows, ("cwnd", "ssthresh"))
    kept = outline(steps, "t_s", "cwnd")
    return Curve(flow, kept, segment_bytes, _mean(rows), rows.height, kept.height < steps.height)


def _segment_bytes(rows: pl.DataFrame, flow: Flow) -> int | None:
    """Return the user data in a full packet: TCP's segment, or a message if it fits one packet."""
    if flow.protocol == "tcp":
        found = rows["mss_bytes"].drop_nulls().mode().sort(descending=True)
        return int(found[0]) if len(found) else None
    room = rows["mtu_bytes"].drop_nulls().mode().sort(descending=True)
    most = int(room[0]) - SCTP_HEADERS_BYTES if len(room) else flow.message_bytes
    return min(flow.message_bytes, most)


def _mean(rows: pl.DataFrame) -> float | None:
    """Return the mean over time of the window, each value held since the row before."""
    held = rows.select(for_s=pl.col("t_s").diff(), cwnd="cwnd").drop_nulls()
    total_s = float(held["for_s"].sum())
    return float((held["cwnd"] * held["for_s"]).sum()) / total_s if total_s else None


def top(curves: Sequence[Curve], heights: Sequence[float] = ()) -> float:
    """Return how high the y axis of all these curves goes, in segments, and of marks on it."""
    return HEADROOM * max(*(float(str(found.rows["cwnd"].max())) for found in curves), *heights, 0)


def mark_heights(found: Curve, marks: Marks | None) -> list[float]:
    """Return how high published windows lie in this diagram."""
    return [_segments(mark, found) for mark in marks.loss.marks] if marks else []


def window_marks(found: Curve, marks: Marks) -> list[Laid]:
    """Return published windows in this diagram, each beside the kernel's window then.

    That is the window right after the time; of several marks at one time the first is beside what
    the kernel had right before.
    """
    times = [moved_s(mark, marks) for mark in marks.loss.marks]
    laid = []
    for number, (mark, t_s) in enumerate(zip(marks.loss.marks, times, strict=True)):
        before = t_s in times[number + 1 :] and t_s not in times[:number]
        since = pl.col("t_s") >= t_s - AT_ONCE_S if before else pl.col("t_s") > t_s + AT_ONCE_S
        window = found.rows.filter(since)["cwnd"]
        kernel = f"kernel {window[0]:.3g}" if len(window) else "kernel not known"
        laid.append(Laid(mark, t_s, _segments(mark, found), kernel))
    return laid


def _segments(mark: PublishedMark, found: Curve) -> float:
    """Return a published window in the segments this diagram counts in."""
    if mark.cwnd_segments is not None:
        return mark.cwnd_segments
    return (mark.cwnd_bytes or 0.0) / (found.segment_bytes or 1)


def congestion_figure(
    found: Curve, *, id: str, label: str, top: float, window_s: tuple[float, float],
    episodes: pl.DataFrame | None, marks: Marks | None = None,
) -> Figure:  # fmt: skip
    """Return a flow's figure; ``top`` is where its y axis ends."""
    rows = found.rows.with_columns(pl.col("t_s", "cwnd", "ssthresh").round(6))
    x = alt.X("t_s:Q", title="Time (s)", scale=alt.Scale(domain=list(window_s), nice=False))
    unit = f"segments of {found.segment_bytes} bytes" if found.segment_bytes else "segments"
    window, threshold, height = (
        alt.Y(f"{name}:Q", title=f"Window ({unit})", scale=alt.Scale(domain=[0, round(top, 3)]))
        for name in ("cwnd", "ssthresh", "height")
    )
    layers = [
        drawn(rows, _WINDOW).encode(x, window),
        drawn(rows, _THRESHOLD).encode(x, threshold),
    ]
    keys = [Key(WINDOW, _WINDOW, "line"), Key(THRESHOLD, _THRESHOLD, "line")]
    if episodes is not None:
        detected = _episode_rows(episodes, found.flow, window_s)
        layers.append(drawn(detected, _EPISODE).encode(x, y=_FOOT, tooltip=_EPISODE_WORDS))
        keys.append(Key(EPISODE, _EPISODE))
    laid = window_marks(found, marks) if marks else []
    if laid:
        layers += published_marks.layers(laid, x, height)
        keys.append(published_marks.KEY)
    near = drawn(rows, NEAR).encode(x, window, tooltip=_WORDS)
    highest = max(top, float(str(rows["ssthresh"].max() or 0)))
    spec, zoomable = layered(layers, keys, hover=[near], reach={"y": (0, round(highest, 3))})
    words = [_caption(found, top), *([published_marks.caption(laid, marks)] if marks else [])]
    return Figure(
        id=id,
        title=f"Congestion window of {label}",
        caption=" ".join(words),
        spec=spec,
        zoomable=zoomable,
        flow=found.flow.id,
    )


_WORDS = [
    alt.Tooltip("t_s:Q", title="until (s)", format=".3f"),
    alt.Tooltip("cwnd:Q", title="window (segments)", format=".2f"),
    alt.Tooltip("ssthresh:Q", title="threshold (segments)", format=".2f"),
    alt.Tooltip("cwnd_bytes:Q", title="window (bytes)"),
    alt.Tooltip("ssthresh_bytes:Q", title="threshold (bytes)"),
    alt.Tooltip("flight_bytes:Q", title="in flight (bytes)"),
]
_EPISODE_WORDS = [
    alt.Tooltip("number:Q", title="loss episode"),
    alt.Tooltip("t_s:Q", title="detected at (s)", format=".3f"),
    alt.Tooltip("detected_by:N", title="by"),
    alt.Tooltip("dupacks:Q", title="duplicate acknowledgements"),
    alt.Tooltip("lost_at:N", title="first loss at"),
    alt.Tooltip("recovered_s:Q", title="recovered at (s)", format=".3f"),
]


def _episode_rows(
    episodes: pl.DataFrame, flow: Flow, window_s: tuple[float, float]
) -> pl.DataFrame:
    return episodes.filter(pl.col("detected_s").is_between(*window_s), flow=flow.id).select(
        t_s=pl.col("detected_s").round(6),
        number=pl.col("episode"),
        detected_by="detected_by",
        dupacks="dupacks",
        lost_at="lost_at",
        recovered_s=pl.col("recovered_s").round(6),
    )


def _caption(found: Curve, top: float) -> str:
    counted = (
        "The kernel counts segments."
        if found.flow.protocol == "tcp"
        else f"The kernel counts bytes of user data; they are divided by {found.segment_bytes}."
    )
    words = [counted]
    if found.mean is not None:
        words.append(f"Mean over the time shown: {found.mean:.2f} segments.")
    if found.flow.protocol == "tcp":
        words.append(
            "The threshold is what the kernel would use now: outside recovery at least three "
            "quarters of the window."
        )
    highest = found.rows["ssthresh"].max()
    if isinstance(highest, float) and highest > top:
        words.append(f"Thresholds up to {highest:.1f} lie above the axis.")
    rest = (
        "of the others, none is higher or lower than its neighbours drawn"
        if found.thinned
        else "the others change nothing"
    )
    words.append(f"{found.rows.height} of {found.events} events are drawn; {rest}.")
    return " ".join(words)
