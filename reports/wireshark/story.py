"""What happened to each packet of a cell, in words: the comments of its capture. Pure.

Invariants: comments are by row of ``packets.parquet``; data and acknowledgements are told where the
flow's sender has them. With every capture point a loss is told at the last one that saw the packet,
and a flow's first data at its receiver too; in the senders' view a loss is told where it was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from reports.wireshark import sctp_story, tcp_story
from reports.wireshark.congestion_windows import Windows
from reports.wireshark.episodes import Episode
from reports.wireshark.fates import Fate, fates, with_paths
from reports.wireshark.recovery import Recovery
from reports.wireshark.sctp_story import SctpPacket, SctpStory
from reports.wireshark.tcp_story import TcpPacket, TcpStory
from reports.wireshark.words import lost

#: What is needed of ``packets.parquet``.
USED = (
    "point", "direction", "flow", "connection", "packet", "t_s", "protocol", "payload_bytes",
    "retransmission", "tcp_flags", "seq", "ack", "window_bytes", "dupack_count", "chunk_types",
    "data_chunk_count", "tsn", "data_chunks", "cum_tsn_ack", "gap_blocks", "duplicate_tsns",
    "a_rwnd_bytes",
)  # fmt: skip
#: Packets as the senders have them: data as sent, acknowledgements as delivered.
SENDERS = ((pl.col("point") == "sent") & (pl.col("direction") == "data")) | (
    (pl.col("point") == "delivered") & (pl.col("direction") == "ack")
)
MISJUDGED = "not out of order, whatever Wireshark 4.0 says"


def comments(
    packets: pl.DataFrame,
    episodes: Mapping[str, Sequence[Episode]],
    listed: Mapping[str, Sequence[int]] | None = None,
    windows: Mapping[str, Windows] | None = None,
    *,
    senders: bool = False,
) -> dict[int, str]:
    """Return the comment of every row that has one.

    Args:
        packets: ``packets.parquet``, the columns :data:`USED`.
        episodes: of each flow, in order of time; a flow without is told by its packets alone.
        listed: numbers of each flow's data packets that the study has dropped.
        windows: of each flow, what its acknowledgements met.
        senders: whether only rows of :data:`SENDERS` are shown.
    """
    packets = with_paths(packets)
    ends = fates(packets, listed)
    said: dict[int, list[str]] = {}
    labels: dict[int, str] = {}
    own = _at_the_sender(packets)
    for (flow, protocol), of_flow in own.group_by("flow", "protocol", maintain_order=True):
        for _, one in of_flow.group_by("connection", maintain_order=True):
            met = (windows or {}).get(str(flow), Windows())
            story = _story(str(protocol), one, ends, episodes.get(str(flow), ()), met)
            if story is not None:
                said.update(story.said)
                labels.update(story.labels)
            if senders and isinstance(story, TcpStory):
                for row in story.misjudged:
                    said[row].append(MISJUDGED)
    sent = own.filter(direction="data").select("packet", "row").drop_nulls()
    places = dict(sent.iter_rows())
    if not senders:
        places = {packet: fate.row for packet, fate in ends.items()}
        for row in _first_arrivals(packets):
            said.setdefault(row, []).append("first data reach the receiver")
    for packet, fate in ends.items():
        if packet in places:
            label = f": {labels[packet]}" if packet in labels else ""
            said.setdefault(places[packet], []).append(lost(fate) + label)
    return {row: "; ".join(texts) for row, texts in sorted(said.items())}


def _at_the_sender(packets: pl.DataFrame) -> pl.DataFrame:
    """Return what the flows' senders know."""
    numbered = packets.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    return numbered.filter(pl.col("flow").is_not_null(), SENDERS)


def _story(
    protocol: str,
    seen: pl.DataFrame,
    ends: Mapping[int, Fate],
    episodes: Sequence[Episode],
    windows: Windows,
) -> TcpStory | SctpStory | None:
    recovery = Recovery(episodes)
    if protocol == "tcp":
        sizes = seen.filter(pl.col("payload_bytes") > 0, direction="data")["payload_bytes"]
        size = max(sizes.mode().to_list(), default=1)
        tcp = TcpStory(ends, recovery, size, windows.met)
        tcp.tell(map(TcpPacket._make, seen.select(tcp_story.COLUMNS).iter_rows()))
        return tcp
    if protocol == "sctp":
        sctp = SctpStory(ends, recovery, windows.met)
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
