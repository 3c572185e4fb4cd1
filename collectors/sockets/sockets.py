"""The sockets of every flow, both ends, sample by sample: rows of ``sockets.parquet``. Pure.

One schema for TCP and SCTP: a column means the same for both, or is null for the one that has no
such thing. Counters count from the connection's beginning.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

import polars as pl

from collectors.sockets.samples import Samples
from collectors.sockets.sock_diag import INFO, MEMORY, NO_BOUND, Layout, sockets
from collectors.trace.congestion import SCTP_STATES, TCP_INFINITE_SSTHRESH, TCP_STATES, US_PER_S
from model.cell import Flow
from model.run_files.kernel_tables import SocketRow
from model.run_files.tables import fitted, schema
from model.units import NS_PER_S

COLUMNS = schema(SocketRow)
MS_PER_S, BITS_PER_BYTE = 1000, 8
#: net/tcp_states.h
TCP_CONNECTION_STATES = {
    1: "established", 2: "syn sent", 3: "syn received", 4: "fin wait 1", 5: "fin wait 2",
    8: "close wait", 9: "last ack", 11: "closing",
}  # fmt: skip
#: net/sctp/constants.h, enum sctp_state
SCTP_CONNECTION_STATES = {
    0: "closed", 1: "cookie wait", 2: "cookie echoed", 3: "established", 4: "shutdown pending",
    5: "shutdown sent", 6: "shutdown received", 7: "shutdown ack sent",
}  # fmt: skip
NO_RTT = 0xFFFFFFFF  # of tcp_min_rtt() before the first sample
#: What idiag_timer says of a running retransmission timer; SCTP's is T3, of the primary path.
TCP_TIMER, SCTP_TIMER = 1, 4
#: From here on milliseconds of a timer, 32 bits without a sign, are negative ones.
TIMER_DUE_MS = 1 << 31
APP_LIMITED = 1  # the lowest bit of the byte of flags

#: What is known of a socket besides its blocks of fields; others than columns are numbers.
_OF_SOCKETS = (
    "t_s", "node", "flow", "side", "state_number", "local_port", "path", "paths",
    "receive_queue_bytes", "send_queue_bytes", "congestion_control", "timer", "info_timer_ms",
)  # fmt: skip


def sockets_table(samples: Samples, flows: Sequence[Flow], epoch_ns: int) -> pl.DataFrame:
    """Return one row per sample and socket of a flow, in order of time and node asked.

    Raises:
        ParseError: an answer is cut off or damaged; the message names file and byte.
    """
    parts = [
        _tcp(_raw(samples, flows, "tcp", epoch_ns)),
        _sctp(_raw(samples, flows, "sctp", epoch_ns), NS_PER_S // samples.tick_ns),
    ]
    rows = pl.concat(parts, how="diagonal_relaxed")
    return fitted(rows.sort("order", maintain_order=True), COLUMNS)


def _raw(samples: Samples, flows: Sequence[Flow], protocol: str, epoch_ns: int) -> pl.DataFrame:
    """Return the kernel's fields of every socket of a flow."""
    by_port = {flow.port: flow.id for flow in flows if flow.protocol == protocol}
    rows: list[tuple[Any, ...]] = []
    for order, answer in enumerate(samples.of(files=False)):
        if answer.source.what != protocol:
            continue
        for socket in sockets(answer, samples.where):
            side = "sender" if socket.peer_port in by_port else "receiver"
            port = socket.peer_port if side == "sender" else socket.local_port
            if port not in by_port:
                continue
            path = str(ipaddress.IPv4Address(socket.peer))
            rows.append(
                (
                    order, (answer.t_ns - epoch_ns) / NS_PER_S, answer.source.node, by_port[port],
                    side, socket.state, socket.local_port, path, socket.peers,
                    socket.receive_queue_bytes, socket.send_queue_bytes,
                    socket.congestion_control, socket.timer, socket.timer_ms,
                    *socket.info, *socket.memory,
                )
            )  # fmt: skip
    fields = {
        **{name: COLUMNS.get(name, pl.Int64) for name in ("order", *_OF_SOCKETS)},
        **_types(INFO[protocol], "info_"),
        **_types(MEMORY, "memory_"),
    }
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    frame = pl.DataFrame(
        [
            pl.Series(name, column, dtype=kind)
            for (name, kind), column in zip(fields.items(), columns, strict=True)
        ]
    )
    memory = {f"memory_{name}": f"{name}_bytes" for name, _ in MEMORY.fields}
    memory["memory_drops"] = "socket_dropped_pkts"
    return frame.rename(memory).with_columns(protocol=pl.lit(protocol))


