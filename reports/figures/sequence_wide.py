"""Sequence numbers over a long time: modulo a number, or of all flows in one diagram. Pure.

Invariants: numbers are those of :mod:`reports.figures.sequence`, from 1. Modulo, every packet and
every acknowledgement is drawn; together, a flow's line keeps its first and last of each moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import polars as pl

from model.cell import Flow
from reports.figures.chart import (
    BAD,
    GOOD,
    KERNEL,
    NEAR,
    PUBLISHED,
    Figure,
    Key,
    drawn,
    layered,
    look,
)
from reports.figures.sequence import data_sent, losses, numbered, segment_bytes
from reports.figures.thinning import outline

SENT, AGAIN, LOST, ACKED = "sent", "sent again", "lost", "acknowledged up to"
#: Rows a flow's line may have, and stretches of time it is looked at in beyond that: a pixel each.
MOST_STEPS, STRETCHES = 1000, 500

#: Dots of one path: a line whose every point stands alone is a tenth of as many marks.
_DOT = {"type": "line", "strokeCap": "round"}
_SENT = {**_DOT, "color": KERNEL, "strokeWidth": 2.4}
_ACKED = {**_DOT, "color": GOOD, "strokeWidth": 1.5}
_AGAIN = {"type": "point", "shape": "triangle-up", "size": 30, "filled": True, "opacity": 1,
          "color": PUBLISHED}  # fmt: skip
_LOST = {"type": "point", "shape": "M-1,-1L1,1M1,-1L-1,1", "size": 25, "filled": False,
         "strokeWidth": 1.2, "opacity": 1, "color": BAD}  # fmt: skip
_ROUND = {"type": "point", "shape": "circle", "filled": True, "opacity": 1}
_KEYS = (
    Key(SENT, {**_ROUND, "size": 7, "color": KERNEL}), Key(AGAIN, _AGAIN), Key(LOST, _LOST),
    Key(ACKED, {**_ROUND, "size": 4, "color": GOOD}),
)  # fmt: skip
#: Room below and above the numbers.
_MARGIN = 0.03


@dataclass(frozen=True)
class Numbers:
    """A flow's sequence numbers in a window of time.

    ``sent``: ``t_s``, ``segment``, ``again``, ``lost``. ``acked``: ``t_s``, ``segment``, of every
    acknowledgement that arrived, duplicates too.
    """

    flow: Flow
    sent: pl.DataFrame
    acked: pl.DataFrame


def numbers(packets: pl.DataFrame, flow: Flow, from_s: float, to_s: float) -> Numbers:
    """Return a flow's sequence numbers between two times."""
    size = segment_bytes(packets, flow)
    inside = pl.col("t_s").is_between(from_s, to_s)
    lost = losses(packets, flow).with_columns(lost=pl.lit(value=True))
    sent = (
        data_sent(packets, flow)
        .filter(inside)
        .join(lost, on="packet", how="left", maintain_order="left")
        .select(
            t_s=pl.col("t_s").round(4),
            segment=numbered(pl.col("seq") - 1, size) + 1 if size else pl.col("tsn") + 1,
            again="retransmission",
            lost=pl.col("lost").fill_null(value=False),
        )
    )
    acks = packets.filter(inside, flow=flow.id, direction="ack", point="delivered")
    reached = numbered(pl.col("ack") - 1, size) if size else pl.col("cum_tsn_ack") + 1
    acked = acks.select(t_s=pl.col("t_s").round(4), segment=reached).drop_nulls()
    return Numbers(flow, sent, acked)


def wrapped_figure(
    found: Numbers, *, id: str, label: str, window_s: tuple[float, float], modulo: int
) -> Figure:
    """Return what a flow sent and was acknowledged, each number modulo another."""
    x = alt.X("t_s:Q", title="Time (s)", scale=alt.Scale(domain=list(window_s), nice=False))
    heights = [round(-modulo * _MARGIN, 3), round(modulo * (1 + _MARGIN), 3)]
    title = f"Number, modulo {modulo}"
    y, dot = (
        alt.Y(f"{name}:Q", title=title, scale=alt.Scale(domain=heights, nice=False))
        for name in ("segment", "dot")
    )
    within = pl.col("segment") % modulo
    sent, acked = (rows.with_columns(within) for rows in (found.sent, found.acked))
    first = sent.filter(~pl.col("again")).select("t_s", "segment")
    layers = [
        _dots(acked, _ACKED).encode(x, dot),
        _dots(first, _SENT).encode(x, dot),
        drawn(sent.filter("again").select("t_s", "segment"), _AGAIN).encode(x, y),
        drawn(sent.filter("lost").select("t_s", "segment"), _LOST).encode(x, y),
    ]
    near = drawn(first, NEAR).encode(x, y, tooltip=_WORDS)
    spec, zoomable = layered(layers, _KEYS, hover=[near], zoom=("x",))
    again, lost = int(sent["again"].sum()), int(sent["lost"].sum())
    return Figure(
        id=id,
        title=f"Sequence numbers, modulo {modulo}, of {label}",
        caption=(
            f"As the sender sees it: {first.height} packets with new data, {again} sent again, "
            f"{lost} lost, and {acked.height} acknowledgements, each at the number it "
            "acknowledges up to. Every one is drawn."
        ),
        spec=spec,
        zoomable=zoomable,
        flow=found.flow.id,
    )


def _dots(rows: pl.DataFrame, mark: dict[str, object]) -> alt.Chart:
    """Return points of ``segment`` as a line of dots, in the field ``dot``."""
    alone = drawn(rows, mark).transform_calculate(dot="[datum.segment, null]")
    return alone.transform_flatten(["dot"])


def together_figure(
    found: Sequence[Numbers], *, id: str, label: str, window_s: tuple[float, float]
) -> Figure:
    """Return the numbers of new data of all flows against time, in one diagram."""
    x = alt.X("t_s:Q", title="Time (s)", scale=alt.Scale(domain=list(window_s), nice=False))
    y = alt.Y("segment:Q", title="Segment (TCP), DATA chunk (SCTP), from 1")
    layers, hover, keys, words = [], [], [], []
    protocols = [one.flow.protocol.upper() for one in found]
    # Of several flows of one protocol none has its colour.
    names = protocols if len(set(protocols)) == len(protocols) else [""] * len(protocols)
    for place, one in enumerate(found):
        mark = {"type": "line", "strokeWidth": 1.4, **look(place, names[place])}
        new = one.sent.filter(~pl.col("again")).select("t_s", "segment")
        rows = outline(new, "t_s", "segment", MOST_STEPS, STRETCHES)
        name = f"{one.flow.protocol.upper()}, flow {one.flow.id}"
        layers.append(drawn(rows, mark).encode(x, y))
        hover.append(drawn(rows, NEAR).encode(x, y, tooltip=_WORDS))
        keys.append(Key(name, mark, "line"))
        again = int(one.sent["again"].sum())
        words.append(f"{name}: {new.height} packets with new data, {again} sent again.")
    spec, zoomable = layered(layers, keys, hover=hover)
    return Figure(
        id=id,
        title=f"Sequence numbers of packets sent by {label}",
        caption=f"{' '.join(words)} Drawn are those with new data, as they leave their senders.",
        spec=spec,
        zoomable=zoomable,
    )


_WORDS = [
    alt.Tooltip("t_s:Q", title="sent at (s)", format=".4f"),
    alt.Tooltip("segment:Q", title="number"),
]
