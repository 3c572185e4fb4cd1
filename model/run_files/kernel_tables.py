"""What the kernel told: rows of the tables on its events, queues, sockets and counters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CongestionRow:
    """One acknowledgement (SCTP: and path), TCP retransmission or TCP change of state.

    What one protocol alone tells is null for the other.
    """

    t_s: float  #: of the event, by CLOCK_MONOTONIC in the lab's steps: 256 ns, or 1 ns
    #: as in `cell.json`; connections of no flow are left out; TCP: `dport`; SCTP: `peer_port`
    flow: str
    protocol: str  #: as in `cell.json`; TCP: `dport`; SCTP: `peer_port`
    event: str  #: `ack`, `retransmit` (TCP), `state` (TCP)
    #: tells an iperf3 flow's control connection from its data connection; TCP: `sport`; SCTP:
    #: `bind_port`
    local_port: int
    #: the peer's address; null for a SACK discarded as old; TCP: `daddr`; SCTP: `ipaddr`
    path: str | None
    #: TCP: `open`, `disorder`, `cwr`, `recovery`, `loss`; SCTP, of the path: `active`, `inactive`,
    #: `potentially failed`, `unconfirmed`; TCP: `tcp_cong_state_set`; SCTP: `state`
    state: str | None
    #: `handshake`, `fast` (in recovery), `timeout` (in loss), `probe` (in any other state); TCP:
    #: derived from `state`
    retransmission: str | None
    #: congestion window; TCP: derived, segments times `mss_bytes`; SCTP: `cwnd`
    cwnd_bytes: int | None
    cwnd_segments: int | None  #: congestion window; TCP: `snd_cwnd`
    ssthresh_bytes: int | None  #: slow-start threshold; TCP: derived, as above; SCTP: `ssthresh`
    #: the kernel's *current* threshold: outside recovery at least 3/4 of the window; null where it
    #: is infinite; TCP: `ssthresh`
    ssthresh_segments: int | None
    #: sent and not acknowledged: TCP by the cumulative acknowledgement alone, SCTP without what
    #: SACKs cover; TCP: `snd_nxt` - `snd_una`; SCTP: `flight_size`
    flight_bytes: int | None
    flight_segments: int | None  #: the same; TCP: derived, rounded up
    #: DATA chunks sent and neither acknowledged nor covered by a SACK; SCTP: `unack_data`
    unacked_chunks: int | None
    #: acknowledged since the connection's first event; does not wrap; TCP: `snd_una`
    una_bytes: int | None
    nxt_bytes: int | None  #: sent since then, likewise; TCP: `snd_nxt`
    #: smoothed round trip; null before the first sample. SCTP's events have none; TCP: `srtt`
    srtt_s: float | None
    #: the peer's window: TCP as advertised, SCTP what is left of it after all in flight; TCP:
    #: `snd_wnd`; SCTP: `rwnd`
    snd_wnd_bytes: int | None
    rcv_wnd_bytes: int | None  #: the sender's own receive window; TCP: `rcv_wnd`
    #: congestion avoidance's counter; SCTP: `partial_bytes_acked`
    partial_bytes_acked_bytes: int | None
    #: segment size; unknown for iperf3, and what is derived from it then; TCP: the probe's
    #: read-back
    mss_bytes: int | None
    mtu_bytes: int | None  #: of the path; SCTP: `pathmtu`


@dataclass(frozen=True, kw_only=True)
class DropRow:
    """One packet the kernel dropped."""

    t_s: float  #: when
    node: str | None  #: where the qdisc is
    device: str | None  #: the device it is on
    handle: str | None  #: its handle, as `tc` prints it
    #: `shaper`: the buffer was full; `channel`: the loss model, whose own limit is above all it can
    #: hold; `numbered`: the packet's number is listed, or drawn by paired loss or equal drops (no
    #: qdisc, so no `handle`)
    role: str | None
    event: str  #: `qdisc_drop`, or `kfree_skb` for every other drop
    #: the kernel's name; `TC_EGRESS` is a packet dropped by its number, `NOT_SPECIFIED` is a shaper
    #: on an access link that was full
    reason: str


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """One qdisc in one sample."""

    t_s: float  #: when
    node: str  #: where the qdisc is
    device: str  #: the device it is on
    handle: str  #: its handle, as `tc` prints it
    role: str  #: `shaper` or `channel`
    #: held now: a shaper's queue, or what is in flight in a channel (on access links the shaper
    #: behind it included)
    backlog_pkts: int
    backlog_bytes: int  #: the same, with Ethernet headers
    dropped_pkts: int  #: dropped since the network was built
    sent_pkts: int  #: let through since then


@dataclass(frozen=True, kw_only=True)
class SocketRow:
    """One socket of a flow in one sample; what one protocol alone tells is null for the other."""

    t_s: float  #: when
    node: str  #: the host
    flow: str  #: as in `cell.json`
    protocol: str  #: as in `cell.json`
    side: str  #: `sender` or `receiver` of the flow's data; ports
    #: of the connection: `syn sent`, `cookie wait`, `established`, ...; `idiag_state`
    state: str | None
    local_port: int  #: tells several connections of one flow apart; `idiag_sport`
    path: str  #: the peer's (primary) address; `idiag_dst`
    #: its name; for SCTP the kernel always says `reno`; `INET_DIAG_CONG`
    congestion_control: str | None
    congestion_state: str | None  #: `open`, `disorder`, `cwr`, `recovery`, `loss`; TCP: `ca_state`
    #: `active`, `inactive`, `potentially failed`, `unconfirmed`; SCTP: `p_state`
    path_state: str | None
    cwnd_bytes: int | None  #: congestion window; TCP: derived, segments times `mss_bytes`
    cwnd_segments: int | None  #: congestion window
    ssthresh_bytes: int | None  #: slow-start threshold; TCP: derived, as above
    #: the threshold itself, not `congestion.parquet`'s current one; null where it is infinite; TCP:
    #: `snd_ssthresh`
    ssthresh_segments: int | None
    flight_bytes: int | None  #: sent and neither acknowledged nor reported received
    partial_bytes_acked_bytes: int | None  #: congestion avoidance's counter
    unacked_pkts: int | None  #: sent and not acknowledged: TCP cumulatively, SCTP not at all
    sacked_segments: int | None  #: of them: SACKed
    lost_segments: int | None  #: of them: thought lost
    retransmits_out_segments: int | None  #: of them: sent again and not yet acknowledged
    #: smoothed round trip; null before the first sample; TCP: `rtt`, us; SCTP: `p_srtt`, ticks
    srtt_s: float | None
    rttvar_s: float | None  #: its mean deviation; TCP: `rttvar`, us
    min_rtt_s: float | None  #: shortest round trip of late; TCP: `min_rtt`, us
    rto_s: float | None  #: retransmission timeout; TCP: `rto`, us; SCTP: `p_rto`, ms
    #: how long the retransmission timer (SCTP: T3) still runs, 0 when it is due; null if it does
    #: not; `idiag_expires`
    retransmit_timer_s: float | None
    mss_bytes: int | None  #: user data a segment or chunk holds at most
    mtu_bytes: int | None  #: of the path
    #: the peer's window: TCP as advertised, SCTP what is left of it after all in flight
    snd_wnd_bytes: int | None
    rcv_wnd_bytes: int | None  #: the window advertised to the peer
    rcv_space_bytes: int | None  #: what receive-buffer tuning goes by
    rcv_ssthresh_bytes: int | None  #: the window's bound
    sent_pkts: int | None  #: packets sent
    received_pkts: int | None  #: packets received
    #: with data, repeated ones too; SCTP: derived, `oodchunks` + `ouodchunks` + `rtxchunks`
    data_sent_pkts: int | None
    #: with data, repeated ones too; SCTP: derived, `iodchunks` + `iuodchunks` + `idupchunks`
    data_received_pkts: int | None
    retransmitted_pkts: int | None  #: sent again; TCP counts a repeated SYN too
    sent_bytes: int | None  #: user data sent, repeated ones too
    retransmitted_bytes: int | None  #: of them repeated
    acked_bytes: int | None  #: acknowledged; SYN and FIN count one each
    received_bytes: int | None  #: received in order; FIN counts one
    out_of_order_pkts: int | None  #: received out of order
    delivered_segments: int | None  #: acknowledged or SACKed, the SYN too
    duplicates_reported_segments: int | None  #: that the peer says it received twice
    reordering_segments: int | None  #: how far the kernel thinks packets may be reordered
    reorderings: int | None  #: how often it saw that
    timeouts: int | None  #: retransmission timeouts, the SYN's too
    backoffs: int | None  #: by how many doublings the timeout is longer now
    duplicates_received_chunks: int | None  #: data received again
    out_of_sequence_chunks: int | None  #: received beyond what can be kept track of
    sacks_sent_chunks: int | None  #: SACKs sent
    sacks_received_chunks: int | None  #: SACKs received
    gap_blocks_received: int | None  #: gap blocks in them
    control_sent_chunks: int | None  #: all sent but data, SACKs included
    control_received_chunks: int | None  #: all received but data, SACKs included
    busy_s: float | None  #: time with data to send or not acknowledged; TCP: `busy_time`, us
    rwnd_limited_s: float | None  #: of it: held up by the peer's window; TCP: `rwnd_limited`, us
    sndbuf_limited_s: float | None  #: of it: held up by the send buffer; TCP: `sndbuf_limited`, us
    pacing_rate_bps: float | None  #: null without bound; TCP: `pacing_rate`, bytes/s
    #: measured of late; null before the first sample; TCP: `delivery_rate`, bytes/s
    delivery_rate_bps: float | None
    #: whether that was for want of data; TCP: `delivery_rate_app_limited`
    delivery_app_limited: bool | None
    last_data_sent_s: float | None  #: how long ago data was sent; TCP: `last_data_sent`, ms
    last_data_received_s: float | None  #: how long ago data was received; TCP: `last_data_recv`, ms
    #: how long ago an acknowledgement was received; TCP: `last_ack_recv`, ms
    last_ack_received_s: float | None
    #: TCP: data not acknowledged; SCTP: memory charged for it, overhead included; `idiag_wqueue`
    send_queue_bytes: int
    #: TCP: data not read; SCTP: memory charged for it, overhead included; `idiag_rqueue`
    receive_queue_bytes: int
    unsent_bytes: int | None  #: of the send queue: never sent
    unsent_chunks: int | None  #: never sent
    unread_chunks: int | None  #: received and not yet handled
    pending_chunks: int | None  #: missing below the highest TSN received
    rmem_alloc_bytes: int | None  #: memory with the kernel's overhead: received; `skmem`
    rcvbuf_bytes: int | None  #: bound of that; `skmem`
    wmem_alloc_bytes: int | None  #: likewise: handed to the device; `skmem`
    sndbuf_bytes: int | None  #: bound of what is to be sent; `skmem`
    fwd_alloc_bytes: int | None  #: likewise: reserved; `skmem`
    wmem_queued_bytes: int | None  #: likewise: queued for sending; `skmem`
    optmem_bytes: int | None  #: likewise: options; `skmem`
    backlog_bytes: int | None  #: likewise: waiting for the owner; `skmem`
    socket_dropped_pkts: int | None  #: dropped for want of memory; `skmem`
    paths: int  #: number of the peer's addresses; TCP: 1; SCTP: `INET_DIAG_PEERS`
    streams_in: int | None  #: inbound streams
    streams_out: int | None  #: outbound streams
    path_errors: int | None  #: timeouts of the path in a row
    association_errors: int | None  #: timeouts of the association in a row
    max_burst_pkts: int | None  #: packets sent at once at most; 0 is without bound
    heartbeat_s: float | None  #: time between heartbeats; SCTP: `p_hbinterval`, ticks
    sack_delay_s: float | None  #: how long a SACK may wait; SCTP: `p_sackdelay`, ms


@dataclass(frozen=True, kw_only=True)
class CounterRow:
    """One counter of an end host when it was first read, or had changed."""

    t_s: float  #: when
    node: str  #: the host
    flow: str | None  #: whose association (`SctpAssoc`, `SctpPath`); null for what the host counts
    #: `Ip`, `Icmp`, `Tcp`, `Udp` (/proc/net/snmp), `TcpExt`, `IpExt` (netstat), `Sctp` (sctp/snmp),
    #: `SctpAssoc` (sctp/assocs), `SctpPath` and an address (sctp/remaddr)
    group: str
    counter: str  #: the kernel's own name
    value: int  #: as the kernel prints it; times in `SctpAssoc` and `SctpPath` are in ticks
