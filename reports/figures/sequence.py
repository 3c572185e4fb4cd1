"""Time-sequence diagram of a flow: what its sender sent, what was acknowledged to it. Pure.

Invariants: times are those at the sender's end of the path. TCP's segments are numbered from 1 by
bytes over the segment size, SCTP's DATA chunks by their TSN from 1, so that the last acknowledged
segment and the packet that carried it lie at the same height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.cell import Flow
from model.run_files.figures import PublishedMark
from reports.figures import published_marks
from reports.figures.chart import (
    BAD,
    FAINT_INK,
    GOOD,
    KERNEL,
    NEAR,
    PUBLISHED,
    Figure,
    Key,
    drawn,
    layered,
)
from reports.figures.published_marks import Laid, Marks, moved_s, moved_segment, since
from reports.figures.thinning import MOST_ROWS, outline

SENT, AGAIN, LOST = "sent first", "sent again", "lost"
ACKED, SACKED = "acknowledged up to", "also reported received"

_POINT = {"type": "point", "opacity": 1}
_SENT = {**_POINT, "shape": "square", "size": 9, "filled": True, "color": KERNEL}
_AGAIN = {**_POINT, "shape": "triangle-up", "size": 49, "filled": True, "color": PUBLISHED}
#: A cross of two strokes, which shows what lies under it.
_LOST = {**_POINT, "shape": "M-1,-1L1,1M1,-1L-1,1", "size": 36, "filled": False, "strokeWidth": 1.4,
         "color": BAD}  # fmt: skip
_ACKED = {"type": "line", "interpolate": "step-after", "color": FAINT_INK, "strokeWidth": 1}
_SACKED = {"type": "rule", "color": GOOD, "strokeWidth": 1.4}
_KEYS = (
    Key(SENT, _SENT), Key(AGAIN, _AGAIN), Key(LOST, _LOST), Key(ACKED, _ACKED, "line"),
    Key(SACKED, _SACKED, "bar"),
)  # fmt: skip

#: Room below and above what is drawn, as a part of it.
MARGIN = 0.04

#: Packets between two capture points of the data's way can only have been dropped in between.
STRETCHES = (
    ("sent", "queue_offered", "source's access link"),
    ("queue_offered", "loss_offered", "bottleneck's queue"),
    ("loss_offered", "loss_passed", "loss model, or listed"),
    ("loss_passed", "delivered", "destination's access link"),
)


@dataclass(frozen=True)
class Diagram:
    """A flow's packets in a window of time.

    ``sent``: ``t_s``, ``segment``, ``packet``, ``again``, ``lost_at`` (null: arrived, or still
    under way). ``acked``: ``t_s``, ``segment``. ``sacked``: ``t_s``, ``low``, ``high``, in
    segments. ``first_sent_pkts`` is how many new packets there are, drawn or not.
    """

    flow: Flow
    segment_bytes: int | None
    sent: pl.DataFrame
    acked: pl.DataFrame
    sacked: pl.DataFrame
    first_sent_pkts: int

    @property
    def segments(self) -> tuple[float, float]:
        """Return the lowest and the highest segment drawn; packets must have been sent."""
        places = (self.sent["segment"], self.acked["segment"], *self.sacked["low", "high"])
        ends = [end for column in places for end in (column.min(), column.max())]
        numbers = [float(end) for end in ends if isinstance(end, int | float)]
        return min(numbers), max(numbers)


def segment_bytes(packets: pl.DataFrame, flow: Flow) -> int | None:
    """Return TCP's segment size, the payload most packets have; None for SCTP, which has TSNs."""
    if flow.protocol != "tcp":
        return None
    sizes = data_sent(packets, flow)["payload_bytes"].mode().sort(descending=True)
    return int(sizes[0]) if len(sizes) else None


def data_sent(packets: pl.DataFrame, flow: Flow) -> pl.DataFrame:
    """Return the packets with data a flow's sender sent."""
    return packets.filter(pl.col("payload_bytes") > 0, flow=flow.id, direction="data", point="sent")


