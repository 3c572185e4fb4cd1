"""What one flow's captures say of its data and acknowledgements, as the sender saw them. Pure.

Invariants: data in the order sent, acknowledgements in the order in which they reached the sender;
both count alike: a number is a byte of TCP from 1 or a TSN from 0, and an end is the number after
the last. A packet that may still be under way when the capture ends is not lost.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.packets.seen import Floats, is_acknowledgement
from model import path_names
from model.after_events import directions_over_time
from model.cell import Cell, Flow
from model.links import Direction

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PACKET_MAX_BYTES = 1500
#: The columns of the packets table that are needed here; lists are dear to copy.
USED = (
    "flow", "connection", "direction", "point", "path", "packet", "t_s", "payload_bytes",
    "retransmission", "tcp_flags", "seq", "ack", "tsn", "data_chunk_count", "cum_tsn_ack",
    "a_rwnd_bytes", "dupack_count",
)  # fmt: skip
#: What can lose a packet after each point; the access links' routers are neither.
STAGES = (
    ("sent", "queue_offered", None),
    ("queue_offered", "loss_offered", "queue"),
    ("loss_offered", "loss_passed", "loss"),
    ("loss_passed", "delivered", None),
)
BETWEEN = [after for _, after, _ in STAGES[:-1]]
#: What is asked of a packet there.
PASSAGE = ("flow", "packet", "point", "t_s")


@dataclass(frozen=True, kw_only=True)
class Data:
    """Packets with user data, one row each; ``lost_s`` is NaN for those that were not lost.

    ``path`` is the one that a packet took, from 1.
    """

    packet: Ints
    path: Ints
    t_s: Floats
    start: Ints
    end: Ints
    payload_bytes: Ints
    again: Bools
    lost_s: Floats
    lost_at: npt.NDArray[np.object_]

    @functools.cached_property
    def furthest(self) -> Ints:
        """The highest end that had left with each packet."""
        return np.maximum.accumulate(self.end)

    @functools.cached_property
    def fresh(self) -> Ints:
        """The rows of packets that repeat nothing."""
        return np.flatnonzero(~self.again)


@dataclass(frozen=True, kw_only=True)
class Acks:
    """Acknowledgements; ``reached`` is the highest cumulative one so far, as an end.

    ``blocks`` is what each reports beyond that: ``sack_blocks`` or ``gap_blocks`` as captured; of
    TCP's a block ends after its last byte, of SCTP's with its last TSN.
    """

    t_s: Floats
    reached: Ints
    blocks: pl.Series
    dupack_count: pl.Series

    @functools.cached_property
    def listed(self) -> list[list[tuple[int, int]]]:
        """The start and end of each block of each acknowledgement; empty where it has none."""
        items = self.blocks.explode(empty_as_null=False, keep_nulls=False).struct
        pairs = list(zip(*(items.field(name).to_list() for name in ("start", "end")), strict=True))
        ends = self.blocks.list.len().fill_null(0).cum_sum().to_list()
        return [pairs[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@dataclass(frozen=True, kw_only=True)
class Captured:
    """One flow's data and acknowledgements; ``arrived_s`` is when anything reached the sender."""

    data: Data
    acks: Acks
    arrived_s: Floats
    unit_bytes: int


def captured_flows(cell: Cell, packets: pl.DataFrame) -> Iterator[tuple[Flow, Captured]]:
    """Yield every flow that has data in the packets table and counts them (UDP does not).

    A flow at a time, and of packets between their ends those that did not arrive: all others are
    most of the table, and copies of them were most of the memory and the time that this took.
    """
    known = pl.col("flow").is_not_null() & pl.col("packet").is_not_null() & protocol_counts()
    data = known & (pl.col("payload_bytes") > 0) & (pl.col("direction") == "data")
    delivered = pl.col("point") == "delivered"
    answers = known & (pl.col("direction") == "ack") & delivered
    rows = packets.select(
        "flow",
        "packet",
        row=pl.int_range(pl.len()),
        ends=answers | (data & (delivered | (pl.col("point") == "sent"))),
        arrived=data & delivered,
        between=data & pl.col("point").is_in(BETWEEN),
    )
    arrived = rows.filter("arrived")["packet"].implode()
    stayed = rows.filter(pl.col("between") & ~pl.col("packet").is_in(arrived))["row"]
    trails = packets.select(PASSAGE)[stayed]
    parts = rows.filter("ends").select("flow", "row").partition_by("flow", as_dict=True)
    del rows, arrived
    ended_s = packets["t_s"].max()
    for flow in cell.flows:
        part = parts.pop((flow.id,), None)
        if part is not None and isinstance(ended_s, float):
            chosen = _main_connection(packets.select(USED)[part["row"]].with_columns(part["row"]))
            trail = trails.filter(flow=flow.id)
            settled_s = ended_s - longest_s(cell)
            captured = captured_flow(flow, chosen, trail, packets, settled_s)
            if captured is not None:
                yield flow, captured


def protocol_counts() -> pl.Expr:
    """Return whether a packet is of a protocol that numbers its data."""
    return pl.col("seq").is_not_null() | pl.col("data_chunk_count").is_not_null()


