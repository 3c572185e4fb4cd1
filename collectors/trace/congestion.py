"""Congestion state of every flow per acknowledgement: rows of ``congestion.parquet``. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from collectors.trace.events import Trace
from model.cell import Flow
from model.run_files.kernel_tables import CongestionRow
from model.run_files.tables import fitted, schema
from model.units import NS_PER_S

US_PER_S = 1_000_000
#: include/net/tcp.h: the slow-start threshold before there was any loss.
TCP_INFINITE_SSTHRESH = 0x7FFFFFFF
#: include/uapi/linux/tcp.h, enum tcp_ca_state.
TCP_STATES = ("open", "disorder", "cwr", "recovery", "loss")
#: include/net/sctp/constants.h, enum sctp_spinfo_state.
SCTP_STATES = {0: "inactive", 1: "potentially failed", 2: "active", 3: "unconfirmed"}
#: include/net/tcp_states.h
TCP_SYN_SENT = 2
#: What a retransmission is, by the state of the connection.
RETRANSMISSIONS = {
    "open": "probe", "disorder": "probe", "cwr": "probe", "recovery": "fast", "loss": "timeout",
}  # fmt: skip
HANDSHAKE = "handshake"
AF_INET, IPV4_BYTES, SOCKADDR_BYTES = 2, 4, 8

COLUMNS = schema(CongestionRow)


def congestion(
    trace: Trace, flows: Sequence[Flow], epoch_ns: int, mss_bytes: Mapping[str, int]
) -> pl.DataFrame:
    """Return one row per acknowledgement, retransmission and change of state, in order of time.

    ``mss_bytes`` holds the segment sizes known, by flow: the kernel's TCP events count segments.
    """
    parts = [
        _tcp_acks(trace, flows, mss_bytes),
        _tcp_retransmissions(trace, flows),
        _tcp_states(trace, flows),
        _sctp_acks(trace, flows),
    ]
    rows = pl.concat([part for part in parts if part.height] or parts[:1], how="diagonal_relaxed")
    rows = rows.with_columns(
        t_s=pl.Series((trace.t_ns(rows["at"].to_numpy()) - epoch_ns) / NS_PER_S)
    ).sort("at", maintain_order=True)
    return _with_tcp_states(fitted(rows, COLUMNS))


def by_flow(congestion: pl.DataFrame, flows: Iterable[Flow]) -> dict[str, pl.DataFrame]:
    """Return each flow's rows, split once: to look for one flow takes as long as there are rows."""
    found = congestion.partition_by("flow", as_dict=True)
    return {flow.id: found.get((flow.id,), congestion.clear()) for flow in flows}


def _with_tcp_states(rows: pl.DataFrame) -> pl.DataFrame:
    """Give every TCP row the state in force, and every retransmission its kind."""
    is_tcp = pl.col("protocol") == "tcp"
    # icsk_ca_state of a new connection is 0, TCP_CA_Open.
    in_force = pl.col("state").forward_fill().over("flow", "local_port").fill_null(TCP_STATES[0])
    rows = rows.with_columns(state=pl.when(is_tcp).then(in_force).otherwise(pl.col("state")))
    # In a state that has no name here, what a retransmission is stays unknown.
    kind = pl.col("state").replace_strict(RETRANSMISSIONS, default=None, return_dtype=pl.String)
    return rows.with_columns(
        retransmission=pl.when(pl.col("event") == "retransmit").then(
            pl.coalesce("retransmission", kind)
        )
    )


def _flow_column(ports: NDArray[Any], flows: Sequence[Flow], protocol: str) -> pl.Series:
    """Return each event's flow by its peer's port; null for a connection that is no flow's."""
    by_port = {flow.port: flow.id for flow in flows if flow.protocol == protocol}
    return _named(ports, by_port)


def _named(numbers: NDArray[Any], names: Mapping[int, str]) -> pl.Series:
    """Return a text for each number; null where there is none."""
    unique, index = np.unique(numbers, return_inverse=True)
    texts = pl.Series([names.get(int(number)) for number in unique], dtype=pl.String)
    return texts.gather(index.astype(np.uint32))


