"""What happened to each packet of a cell, in words: the comments of its capture. Pure.

Invariants: comments are by row of ``packets.parquet``; data and acknowledgements are told where
their sender has them, a loss at the last point that saw the packet; a flow's first data and the
arrival of it are told at the receiver too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from reports.wireshark import sctp_story, tcp_story
from reports.wireshark.episodes import Episode
from reports.wireshark.fates import Fate, fates
from reports.wireshark.recovery import Recovery
from reports.wireshark.sctp_story import SctpPacket, SctpStory
from reports.wireshark.tcp_story import TcpPacket, TcpStory
from reports.wireshark.words import LOST

#: What is needed of ``packets.parquet``.
USED = (
    "point", "direction", "flow", "connection", "packet", "t_s", "protocol", "payload_bytes",
    "retransmission", "tcp_flags", "seq", "ack", "window_bytes", "dupack_count", "chunk_types",
    "data_chunk_count", "tsn", "data_chunks", "cum_tsn_ack", "gap_blocks", "duplicate_tsns",
    "a_rwnd_bytes",
)  # fmt: skip


def comments(
    packets: pl.DataFrame,
    episodes: Mapping[str, Sequence[Episode]],
    listed: Mapping[str, Sequence[int]] | None = None,
) -> dict[int, str]:
    """Return the comment of every row that has one.

    Args:
        packets: ``packets.parquet``, the columns :data:`USED`.
        episodes: of each flow, in order of time; a flow without is told by its packets alone.
        listed: numbers of each flow's data packets that the study has dropped.
    """
    ends = fates(packets, listed)
    said: dict[int, list[str]] = {}
    labels: dict[int, str] = {}
    own = _at_the_sender(packets)
    for (flow, protocol), of_flow in own.group_by("flow", "protocol", maintain_order=True):
        for _, one in of_flow.group_by("connection", maintain_order=True):
            story = _story(str(protocol), one, ends, episodes.get(str(flow), ()))
            if story is not None:
                said.update(story.said)
                labels.update(story.labels)
    for row in _first_arrivals(packets):
        said.setdefault(row, []).append("first data reach the receiver")
    for packet, fate in ends.items():
        label = labels.get(packet, "")
        text = f"{LOST[fate.place]}: {label}" if label else LOST[fate.place]
        said.setdefault(fate.row, []).append(text)
    return {row: "; ".join(texts) for row, texts in sorted(said.items())}


def _at_the_sender(packets: pl.DataFrame) -> pl.DataFrame:
    """Return data as sent and acknowledgements as delivered: what the flow's sender knows."""
    sent = (pl.col("point") == "sent") & (pl.col("direction") == "data")
    heard = (pl.col("point") == "delivered") & (pl.col("direction") == "ack")
    numbered = packets.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return numbered.filter(pl.col("flow").is_not_null(), sent | heard)


def _story(
    protocol: str,
    seen: pl.DataFrame,
    ends: Mapping[int, Fate],
    episodes: Sequence[Episode],
) -> TcpStory | SctpStory | None:
    recovery = Recovery(episodes)
    if protocol == "tcp":
        tcp = TcpStory(ends, recovery)
        tcp.tell(map(TcpPacket._make, seen.select(tcp_story.COLUMNS).iter_rows()))
        return tcp
    if protocol == "sctp":
        sctp = SctpStory(ends, recovery)
        chosen = seen.with_columns(tsns=_tsns()).select(sctp_story.COLUMNS)
        sctp.tell(map(SctpPacket._make, chosen.iter_rows()))
        return sctp
    return None


def _tsns() -> pl.Expr:
    """Return the TSNs of each packet; those of bundles alone are worth the price of a list."""
    several = pl.col("data_chunks").list.eval(pl.element().struct.field("tsn"))
    one = pl.concat_list("tsn")
    return (
        pl.when(pl.col("data_chunk_count") > 1).then(several)
        .when(pl.col("data_chunk_count") == 1).then(one)
    )  # fmt: skip


def _first_arrivals(packets: pl.DataFrame) -> list[int]:
    arrived = packets.with_row_index("row").filter(
        pl.col("flow").is_not_null(),
        pl.col("payload_bytes") > 0,
        point="delivered",
        direction="data",
    )
    return arrived.group_by("flow").agg(pl.col("row").min())["row"].sort().to_list()
