"""What the path did to each flow's packets, from captures with one clock. Pure.

Invariants: one row for each flow, in the study's order; what no capture shows is null. Delays are
differences of times at two capture points of the same packet, so no clocks are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from testbed.cell import Cell, Flow

Floats = npt.NDArray[np.float64]

#: RFC 3550, section 6.4.1: the weight of a new difference in the smoothed jitter.
JITTER_GAIN = 1 / 16
#: Flags of a DATA chunk: last and first of its message (RFC 9260, section 3.3.1).
ENDS, BEGINS = 1, 2
#: The columns of the packets table that are needed here.
USED = (
    "flow", "direction", "point", "packet", "t_s", "ip_bytes", "payload_bytes", "tcp_flags", "seq",
    "ack", "tsn", "data_chunks", "cum_tsn_ack", "a_rwnd_bytes",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PathRow:
    """One flow of one cell; columns of ``path.parquet``."""

    flow: str
    goodput_bytes: int | None
    total_bytes: int | None
    connect_to_data_s: float | None
    data_wire_rate_bps: float
    bottleneck_wire_rate_bps: float
    ack_pkts: int
    ack_ip_bytes: int
    ack_wire_rate_bps: float
    owd_mean_s: float | None
    owd_min_s: float | None
    owd_p50_s: float | None
    owd_p95_s: float | None
    owd_p99_s: float | None
    owd_max_s: float | None
    jitter_mean_s: float | None
    jitter_rfc3550_s: float | None
    queue_mean_s: float | None
    queue_max_s: float | None
    ack_owd_mean_s: float | None


def path_rows(cell: Cell, packets: pl.DataFrame) -> list[PathRow]:
    """Return every flow's row."""
    # Lists are dear to copy: they come along only for the one question that needs them.
    chosen = packets.select(USED).filter(
        pl.col("flow").is_not_null(), pl.col("point").is_not_null()
    )
    parts = chosen.partition_by("flow", as_dict=True)
    return [path_row(flow, cell, parts.get((flow.id,), chosen.clear())) for flow in cell.flows]


def path_row(flow: Flow, cell: Cell, packets: pl.DataFrame) -> PathRow:
    """Return one flow's row from its packets at all points."""
    data = packets.filter(direction="data")
    acks = packets.drop("data_chunks").filter(direction="ack")
    bare = data.drop("data_chunks")
    measured_s = cell.measured_s()
    inside = pl.col("t_s").is_between(cell.measure_from_s, cell.measure_to_s, closed="left")
    sent = bare.filter(inside, point="sent")
    acks_sent = acks.filter(inside, is_acknowledgement(), point="sent")
    data_bytes, ack_bytes = (int(part["ip_bytes"].sum()) for part in (sent, acks_sent))
    passed_bytes = int(bare.filter(inside, point="loss_offered")["ip_bytes"].sum())
    # Delays are those of packets that left their sender inside the window.
    bare = bare.filter(pl.col("packet").is_in(sent["packet"].implode()))
    acks = acks.filter(
        pl.col("packet").is_in(acks.filter(inside, point="sent")["packet"].implode())
    )
    carrying = bare.filter(pl.col("payload_bytes") > 0)
    owd_s = delays_s(carrying, "sent", "delivered")
    queue_s = delays_s(bare, "queue_offered", "loss_offered")
    ack_owd_s = delays_s(acks, "sent", "delivered")
    steps_s = np.abs(np.diff(owd_s))
    return PathRow(
        flow=flow.id,
        goodput_bytes=_window_bytes(data, flow, cell),
        total_bytes=accepted_bytes(data, flow, None),
        connect_to_data_s=_connect_to_data_s(data),
        data_wire_rate_bps=data_bytes * 8 / measured_s,
        bottleneck_wire_rate_bps=passed_bytes * 8 / measured_s,
        ack_pkts=acks_sent.height,
        ack_ip_bytes=ack_bytes,
        ack_wire_rate_bps=ack_bytes * 8 / measured_s,
        owd_mean_s=_mean(owd_s),
        owd_min_s=_quantile(owd_s, 0),
        owd_p50_s=_quantile(owd_s, 0.5),
        owd_p95_s=_quantile(owd_s, 0.95),
        owd_p99_s=_quantile(owd_s, 0.99),
        owd_max_s=_quantile(owd_s, 1),
        jitter_mean_s=_mean(steps_s),
        jitter_rfc3550_s=_smoothed(steps_s),
        queue_mean_s=_mean(queue_s),
        queue_max_s=_quantile(queue_s, 1),
        ack_owd_mean_s=_mean(ack_owd_s),
    )


def is_acknowledgement() -> pl.Expr:
    """Return what packets acknowledge and carry no data: a bare TCP ACK, a SACK chunk."""
    # FIN, SYN and RST are the low three bits; the ACK bit is what makes `ack` known.
    bare = (pl.col("tcp_flags") & 0x07 == 0) & pl.col("ack").is_not_null()
    # A SHUTDOWN acknowledges too, but has no window.
    sack = pl.col("cum_tsn_ack").is_not_null() & pl.col("a_rwnd_bytes").is_not_null()
    return ((bare | sack) & (pl.col("payload_bytes") == 0)).fill_null(value=False)