def longest_s(cell: Cell) -> float:
    """Return a time in which every packet has arrived that was not lost, whichever way it took."""
    found = []
    for number, path in enumerate(cell.wired.paths(), 1):
        link, ends = path_names.bottleneck(number), (path.accesses()[-1], path.destination_access)
        # Events change it: as it was when packets took longest.
        over_time = directions_over_time(path.bottleneck.forward, link, "forward", cell.events)
        found.append(max(map(_longest_s, over_time)) + sum(_longest_s(end.forward) for end in ends))
    return max(found)


def _longest_s(way: Direction) -> float:
    return way.owd_s + (way.queue_pkts + 1) * PACKET_MAX_BYTES * 8 / way.rate_bps


def _main_connection(packets: pl.DataFrame) -> pl.DataFrame:
    """Return the packets of the connection that carries the flow: the one with most data."""
    carried = packets.group_by("connection").agg(pl.col("payload_bytes").sum())
    main = carried.sort("payload_bytes", "connection", descending=[True, False])["connection"]
    return packets.filter(pl.col("connection").eq_missing(main[0]))


def captured_flow(
    flow: Flow, chosen: pl.DataFrame, trail: pl.DataFrame, packets: pl.DataFrame, settled_s: float
) -> Captured | None:
    """Return a flow's data and acknowledgements; None if it sent no data.

    ``chosen`` has its packets at their ends, ``row`` being their place in ``packets``, and
    ``trail`` where those that did not arrive were seen between. ``settled_s``: what was sent before
    and did not arrive was lost.
    """
    data = chosen.filter(pl.col("payload_bytes") > 0, pl.col("direction") == "data")
    sent = data.filter(pl.col("point") == "sent").sort("packet")
    if not sent.height:
        return None
    arriving = chosen.filter(direction="ack", point="delivered")
    acks = arriving.filter(is_acknowledgement())
    start, end = _ranges(flow, sent, packets)
    arrived = data.filter(point="delivered")["packet"].to_numpy()
    lost_s, lost_at = _losses(sent, arrived, trail, settled_s)
    tcp = flow.protocol == "tcp"
    cumulative = acks["ack"] if tcp else acks["cum_tsn_ack"] + 1
    reached = np.maximum.accumulate(cumulative.to_numpy().astype(np.int64))
    return Captured(
        data=Data(
            packet=sent["packet"].to_numpy(),
            path=sent["path"].fill_null(1).to_numpy(),
            t_s=sent["t_s"].to_numpy(),
            start=start,
            end=end,
            payload_bytes=sent["payload_bytes"].to_numpy(),
            again=sent["retransmission"].fill_null(value=False).to_numpy(),
            lost_s=lost_s,
            lost_at=lost_at,
        ),
        acks=Acks(
            t_s=acks["t_s"].to_numpy(),
            reached=reached,
            blocks=packets["sack_blocks" if tcp else "gap_blocks"].gather(acks["row"]),
            dupack_count=acks["dupack_count"],
        ),
        arrived_s=arriving["t_s"].to_numpy(),
        unit_bytes=int(sent["payload_bytes"].max()) if tcp else 1,  # type: ignore[arg-type]
    )


def _ranges(flow: Flow, sent: pl.DataFrame, packets: pl.DataFrame) -> tuple[Ints, Ints]:
    """Return the numbers of the data in each packet: from, and up to but not including."""
    if flow.protocol == "tcp":
        start = sent["seq"].to_numpy()
        return start, start + sent["payload_bytes"].to_numpy()
    start = sent["tsn"].to_numpy()
    if sent["data_chunk_count"].max() == 1:
        return start, start + 1
    chunks = packets["data_chunks"].gather(sent["row"])
    tsns = chunks.list.eval(pl.element().struct.field("tsn"))
    return start, (tsns.list.max() + 1).to_numpy()


def _losses(
    sent: pl.DataFrame, arrived: Ints, trail: pl.DataFrame, settled_s: float
) -> tuple[Floats, npt.NDArray[np.object_]]:
    """Return when each sent packet was lost (NaN: it was not) and by what."""
    number, sent_s = sent["packet"].to_numpy(), sent["t_s"].to_numpy()
    gone = (sent_s < settled_s) & ~np.isin(number, arrived)
    trail = trail.filter(pl.col("packet").is_in(pl.Series(number[gone]).implode()))
    at_s = {point: _times_s(trail.filter(point=point), number) for point in BETWEEN}
    at_s |= {"sent": sent_s, "delivered": np.full(len(number), np.nan)}
    lost_s = np.full(len(number), np.nan)
    lost_at = np.full(len(number), None, dtype=object)
    for before, after, what in STAGES:
        here = gone & ~np.isnan(at_s[before]) & np.isnan(at_s[after]) & np.isnan(lost_s)
        lost_s[here] = at_s[before][here]
        lost_at[here] = what
    return lost_s, lost_at


def _times_s(seen: pl.DataFrame, number: Ints) -> Floats:
    """Return when packets, whose numbers ascend, were at a point; NaN: they were not."""
    found = np.full(len(number), np.nan)
    found[np.searchsorted(number, seen["packet"].to_numpy())] = seen["t_s"].to_numpy()
    return found
