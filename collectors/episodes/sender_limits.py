"""What limited each flow, in the run and in windows of it: rows of ``limits.parquet``. Pure.

While a sender waits, what keeps it from sending is what the next acknowledgement meets. Fractions
are of a flow's own time within the window and add up to 1, the unknown included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from collectors.episodes.bounds import NEVER
from collectors.episodes.loss_bounds import pftk_bound_pps, sqrt_bound_pps
from collectors.episodes.sent_data import PACKET_MAX_BYTES, Bools, Ints
from collectors.episodes.window import main_rows
from collectors.packets.seen import Floats
from model.cell import Cell, Flow
from model.run_files.loss_tables import EpisodeRow, LimitsRow
from model.run_files.traffic_tables import FlowRow, PathRow

WINDOW_S = 10.0
US_PER_S = 1_000_000
MS_PER_S = 1000
#: IPv4, SCTP and the header of one DATA chunk.
SCTP_HEADERS_BYTES = 20 + 12 + 16
RUN, WINDOW = "run", "window"
#: What a sender waits for, by number.
RECOVERING, CWND, RWND, SENDER, UNKNOWN = range(5)
#: A receiver that delays acknowledgements sends one for every two packets, any other for each.
DELAYED_BELOW = 0.75


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What a cell's tables and senders say, by flow; ``totals`` are empty where a sender gave none.

    ``told`` are the rows of the kernel's events.
    ``data_until_s`` is the end of the last interval of the run in which a receiver got data.
    """

    cell: Cell
    flows: Sequence[FlowRow]
    told: Mapping[str, pl.DataFrame]
    episodes: Sequence[EpisodeRow]
    queue: pl.DataFrame | None
    paths: Sequence[PathRow]
    data_until_s: Mapping[str, float]
    totals: Mapping[str, Mapping[str, Any]]


def limits(seen: Observed) -> list[LimitsRow]:
    """Return for each TCP and SCTP flow a row for the run, then one for each window."""
    busy = _busy(seen.queue)
    losses: dict[str, list[EpisodeRow]] = {flow.id: [] for flow in seen.cell.flows}
    for episode in seen.episodes:
        losses[episode.flow].append(episode)
    return [
        row
        for flow in seen.cell.flows
        if flow.protocol != "udp"
        for row in _flow_rows(seen, flow, seen.told[flow.id], losses[flow.id], busy)
    ]


def _flow_rows(
    seen: Observed,
    flow: Flow,
    told: pl.DataFrame,
    losses: list[EpisodeRow],
    busy: tuple[Floats, Bools] | None,
) -> list[LimitsRow]:
    acks = main_rows(told, flow.id).filter(event="ack")
    edges = np.append(np.arange(flow.start_s, flow.stop_s, WINDOW_S), flow.stop_s)
    spent_s = _spent_s(flow, acks, losses, edges)
    spans = [(RUN, flow.start_s, flow.stop_s, spent_s.sum(axis=0))]
    spans += [
        (WINDOW, float(start), float(end), part)
        for start, end, part in zip(edges[:-1], edges[1:], spent_s, strict=True)
    ]
    rows = []
    for span, start_s, end_s, part_s in spans:
        parts = [float(value) for value in part_s / (end_s - start_s)]
        rows.append(
            LimitsRow(
                flow=flow.id,
                protocol=flow.protocol,
                span=span,
                start_s=start_s,
                end_s=end_s,
                recovering_frac=parts[RECOVERING],
                cwnd_frac=parts[CWND],
                rwnd_frac=parts[RWND],
                sender_frac=parts[SENDER],
                unknown_frac=parts[UNKNOWN],
                bottleneck_busy_frac=_share(busy, start_s, end_s),
                **(_of_the_run(seen, flow, acks) if span == RUN else {}),
            )
        )
    return rows


def _spent_s(flow: Flow, acks: pl.DataFrame, mine: list[EpisodeRow], edges: Floats) -> Floats:
    """Return the seconds spent in each window on each kind of waiting."""
    t_s = acks["t_s"].to_numpy()
    repairs = [(e.detected_s, e.recovered_s) for e in mine if e.detected_s is not None]
    begin_s = np.array([start for start, _ in repairs], dtype=np.float64)
    end_s = np.array([NEVER if end is None else end for _, end in repairs], dtype=np.float64)
    cuts = np.unique(np.concatenate([t_s, begin_s, end_s, edges]))
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    middle = (cuts[:-1] + cuts[1:]) / 2
    following = np.searchsorted(t_s, middle)
    kinds = np.append(waiting(flow.protocol, acks), UNKNOWN)[following]
    # Nothing is known of the time before the first acknowledgement.
    kinds[following == 0] = UNKNOWN
    kinds[_inside(middle, begin_s, end_s)] = RECOVERING
    window = np.searchsorted(edges, middle) - 1
    spent: Floats = np.bincount(
        window * (UNKNOWN + 1) + kinds,
        weights=np.diff(cuts),
        minlength=(len(edges) - 1) * (UNKNOWN + 1),
    ).astype(np.float64)
    return spent.reshape(-1, UNKNOWN + 1)