def _states(numbers: NDArray[Any], names: Mapping[int, str]) -> pl.Series:
    """Return a text for each state; one without a name is told by its number."""
    texts = {int(number): str(int(number)) for number in np.unique(numbers)}
    return _named(numbers, {**texts, **names})


def _numbers(column: NDArray[Any]) -> pl.Series:
    return pl.Series(column.astype(np.int64))


def _frame(places: NDArray[np.int64], flow: pl.Series, **columns: Any) -> pl.DataFrame:
    """Return the rows of known flows; a plain value stands for a whole column."""
    series = {name: value for name, value in columns.items() if isinstance(value, pl.Series)}
    frame = pl.DataFrame({"at": pl.Series(places), "flow": flow, **series})
    plain = {name: pl.lit(value) for name, value in columns.items() if name not in series}
    return frame.with_columns(**plain).filter(pl.col("flow").is_not_null())


def _tcp_acks(trace: Trace, flows: Sequence[Flow], mss_bytes: Mapping[str, int]) -> pl.DataFrame:
    names = (
        "sport", "dport", "snd_nxt", "snd_una", "snd_cwnd", "ssthresh", "snd_wnd", "srtt",
        "rcv_wnd",
    )  # fmt: skip
    places, event = trace.records("tcp/tcp_probe", names, ("daddr",))
    flow = _flow_column(event["dport"], flows, "tcp")
    sizes = {flow.port: mss_bytes[flow.id] for flow in flows if flow.id in mss_bytes}
    una, nxt = event["snd_una"].astype(np.uint32), event["snd_nxt"].astype(np.uint32)
    flight = nxt - una
    ports = event["sport"].astype(np.int64) << 16 | event["dport"].astype(np.int64)
    una_bytes = _since_first(una, ports)
    cwnd, ssthresh = pl.col("cwnd_segments"), pl.col("ssthresh_segments")
    mss = pl.col("mss_bytes")
    return (
        _frame(
            places,
            flow,
            protocol="tcp",
            event="ack",
            local_port=_numbers(event["sport"]),
            path=_addresses(event["daddr"]),
            cwnd_segments=_numbers(event["snd_cwnd"]),
            ssthresh_segments=_numbers(event["ssthresh"]),
            flight_bytes=_numbers(flight),
            una_bytes=pl.Series(una_bytes),
            nxt_bytes=pl.Series(una_bytes + flight),
            srtt_s=pl.Series(event["srtt"] / US_PER_S),
            snd_wnd_bytes=_numbers(event["snd_wnd"]),
            rcv_wnd_bytes=_numbers(event["rcv_wnd"]),
            dport=_numbers(event["dport"]),
        )
        .with_columns(
            mss_bytes=pl.col("dport").replace_strict(sizes, default=None, return_dtype=pl.Int64),
            ssthresh_segments=pl.when(ssthresh < TCP_INFINITE_SSTHRESH).then(ssthresh),
            srtt_s=pl.when(pl.col("srtt_s") > 0).then(pl.col("srtt_s")),
        )
        .with_columns(
            cwnd_bytes=cwnd * mss,
            ssthresh_bytes=ssthresh * mss,
            flight_segments=(pl.col("flight_bytes") + mss - 1) // mss,
        )
        .drop("dport")
    )


def _since_first(numbers: NDArray[np.uint32], connections: NDArray[Any]) -> NDArray[np.int64]:
    """Return each connection's sequence numbers counted from its first; they do not wrap."""
    found = np.zeros(len(numbers), np.int64)
    for connection in np.unique(connections):
        rows = np.flatnonzero(connections == connection)
        found[rows[1:]] = np.cumsum(np.diff(numbers[rows]).view(np.int32).astype(np.int64))
    return found


