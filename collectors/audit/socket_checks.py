"""Sampled sockets and protocol counters against all others who counted. Pure.

Only what must hold exactly is compared; the comparisons go into the cell's audit. Unknown is no
disagreement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from collectors.audit.packet_balance import compare
from collectors.sockets.protocol import growth
from model.cell import Cell, Flow
from model.check import Check
from model.tolerances import EXACT, Tolerances
from model.units import BITS_PER_BYTE

#: The least window an idle path of SCTP is left with.
HEARTBEAT_PACKETS = 4

#: Counters of a socket and what the probes call them in their totals, which come later.
TCP_SENDER = {
    "sent_pkts": "segs_out",
    "received_pkts": "segs_in",
    "data_sent_pkts": "data_segs_out",
    "retransmitted_pkts": "retransmitted_segments",
    "sent_bytes": "bytes_sent",
    "retransmitted_bytes": "bytes_retrans",
    "acked_bytes": "bytes_acked",
}
TCP_RECEIVER = {
    "sent_pkts": "segs_out",
    "received_pkts": "segs_in",
    "data_received_pkts": "data_segs_in",
    "received_bytes": "bytes_received",
    "out_of_order_pkts": "out_of_order_segments",
}
SCTP = {
    "sent_pkts": "packets_out",
    "received_pkts": "packets_in",
    "retransmitted_pkts": "retransmitted_chunks",
    "sacks_sent_chunks": "sacks_out",
    "sacks_received_chunks": "sacks_in",
    "gap_blocks_received": "gap_acks_in",
    "duplicates_received_chunks": "duplicate_chunks_in",
    "control_sent_chunks": "control_chunks_out",
    "control_received_chunks": "control_chunks_in",
}
#: What a host's counters must have counted once its flows' senders or receivers wrote totals:
#: protocol, side, group, counters, and the totals that add up to the same.
ENDS = (
    ("tcp", "sender", "Tcp", ("RetransSegs",), ("retransmitted_segments",)),
    (
        "sctp", "sender", "Sctp", ("OutOrderChunks", "OutUnorderChunks"),
        ("ordered_chunks_out", "unordered_chunks_out"),
    ),
    (
        "sctp", "receiver", "Sctp", ("InOrderChunks", "InUnorderChunks"),
        ("ordered_chunks_in", "unordered_chunks_in"),
    ),
)  # fmt: skip
SIDES = ("sender", "receiver")
#: Timers run in whole ticks, of at most 10 ms.
TIMER_TOLERANCE_S = 0.01
Totals = Mapping[tuple[str, str], Mapping[str, Any]]  # by flow and side; empty: not known


def checks(
    cell: Cell,
    sockets: pl.DataFrame,
    protocol: pl.DataFrame,
    told: Mapping[str, pl.DataFrame] | None,
    totals: Totals,
    tolerances: Tolerances = EXACT,
) -> list[Check]:
    """Return all comparisons of a cell's samples.

    ``told`` are each flow's rows of the kernel's events, ``totals`` what the probes wrote when all
    was acknowledged, empty where it was not. Who samples wakes up as late as a flow may start: what
    comes in between says nothing.
    """
    late_s = tolerances.start_s
    flows = [flow for flow in cell.flows if flow.generator == "probe" and flow.protocol != "udp"]
    parts = sockets.partition_by("flow", "side", as_dict=True)
    ends = {(flow.id, side): parts.get((flow.id, side), sockets.clear())
            for flow in flows for side in SIDES}  # fmt: skip
    made = []
    for flow in flows:
        for side in SIDES:
            made.append(_grows(flow, side, ends[flow.id, side], totals[flow.id, side]))
        if flow.protocol == "tcp":
            receiver = ends[flow.id, "receiver"]
            made.append(_read(flow, cell, receiver, totals[flow.id, "receiver"], late_s))
        if told is not None:
            made.append(_windows(flow, ends[flow.id, "sender"], told[flow.id], late_s))
    return made + list(_ends(sockets, protocol, totals))


def _grows(flow: Flow, side: str, rows: pl.DataFrame, totals: Mapping[str, Any]) -> Check:
    """Counters never run back and end at no more than the totals.

    These are taken between the flow's stop and its last packets (FIN, SHUTDOWN), which count too.
    """
    rows = rows.filter(pl.col("t_s") <= flow.stop_s)
    names = SCTP if flow.protocol == "sctp" else TCP_SENDER if side == "sender" else TCP_RECEIVER
    ends = {
        column: total for column, name in names.items() if type(total := totals.get(name)) is int
    }
    got = f"{len(ends)} counters, {rows.height} samples"
    agrees: bool | None = True if ends and rows.height else None
    for column, end in ends.items():
        values = [*rows[column].drop_nulls(), end]
        if values != sorted(values):
            agrees, got = False, f"{column}: highest sample {max(values[:-1])}, total {end}"
            break
    return Check(
        check="socket counters grow to the totals", where=f"flow {flow.id}, {side}",
        wanted="none above its total, none running back", got=got, agrees=agrees,
    )  # fmt: skip


def _read(
    flow: Flow, cell: Cell, rows: pl.DataFrame, totals: Mapping[str, Any], late_s: float
) -> Check:
    """The kernel handed over what the receiver says it read in the measuring window.

    Samples are taken some looks at the clock later: one segment more may have come by then, on a
    fast path as many as fit into that time, and says nothing.
    """
    wanted = totals.get("window_goodput_bytes")
    count = wanted if type(wanted) is int else None
    began = flow.start_s >= cell.measure_from_s  # nothing was read before the window
    start = 0 if began else _read_by(rows, cell.measure_from_s)
    end = _read_by(rows, cell.measure_to_s)
    got = None if start is None or end is None else end - start
    made = compare("read from the socket", f"flow {flow.id}, receiver", count, got, "bytes")
    if count is not None and got is not None and got != count:
        segment_bytes = rows["mss_bytes"].max()
        more_bytes = got - count if began else abs(got - count)
        late_bytes = late_s * cell.carried_bps() / BITS_PER_BYTE
        if isinstance(segment_bytes, int):
            most_bytes = (1 + late_bytes // segment_bytes) * segment_bytes
            if 0 < more_bytes <= most_bytes:
                return dataclasses.replace(made, agrees=None)
    return made


def _read_by(rows: pl.DataFrame, t_s: float) -> int | None:
    """Return what the kernel had handed over at a time; None if there is no sample of then."""
    # The end of a connection counts as a byte received.
    seen = rows.filter(pl.col("t_s") == t_s, state="established")
    if seen.height != 1:
        return None
    return int(seen["received_bytes"][0] - seen["receive_queue_bytes"][0])


def _windows(flow: Flow, rows: pl.DataFrame, congestion: pl.DataFrame, late_s: float) -> Check:
    """A window sampled is the one the next acknowledgement meets, if nothing happened between.

    ``congestion`` are the flow's rows of that table.
    What may happen is a retransmission or a change of state, which TCP has events for; of SCTP the
    end of its retransmission timer, which the sample tells, that of its heartbeat's timer, which
    nothing tells, but after which the window is one certain size, and a path that is up again or
    no longer so, which is held to be another than when it was sampled.
    """
    column = "cwnd_segments" if flow.protocol == "tcp" else "cwnd_bytes"
    same = "path" if flow.protocol == "sctp" else "local_port"
    events = congestion.select(
        "t_s", same, "event", "mtu_bytes", met=column, met_s="t_s", met_state="state"
    ).filter(pl.col(same).is_not_null())
    sampled = rows.select("t_s", "state", same, "path_state", "retransmit_timer_s", column).filter(
        state="established"
    )
    met = sampled.join_asof(
        events,
        on="t_s",
        by=same,
        strategy="forward",
        allow_exact_matches=False,
        check_sortedness=False,
    ).filter(
        pl.col("event") == "ack",
        pl.col("met_s") > pl.col("t_s") + late_s,
        pl.col("met_s") < pl.col("t_s") + pl.col("retransmit_timer_s") - TIMER_TOLERANCE_S,
    )
    if flow.protocol == "sctp":
        is_as_it_was = (pl.col("path_state") == pl.col("met_state")).fill_null(value=True)
        met = met.filter(~_after_heartbeat(), is_as_it_was)
    equal = met.filter(pl.col(column) == pl.col("met")).height
    return compare(
        "window sampled", f"flow {flow.id}, sender", met.height or None,
        equal if met.height else None, "windows",
    )  # fmt: skip


def _after_heartbeat() -> pl.Expr:
    """Whether a window met is what SCTP makes of a sampled one when a heartbeat is due.

    Half of it, but at least four packets, which may be more than it was (net/sctp/transport.c,
    SCTP_LOWER_CWND_INACTIVE).
    """
    half = pl.col("cwnd_bytes") // 2
    least = HEARTBEAT_PACKETS * pl.col("mtu_bytes")
    made = pl.max_horizontal(half, least)
    return ((pl.col("met") == made) & (pl.col("cwnd_bytes") != made)).fill_null(value=False)


def _ends(sockets: pl.DataFrame, protocol: pl.DataFrame, totals: Totals) -> Iterator[Check]:
    """What each host counted while its flows ran is what its probes counted together."""
    owners = sockets.select("node", "flow", "protocol", "side").unique()
    grown = growth(protocol, [name for end in ENDS for name in end[3]])
    for kind, side, group, counters, names in ENDS:
        used = owners.filter(protocol=kind, side=side)
        for node in used["node"].unique().sort():
            ids = used.filter(node=node)["flow"].to_list()
            said = [totals[name, side].get(key) for name in ids for key in names]
            parts = [part for part in said if type(part) is int]
            # iperf3 has no totals, so with one of its flows on a host nothing follows.
            whole = len(parts) == len(said)
            yield compare(
                f"{group} {' + '.join(counters)}", f"{node}, {side}",
                sum(parts) if whole else None, grown(node, group, counters),
                "chunks" if kind == "sctp" else "segments",
            )  # fmt: skip