def packet_count(packets: pl.DataFrame) -> int:
    """Return a number above that of every packet."""
    highest = packets["packet"].max()
    return highest + 1 if isinstance(highest, int) else 0


def times_s(packets: pl.DataFrame, point: str, count: int) -> Floats:
    """Return when each packet, by its number below ``count``, was at a point; NaN: it was not."""
    found = np.full(count, np.nan)
    here = packets.filter(pl.col("packet").is_not_null(), point=point)
    found[here["packet"].to_numpy()] = here["t_s"].to_numpy()
    return found


def delays_s(packets: pl.DataFrame, start: str, end: str) -> Floats:
    """Return the time from one point to another of all packets seen at both, as they arrived."""
    count = packet_count(packets)
    arrived = times_s(packets, end, count)
    order = np.argsort(arrived, kind="stable")
    delays = (arrived - times_s(packets, start, count))[order]
    known: Floats = delays[~np.isnan(delays)]
    return known


def _window_bytes(data: pl.DataFrame, flow: Flow, cell: Cell) -> int | None:
    """Return the bytes the receiver could hand over inside the measuring window."""
    until = accepted_bytes(data, flow, cell.measure_to_s)
    if until is None or not cell.measure_from_s:
        return until
    before = accepted_bytes(data, flow, cell.measure_from_s)
    return None if before is None else until - before


def accepted_bytes(data: pl.DataFrame, flow: Flow, until_s: float | None) -> int | None:
    """Return the bytes the receiver could hand to the application by a time.

    New data in order: for TCP up to the first hole; for SCTP whole messages, in each stream up to
    the first missing one, or, unordered, all. Null for UDP, where nothing says what is new.
    """
    arrived = data.filter(pl.col("payload_bytes") > 0, point="delivered")
    if until_s is not None:
        arrived = arrived.filter(pl.col("t_s") < until_s)
    if flow.protocol == "tcp":
        return _tcp_prefix_bytes(arrived)
    if flow.protocol == "sctp":
        sent = data.filter(pl.col("payload_bytes") > 0, point="sent")
        return _sctp_accepted_bytes(sent, arrived, ordered=flow.ordered)
    return None


def _tcp_prefix_bytes(arrived: pl.DataFrame) -> int:
    ranges = arrived.select(start="seq", end=pl.col("seq") + pl.col("payload_bytes")).sort("start")
    starts, ends = ranges["start"].to_numpy(), ranges["end"].to_numpy()
    # The first byte has number 1; the SYN took 0.
    reached = np.maximum.accumulate(np.concatenate([[1], ends]))
    holes = np.flatnonzero(starts > reached[:-1])
    return int(reached[holes[0]] if len(holes) else reached[-1]) - 1


def _chunks(packets: pl.DataFrame) -> pl.DataFrame:
    exploded = packets.select("data_chunks").explode("data_chunks").drop_nulls()
    return exploded.unnest("data_chunks").unique("tsn", maintain_order=True)


def _sctp_accepted_bytes(sent: pl.DataFrame, arrived: pl.DataFrame, *, ordered: bool) -> int:
    """Return the bytes of whole messages; ordered: of those before which none is missing."""
    got = _chunks(arrived).select("tsn", got=pl.lit(value=True))
    # A message has consecutive TSNs, the first of which is marked.
    messages = (
        _chunks(sent)
        .sort("tsn")
        .join(got, on="tsn", how="left", maintain_order="left")
        .group_by(message=((pl.col("flags") & BEGINS) > 0).cum_sum(), maintain_order=True)
        .agg(
            pl.col("stream").first(),
            whole=pl.col("got").fill_null(value=False).all() & (pl.col("flags").last() & ENDS > 0),
            size_bytes=pl.col("payload_bytes").sum(),
        )
    )
    if ordered:
        whole = pl.col("whole").cast(pl.Int8).cum_min().over("stream") == 1
        messages = messages.with_columns(whole=whole)
    return int(messages.filter("whole")["size_bytes"].sum())


def _connect_to_data_s(data: pl.DataFrame) -> float | None:
    """Return the time from a flow's first packet until its first byte reached the receiver."""
    began = data.filter(point="sent")["t_s"].min()
    first = data.filter(
        (pl.col("seq") == 1) | (pl.col("tsn") == 0),
        pl.col("payload_bytes") > 0,
        point="delivered",
    )["t_s"].min()
    if not isinstance(began, float) or not isinstance(first, float):
        return None
    return first - began


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _quantile(values: Floats, fraction: float) -> float | None:
    return float(np.quantile(values, fraction)) if len(values) else None


def _smoothed(steps_s: Floats) -> float | None:
    """Return RFC 3550's interarrival jitter after the last packet."""
    if not len(steps_s):
        return None
    series = pl.Series([0.0, *steps_s])
    return float(series.ewm_mean(alpha=JITTER_GAIN, adjust=False)[-1])