def losses(packets: pl.DataFrame, flow: Flow) -> pl.DataFrame:
    """Return the data packets of a flow that were lost: ``packet``, ``lost_at``.

    Each stretch of the path keeps the order of packets; so a packet is lost if a later one got
    through the stretch it did not. Of the last ones that cannot be told.
    """
    data = packets.filter(
        pl.col("packet").is_not_null(), pl.col("payload_bytes") > 0, flow=flow.id, direction="data"
    ).select("point", "packet", "t_s")
    found = []
    for start, end, words in STRETCHES:
        entered, left = data.filter(point=start), data.filter(point=end)
        passed = entered.join(left, on="packet", how="semi")
        last_s = passed["t_s"].max()
        if last_s is not None:
            lost = entered.join(left, on="packet", how="anti").filter(pl.col("t_s") < last_s)
            found.append(lost.select("packet", lost_at=pl.lit(words)))
    empty = pl.DataFrame(schema={"packet": pl.Int64, "lost_at": pl.String})
    return pl.concat([empty, *found])


def single_loss_s(packets: pl.DataFrame, flow: Flow, before_s: float, after_s: float,
                  end_s: float) -> float | None:  # fmt: skip
    """Return when the first packet was sent that was lost alone: no other in the time around it."""
    lost = data_sent(packets, flow).join(losses(packets, flow), on="packet").sort("t_s")
    alone = lost.filter(
        pl.col("t_s").diff().fill_null(float("inf")) > before_s,
        pl.col("t_s").diff(-1).neg().fill_null(float("inf")) > after_s,
        pl.col("t_s") <= end_s - after_s,
        ~pl.col("retransmission"),
    )
    return float(alone["t_s"][0]) if alone.height else None


def sequence(
    packets: pl.DataFrame, blocks: pl.DataFrame, flow: Flow, from_s: float, to_s: float
) -> Diagram:
    """Return what a flow's sender sent and was told between two times.

    ``blocks``: the acknowledgements with their lists, as in
    :class:`reports.store.cell_tables.CellTables`.
    """
    size = segment_bytes(packets, flow)
    inside = pl.col("t_s").is_between(from_s, to_s)
    sent = (
        data_sent(packets, flow)
        .filter(inside)
        .join(losses(packets, flow), on="packet", how="left", maintain_order="left")
        .select(
            t_s=pl.col("t_s").round(6),
            segment=numbered(pl.col("seq") - 1, size) + 1 if size else pl.col("tsn") + 1,
            packet="packet",
            again="retransmission",
            lost_at="lost_at",
        )
    )
    acks = packets.filter(inside, flow=flow.id, direction="ack", point="delivered")
    reached = numbered(pl.col("ack") - 1, size) if size else pl.col("cum_tsn_ack") + 1
    acked = acks.select(t_s=pl.col("t_s").round(6), segment=reached.cum_max()).drop_nulls()
    first = sent.filter(~pl.col("again"), pl.col("lost_at").is_null())
    drawn = outline(first, "t_s", "segment")
    rest = sent.filter(pl.col("again") | pl.col("lost_at").is_not_null())
    return Diagram(
        flow=flow,
        segment_bytes=size,
        sent=pl.concat([drawn, rest]).sort("t_s", "packet"),
        acked=_steps(acked),
        sacked=_reported(blocks.filter(inside, flow=flow.id), size),
        first_sent_pkts=sent.filter(~pl.col("again")).height,
    )


def numbered(byte: pl.Expr, size: int | None) -> pl.Expr:
    """Return how many segments lie before a byte counted from 0."""
    return (byte / pl.lit(size)).round(3)


def _steps(acked: pl.DataFrame) -> pl.DataFrame:
    """Return where the acknowledged number rises, and both ends of the curve."""
    number = pl.int_range(pl.len())
    rises = pl.col("segment").ne_missing(pl.col("segment").shift(1))
    return outline(acked.filter(rises | (number == pl.len() - 1)), "t_s", "segment")


def _reported(blocks: pl.DataFrame, size: int | None) -> pl.DataFrame:
    """Return the blocks reported received beyond the cumulative acknowledgement, in segments."""
    name = "sack_blocks" if size else "gap_blocks"
    rows = blocks.select("t_s", block=pl.col(name)).explode("block").drop_nulls("block")
    start, end = (pl.col("block").struct.field(field) for field in ("start", "end"))
    low = numbered(start - 1, size) + 0.5 if size else start + 0.5
    high = numbered(end - 1, size) + 0.5 if size else end + 1.5
    found = rows.select(t_s=pl.col("t_s").round(6), low=low, high=high)
    if found.height > MOST_ROWS:  # most repeat what the one before said
        found = found.unique(("low", "high"), keep="first", maintain_order=True)
    return found


