"""The columns of ``sockets.parquet``; docs/data-format.md says what each means."""

from __future__ import annotations

from typing import Any

import polars as pl

#: Of the kernel's account of a socket's memory (include/uapi/linux/sock_diag.h).
MEMORY_COLUMNS = {
    "rmem_alloc": "rmem_alloc_bytes",
    "rcvbuf": "rcvbuf_bytes",
    "wmem_alloc": "wmem_alloc_bytes",
    "sndbuf": "sndbuf_bytes",
    "fwd_alloc": "fwd_alloc_bytes",
    "wmem_queued": "wmem_queued_bytes",
    "optmem": "optmem_bytes",
    "backlog": "backlog_bytes",
    "drops": "socket_dropped_pkts",
}
_TEXT = ("node", "flow", "protocol", "side", "state")
_INTEGERS = (
    "cwnd_bytes", "cwnd_segments", "ssthresh_bytes", "ssthresh_segments", "flight_bytes",
    "partial_bytes_acked_bytes", "unacked_pkts", "sacked_segments", "lost_segments",
    "retransmits_out_segments",
)  # fmt: skip
_TIMES = ("srtt_s", "rttvar_s", "min_rtt_s", "rto_s", "retransmit_timer_s")
_WINDOWS = (
    "mss_bytes", "mtu_bytes", "snd_wnd_bytes", "rcv_wnd_bytes", "rcv_space_bytes",
    "rcv_ssthresh_bytes",
)  # fmt: skip
_COUNTS = (
    "sent_pkts", "received_pkts", "data_sent_pkts", "data_received_pkts", "retransmitted_pkts",
    "sent_bytes", "retransmitted_bytes", "acked_bytes", "received_bytes",
    "out_of_order_pkts", "delivered_segments", "duplicates_reported_segments",
    "reordering_segments", "reorderings", "timeouts", "backoffs",
    "duplicates_received_chunks", "out_of_sequence_chunks", "sacks_sent_chunks",
    "sacks_received_chunks", "gap_blocks_received", "control_sent_chunks",
    "control_received_chunks",
)  # fmt: skip
_LIMITS = ("busy_s", "rwnd_limited_s", "sndbuf_limited_s", "pacing_rate_bps", "delivery_rate_bps")
_AGO = ("last_data_sent_s", "last_data_received_s", "last_ack_received_s")
_QUEUES = (
    "send_queue_bytes", "receive_queue_bytes", "unsent_bytes", "unsent_chunks", "unread_chunks",
    "pending_chunks",
)  # fmt: skip
_ASSOCIATION = (
    "paths", "streams_in", "streams_out", "path_errors", "association_errors", "max_burst_pkts",
)  # fmt: skip

COLUMNS: dict[str, Any] = {
    "t_s": pl.Float64,
    **dict.fromkeys(_TEXT, pl.String),
    "local_port": pl.Int64,
    "path": pl.String,
    "congestion_control": pl.String,
    "congestion_state": pl.String,
    "path_state": pl.String,
    **dict.fromkeys(_INTEGERS, pl.Int64),
    **dict.fromkeys(_TIMES, pl.Float64),
    **dict.fromkeys(_WINDOWS, pl.Int64),
    **dict.fromkeys(_COUNTS, pl.Int64),
    **dict.fromkeys(_LIMITS, pl.Float64),
    "delivery_app_limited": pl.Boolean,
    **dict.fromkeys(_AGO, pl.Float64),
    **dict.fromkeys(_QUEUES, pl.Int64),
    **dict.fromkeys(MEMORY_COLUMNS.values(), pl.Int64),
    **dict.fromkeys(_ASSOCIATION, pl.Int64),
    "heartbeat_s": pl.Float64,
    "sack_delay_s": pl.Float64,
}