def _inside(t_s: Floats, begin_s: Floats, end_s: Floats) -> Bools:
    """Return which times lie in one of some spans, which are in order."""
    last = np.searchsorted(begin_s, t_s, side="right") - 1
    reach = np.maximum.accumulate(end_s) if len(end_s) else end_s
    found: Bools = last >= 0
    found[found] = t_s[found] < reach[last[found]]
    return found


def waiting(protocol: str, acks: pl.DataFrame) -> Ints:
    """Return what the sender had been waiting for when each acknowledgement came.

    TCP may send while a whole segment fits into both windows, SCTP while less than its window is
    in flight (RFC 9260, section 6.1, rule B) and the peer has room for a packet.
    """
    cwnd, flight, window, mss, mtu = (
        acks[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in ("cwnd_bytes", "flight_bytes", "snd_wnd_bytes", "mss_bytes", "mtu_bytes")
    )
    if protocol == "tcp":
        by_cwnd, by_rwnd = flight + mss > cwnd, (flight + mss > window) & (window <= cwnd)
    else:
        by_cwnd, by_rwnd = flight >= cwnd, (window < mtu) & (flight < cwnd)
    kinds = np.select([by_rwnd, by_cwnd], [RWND, CWND], SENDER)
    told = ~np.isnan(cwnd) & ~np.isnan(flight) & ~np.isnan(window)
    return np.where(told, kinds, UNKNOWN)


def _busy(queue: pl.DataFrame | None) -> tuple[Floats, Bools] | None:
    """Return when the bottleneck's forward buffer was looked at, and whether it held a packet."""
    if queue is None:
        return None
    seen = queue.filter(node="r1", device="r1-bottleneck", role="shaper")
    return seen["t_s"].to_numpy(), (seen["backlog_pkts"] > 0).to_numpy()


def _share(busy: tuple[Floats, Bools] | None, start_s: float, end_s: float) -> float | None:
    if busy is None:
        return None
    chosen = busy[1][(busy[0] >= start_s) & (busy[0] < end_s)]
    return float(chosen.mean()) if len(chosen) else None


def _of_the_run(seen: Observed, flow: Flow, acks: pl.DataFrame) -> dict[str, Any]:
    """Return what is known of the whole run only: TCP_INFO's account and the bounds."""
    row = next(row for row in seen.flows if row.flow == flow.id)
    totals = seen.totals.get(flow.id, {})
    rtt_s, rtt_from = _rtt_s(seen, flow, acks)
    rto_s = _scaled(totals, "rto_us", US_PER_S) or _scaled(totals, "rto_ms", MS_PER_S)
    window_bytes, per_ack_pkts = _window_bytes(flow, acks), _per_ack_pkts(flow, totals)
    rate_bps = _rate_bps(seen, flow, row)
    loss_frac = _loss_frac(row)
    sqrt_bps = pftk_bps = None
    size_bytes = packet_bytes(flow, acks)
    bits = size_bytes * 8
    if loss_frac is not None and rtt_s is not None and per_ack_pkts is not None:
        sqrt_bps = _times(sqrt_bound_pps(loss_frac, rtt_s, per_ack_pkts), bits)
        if rto_s is not None and window_bytes is not None:
            window_pkts = window_bytes / size_bytes
            pps = pftk_bound_pps(loss_frac, rtt_s, rto_s, window_pkts, per_ack_pkts)
            pftk_bps = _times(pps, bits)
    return {
        "tcp_busy_s": _scaled(totals, "busy_us", US_PER_S),
        "tcp_rwnd_limited_s": _scaled(totals, "rwnd_limited_us", US_PER_S),
        "tcp_sndbuf_limited_s": _scaled(totals, "sndbuf_limited_us", US_PER_S),
        "loss_frac": loss_frac,
        "rtt_s": rtt_s,
        "rtt_from": rtt_from,
        "rto_s": rto_s,
        "window_bytes": window_bytes,
        "per_ack_pkts": per_ack_pkts,
        "rate_bps": rate_bps,
        "sqrt_bound_bps": sqrt_bps,
        "pftk_bound_bps": pftk_bps,
        "rate_of_sqrt_frac": _over(rate_bps, sqrt_bps),
        "rate_of_pftk_frac": _over(rate_bps, pftk_bps),
    }


def _rate_bps(seen: Observed, flow: Flow, row: FlowRow) -> float | None:
    """Return a flow's goodput per second of its own time within the measuring window."""
    # What a sender had written when it stopped is delivered later, and counts.
    until_s = max(flow.stop_s, seen.data_until_s.get(flow.id, flow.stop_s))
    own_s = min(until_s, seen.cell.measure_to_s) - max(flow.start_s, seen.cell.measure_from_s)
    return row.goodput_bytes * 8 / own_s if own_s > 0 else None


def _over(value: float | None, bound: float | None) -> float | None:
    return None if value is None or bound is None else value / bound


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def packet_bytes(flow: Flow, acks: pl.DataFrame) -> int:
    """Return the user data of a full packet: a segment, or a message or as much of it as fits."""
    mss, mtu = acks["mss_bytes"].max(), acks["mtu_bytes"].max()
    if isinstance(mss, int):
        return mss
    fits = (mtu if isinstance(mtu, int) else PACKET_MAX_BYTES) - SCTP_HEADERS_BYTES
    return min(flow.message_bytes, fits)


def _scaled(totals: Mapping[str, Any], name: str, per_s: int) -> float | None:
    value = totals.get(name)
    return value / per_s if type(value) is int else None


def _loss_frac(row: FlowRow) -> float | None:
    """Return what the buffer and the loss model together dropped of a flow's packets."""
    dropped = (row.queue_dropped_pkts, row.loss_dropped_pkts)
    if not row.queue_offered_pkts or dropped[0] is None or dropped[1] is None:
        return None
    return (dropped[0] + dropped[1]) / row.queue_offered_pkts


def _rtt_s(seen: Observed, flow: Flow, acks: pl.DataFrame) -> tuple[float | None, str | None]:
    """Return the mean round trip and where it is from; SCTP's events have none."""
    srtt_s = acks["srtt_s"].mean()
    if isinstance(srtt_s, float):
        return srtt_s, "srtt"
    for path in seen.paths:
        if path.flow == flow.id and path.owd_mean_s is not None and path.ack_owd_mean_s is not None:
            return path.owd_mean_s + path.ack_owd_mean_s, "captures"
    if seen.cell.ad_hoc:  # whose paths come and go
        return None, None
    network = seen.cell.wired
    links = (network.accesses()[flow.source], network.bottleneck, network.destination_access)
    packet_s = sum(packet_bytes(flow, acks) * 8 / link.forward.rate_bps for link in links)
    return network.base_rtt_s(flow.source) + packet_s + _queue_s(seen), "path"


def _queue_s(seen: Observed) -> float:
    """Return the mean time a packet waits at the bottleneck, by the samples of its buffer."""
    if seen.queue is None:
        return 0.0
    held = seen.queue.filter(node="r1", device="r1-bottleneck", role="shaper")["backlog_bytes"]
    mean = held.mean()
    rate_bps = seen.cell.wired.bottleneck.forward.rate_bps
    return mean * 8 / rate_bps if isinstance(mean, float) else 0.0


def _window_bytes(flow: Flow, acks: pl.DataFrame) -> int | None:
    """Return the largest window the receiver offered."""
    offered = acks["snd_wnd_bytes"]
    if flow.protocol == "sctp":
        offered = offered + acks["flight_bytes"]
    most = offered.max()
    return most if isinstance(most, int) else None


def _per_ack_pkts(flow: Flow, totals: Mapping[str, Any]) -> int | None:
    """Return how many packets the receiver acknowledges at a time, one or two."""
    tcp = flow.protocol == "tcp"
    acks = totals.get("segs_in" if tcp else "sacks_in")
    sent = totals.get("data_segs_out" if tcp else "ordered_chunks_out")
    if not tcp and type(sent) is int:
        more = totals.get("unordered_chunks_out")
        sent += more if type(more) is int else 0
    if type(acks) is not int or type(sent) is not int or not sent:
        return None
    return 1 if acks >= DELAYED_BELOW * sent else 2