def _tcp_retransmissions(trace: Trace, flows: Sequence[Flow]) -> pl.DataFrame:
    places, event = trace.records("tcp/tcp_retransmit_skb", ("sport", "dport", "state"), ("daddr",))
    return _frame(
        places,
        _flow_column(event["dport"], flows, "tcp"),
        protocol="tcp",
        event="retransmit",
        local_port=_numbers(event["sport"]),
        path=_addresses(event["daddr"]),
        retransmission=_named(event["state"], {TCP_SYN_SENT: HANDSHAKE}),
    )


def _tcp_states(trace: Trace, flows: Sequence[Flow]) -> pl.DataFrame:
    places, event = trace.records(
        "tcp/tcp_cong_state_set", ("sport", "dport", "cong_state"), ("daddr",)
    )
    return _frame(
        places,
        _flow_column(event["dport"], flows, "tcp"),
        protocol="tcp",
        event="state",
        local_port=_numbers(event["sport"]),
        path=_addresses(event["daddr"]),
        state=_states(event["cong_state"], dict(enumerate(TCP_STATES))),
    )


def _sctp_acks(trace: Trace, flows: Sequence[Flow]) -> pl.DataFrame:
    """Return one row per SACK and path; a SACK that was discarded as old has no path."""
    names: tuple[str, ...] = ("asoc", "bind_port", "peer_port", "rwnd", "unack_data")
    places, sack = trace.records("sctp/sctp_probe", names)
    sacks = _frame(
        places,
        _flow_column(sack["peer_port"], flows, "sctp"),
        protocol="sctp",
        event="ack",
        local_port=_numbers(sack["bind_port"]),
        snd_wnd_bytes=_numbers(sack["rwnd"]),
        unacked_chunks=_numbers(sack["unack_data"]),
        asoc=_numbers(sack["asoc"]),
    )
    names = (
        "asoc", "state", "cwnd", "ssthresh", "flight_size", "partial_bytes_acked", "pathmtu",
    )  # fmt: skip
    path_at, path = trace.records("sctp/sctp_probe_path", names, ("ipaddr",))
    # The kernel lists the paths while it handles the SACK: the last one before is theirs.
    before = np.concatenate(([-1], places))[np.searchsorted(places, path_at)]
    paths = pl.DataFrame(
        {
            "at": pl.Series(before, dtype=pl.Int64),
            "asoc": _numbers(path["asoc"]),
            "path": _addresses(path["ipaddr"]),
            "state": _states(path["state"], SCTP_STATES),
            "cwnd_bytes": _numbers(path["cwnd"]),
            "ssthresh_bytes": _numbers(path["ssthresh"]),
            "flight_bytes": _numbers(path["flight_size"]),
            "partial_bytes_acked_bytes": _numbers(path["partial_bytes_acked"]),
            "mtu_bytes": _numbers(path["pathmtu"]),
        }
    )
    # The same path again is no answer to that SACK: a SHUTDOWN acknowledges too, without a probe.
    paths = paths.unique(("at", "asoc", "path"), keep="first", maintain_order=True)
    return sacks.join(paths, on=("at", "asoc"), how="left", maintain_order="left_right").drop(
        "asoc"
    )


def _addresses(column: NDArray[Any]) -> pl.Series:
    """Return IPv4 addresses as text, from socket addresses or bare; null for other families."""
    if not column.size:
        return pl.Series([], dtype=pl.String)
    quads = column
    if column.shape[1] != IPV4_BYTES:  # a socket address: family, port, address
        column = np.pad(column, ((0, 0), (0, max(0, SOCKADDR_BYTES - column.shape[1]))))
        family = column[:, 0].astype(np.int64) | column[:, 1].astype(np.int64) << 8
        quads = np.where((family == AF_INET)[:, None], column[:, 4:8], 0)
    numbers = np.ascontiguousarray(quads).view(">u4")[:, 0].astype(np.int64)
    texts = {int(n): str(ipaddress.IPv4Address(int(n))) for n in np.unique(numbers) if n}
    return _named(numbers, texts)