def segment_marks(found: Diagram, marks: Marks) -> list[Laid]:
    """Return published events in this diagram, each beside when the kernel did the same."""
    laid = []
    for mark in marks.loss.marks:
        t_s, segment = moved_s(mark, marks), moved_segment(mark, marks)
        times = _same(found, mark, segment, marks)
        nearest = min(times, key=lambda at_s: (abs(at_s - t_s), at_s), default=None)
        kernel = (
            "the kernel not in sight"
            if nearest is None
            else f"kernel at {since(nearest, marks.detected.at_s)}"
        )
        laid.append(Laid(mark, t_s, segment, kernel))
    return laid


def _same(found: Diagram, mark: PublishedMark, segment: float, marks: Marks) -> Sequence[float]:
    """Return when the kernel did what a mark says.

    Below the lost segment every acknowledgement that reports more is a duplicate of that number.
    """
    lost = marks.detected.segment
    if mark.segment is not None:
        again = segment == lost
        return found.sent.filter(pl.col("segment") == segment, again=again)["t_s"].to_list()
    if lost is not None and segment < lost:
        return found.sacked["t_s"].to_list()
    return found.acked.filter(pl.col("segment") >= segment)["t_s"].head(1).to_list()


def sequence_figure(
    found: Diagram, *, id: str, label: str, window_s: tuple[float, float], span: float,
    marks: Marks | None = None,
) -> Figure:  # fmt: skip
    """Return the time-sequence diagram of a flow between two times.

    ``span`` is how many segments the y axis shows; more than one flow has the same.
    """
    lowest, margin = found.segments[0], max(span, 1) * MARGIN
    heights = [round(lowest - margin, 3), round(lowest + span + margin, 3)]
    counted = (
        f"Segment of {found.segment_bytes} bytes" if found.segment_bytes else "DATA chunk (TSN)"
    )
    x = alt.X("t_s:Q", title="Time (s)", scale=alt.Scale(domain=list(window_s), nice=False))
    y, low, height = (
        alt.Y(
            f"{name}:Q",
            title=f"{counted}, from 1",
            scale=alt.Scale(domain=heights, nice=False),
        )
        for name in ("segment", "low", "height")
    )
    packets = ((_SENT, "!datum.again"), (_AGAIN, "datum.again"), (_LOST, "datum.lost_at"))
    layers = [
        drawn(found.acked, _ACKED).encode(x, y),
        drawn(found.sacked, _SACKED).encode(x, low, y2="high", tooltip=_SACK_WORDS),
        *(
            drawn(found.sent, mark).transform_filter(which).encode(x, y, tooltip=_WORDS)
            for mark, which in packets
        ),
    ]
    laid, keys = segment_marks(found, marks) if marks else [], list(_KEYS)
    if laid:
        layers += published_marks.layers(laid, x, height)
        keys.append(published_marks.KEY)
    near = drawn(found.acked, NEAR).encode(x, y, tooltip=_ACK_WORDS)
    spec, zoomable = layered(layers, keys, hover=[near])
    words = [_caption(found), *([published_marks.caption(laid, marks)] if marks else [])]
    return Figure(
        id=id, title=f"Time-sequence diagram of {label}", caption=" ".join(words), spec=spec,
        zoomable=zoomable, flow=found.flow.id,
    )  # fmt: skip


_TIME = alt.Tooltip("t_s:Q", title="at (s)", format=".6f")
_WORDS = [
    _TIME,
    alt.Tooltip("segment:Q", title="segment"),
    alt.Tooltip("packet:Q", title="packet in packets.parquet"),
    alt.Tooltip("again:N", title="sent before"),
    alt.Tooltip("lost_at:N", title="lost at"),
]
_ACK_WORDS = [_TIME, alt.Tooltip("segment:Q", title="acknowledged up to")]
_SACK_WORDS = [
    _TIME,
    alt.Tooltip("low:Q", title="received from (edge)"),
    alt.Tooltip("high:Q", title="to (edge)"),
]


def _caption(found: Diagram) -> str:
    again = found.sent["again"].sum()
    lost = found.sent["lost_at"].drop_nulls()
    places = [f"{lost.eq(place).sum()} in the {place}" for place in lost.unique().sort()]
    words = [
        "As the sender sees it: when packets leave it and acknowledgements reach it.",
        f"{found.first_sent_pkts} packets with new data, {again} sent again;",
        f"lost: {', '.join(places)}." if places else "none is known to be lost.",
    ]
    drawn = found.sent.filter(~pl.col("again")).height
    if drawn < found.first_sent_pkts:
        words.append(
            f"Of the new ones {drawn} are drawn: all that were lost, and of each moment the first "
            "and last; all sent again are drawn."
        )
    return " ".join(words)