def _types(layout: Layout, prefix: str) -> dict[str, Any]:
    kinds = {"Q": pl.UInt64, "128s": pl.Binary}
    return {prefix + name: kinds.get(code, pl.Int64) for name, code in layout.fields}


def _info(name: str) -> pl.Expr:
    return pl.col(f"info_{name}")


def _per(name: str, units: int) -> pl.Expr:
    """Return a field divided by ``units``, as exact as floats are: 500 s stay 500 s.

    Dividing a column by a number multiplies it by the number's rounded reciprocal.
    """

    def divided(column: pl.Series) -> pl.Series:
        return pl.Series([None if v is None else v / units for v in column], dtype=pl.Float64)

    return _info(name).map_batches(divided, return_dtype=pl.Float64)


def _only_if(value: pl.Expr, condition: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(value)


def _tcp(raw: pl.DataFrame) -> pl.DataFrame:
    mss, cwnd, ssthresh = _info("snd_mss"), _info("snd_cwnd"), _info("snd_ssthresh")
    finite = ssthresh < TCP_INFINITE_SSTHRESH
    pacing, min_rtt = _info("pacing_rate"), _info("min_rtt")
    seconds = {
        "rto_s": "rto", "busy_s": "busy_time", "rwnd_limited_s": "rwnd_limited",
        "sndbuf_limited_s": "sndbuf_limited",
    }  # fmt: skip
    since = {
        "last_data_sent_s": "last_data_sent", "last_data_received_s": "last_data_recv",
        "last_ack_received_s": "last_ack_recv",
    }  # fmt: skip
    return raw.with_columns(
        state=_names("state_number", TCP_CONNECTION_STATES),
        congestion_state=_names("info_ca_state", dict(enumerate(TCP_STATES))),
        cwnd_bytes=cwnd * mss,
        ssthresh_bytes=_only_if(ssthresh * mss, finite),
        ssthresh_segments=_only_if(ssthresh, finite),
        srtt_s=_only_if(_per("rtt", US_PER_S), _info("rtt") > 0),
        retransmit_timer_s=_only_if(_per("timer_ms", MS_PER_S), pl.col("timer") == TCP_TIMER),
        rttvar_s=_only_if(_per("rttvar", US_PER_S), _info("rtt") > 0),
        min_rtt_s=_only_if(_per("min_rtt", US_PER_S), min_rtt < NO_RTT),
        pacing_rate_bps=_only_if(pacing.cast(pl.Float64) * BITS_PER_BYTE, pacing < NO_BOUND),
        delivery_rate_bps=_only_if(
            _info("delivery_rate").cast(pl.Float64) * BITS_PER_BYTE, _info("delivery_rate") > 0
        ),
        delivery_app_limited=(_info("flags") & APP_LIMITED) == APP_LIMITED,
        **{column: _per(name, US_PER_S) for column, name in seconds.items()},
        **{column: _per(name, MS_PER_S) for column, name in since.items()},
        **{column: _info(name) for column, name in TCP_FIELDS.items()},
    )


def _sctp(raw: pl.DataFrame, ticks_per_s: int) -> pl.DataFrame:
    sent = _info("oodchunks") + _info("ouodchunks") + _info("rtxchunks")
    received = _info("iodchunks") + _info("iuodchunks") + _info("idupchunks")
    return raw.with_columns(
        state=_names("state_number", SCTP_CONNECTION_STATES),
        path_state=_names("info_p_state", SCTP_STATES),
        data_sent_pkts=sent,
        data_received_pkts=received,
        # As SCTP_STATUS: some times are in ticks, others in milliseconds.
        srtt_s=_only_if(_per("p_srtt", ticks_per_s), _info("p_srtt") > 0),
        # The kernel subtracts unsigned ticks: a timer that is due ends "before zero".
        retransmit_timer_s=_only_if(
            pl.when(_info("timer_ms") >= TIMER_DUE_MS)
            .then(0.0)
            .otherwise(_per("timer_ms", MS_PER_S)),
            pl.col("timer") == SCTP_TIMER,
        ),
        heartbeat_s=_per("p_hbinterval", ticks_per_s),
        rto_s=_per("p_rto", MS_PER_S),
        sack_delay_s=_per("p_sackdelay", MS_PER_S),
        **{column: _info(name) for column, name in SCTP_FIELDS.items()},
    )


def _names(column: str, names: dict[int, str]) -> pl.Expr:
    return pl.col(column).replace_strict(names, default=None, return_dtype=pl.String)


#: Columns that are a field as it is.
TCP_FIELDS = {
    "cwnd_segments": "snd_cwnd",
    "unacked_pkts": "unacked",
    "sacked_segments": "sacked",
    "lost_segments": "lost",
    "retransmits_out_segments": "retrans",
    "mss_bytes": "snd_mss",
    "mtu_bytes": "pmtu",
    "snd_wnd_bytes": "snd_wnd",
    "rcv_wnd_bytes": "rcv_wnd",
    "rcv_space_bytes": "rcv_space",
    "rcv_ssthresh_bytes": "rcv_ssthresh",
    "sent_pkts": "segs_out",
    "received_pkts": "segs_in",
    "data_sent_pkts": "data_segs_out",
    "data_received_pkts": "data_segs_in",
    "retransmitted_pkts": "total_retrans",
    "out_of_order_pkts": "rcv_ooopack",
    "delivered_segments": "delivered",
    "duplicates_reported_segments": "dsack_dups",
    "reordering_segments": "reordering",
    "reorderings": "reord_seen",
    "timeouts": "total_rto",
    "backoffs": "backoff",
    "sent_bytes": "bytes_sent",
    "retransmitted_bytes": "bytes_retrans",
    "acked_bytes": "bytes_acked",
    "received_bytes": "bytes_received",
    "unsent_bytes": "notsent_bytes",
}
SCTP_FIELDS = {
    "cwnd_bytes": "p_cwnd",
    "ssthresh_bytes": "p_ssthresh",
    "flight_bytes": "p_flight_size",
    "partial_bytes_acked_bytes": "p_partial_bytes_acked",
    "unacked_pkts": "unackdata",
    "mss_bytes": "maxseg",
    "snd_wnd_bytes": "peer_rwnd",
    "rcv_wnd_bytes": "rwnd",
    "sent_pkts": "opackets",
    "received_pkts": "ipackets",
    "retransmitted_pkts": "rtxchunks",
    "duplicates_received_chunks": "idupchunks",
    "out_of_sequence_chunks": "outofseqtsns",
    "sacks_sent_chunks": "osacks",
    "sacks_received_chunks": "isacks",
    "gap_blocks_received": "gapcnt",
    "control_sent_chunks": "octrlchunks",
    "control_received_chunks": "ictrlchunks",
    "unsent_chunks": "outqueue",
    "unread_chunks": "inqueue",
    "pending_chunks": "penddata",
    "streams_in": "instrms",
    "streams_out": "outstrms",
    "path_errors": "p_error",
    "association_errors": "overall_error",
    "max_burst_pkts": "max_burst",
}
