"""What passed: rows of the tables on flows, queues at the end, packets, path and audit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FlowRow:
    """One flow: what its ends and the bottleneck's counters say of it."""

    flow: str  #: as in `cell.json`
    group: str  #: as in `cell.json`
    protocol: str  #: as in `cell.json`
    generator: str  #: as in `cell.json`
    goodput_bytes: int  #: new application bytes received inside the measuring window
    #: the same as bits per second of the measuring window, however long the flow sent in it
    goodput_bps: float | None
    total_bytes: int  #: application bytes received in all
    connect_s: float | None  #: how long connecting took
    first_byte_s: float | None  #: when the first byte arrived, since the start of the run
    #: when the last did; null where only its interval, inside the measuring window, is known
    last_byte_s: float | None
    queue_offered_pkts: int | None  #: that came to the bottleneck's buffer
    queue_dropped_pkts: int | None  #: that it dropped
    #: that came to the bottleneck's loss model, those dropped by number included
    loss_offered_pkts: int | None
    loss_dropped_pkts: int | None  #: that were dropped there, by the model or by number
    loss_frac: float | None  #: the share dropped there
    #: TCP segments or SCTP chunks with data, by the sender; short messages share packets; null
    #: where a recording does not tell how many of TCP's were SYNs
    retransmitted_pkts: int | None
    #: mean congestion window over time inside the measuring window, in segments of the payload;
    #: null without telemetry, and for UDP
    cwnd_mean_segments: float | None = None
    #: expiries of the retransmission timer with data, by the sending host's own counters; null
    #: where the host has more flows of the protocol, or iperf3's, or is not sampled, and for UDP
    timeouts: int | None = None
    #: IP packets that came marked (Congestion Experienced), by the receiving host's own counter;
    #: null where other flows are received there too, or the host is not sampled
    marked_pkts: int | None = None


@dataclass(frozen=True, kw_only=True)
class IntervalRow:
    """What a flow's receiver got in one of its intervals; without data there is no row."""

    flow: str  #: as in `cell.json`
    start_s: float  #: from, since the start of the run
    end_s: float  #: to
    goodput_bytes: int  #: new application bytes received in it


@dataclass(frozen=True, kw_only=True)
class AcknowledgementRow:
    """What acknowledging took of one flow, counted where it left the receiving host.

    An acknowledgement is an IP packet that acknowledges and carries no data: a TCP segment with ACK
    and without SYN, FIN or RST, an SCTP packet with a SACK chunk.
    """

    flow: str  #: as in `cell.json`
    ack_pkts: int  #: acknowledgements that left inside the measuring window
    ack_ip_bytes: int  #: bytes of these IP packets
    #: those of them with selective acknowledgements: a TCP SACK option, an SCTP SACK chunk
    sack_pkts: int
    sack_bytes: int  #: bytes of these options, or of these chunks with their headers
    ack_rate_bps: float  #: `ack_ip_bytes` as a rate over the measuring window
    sack_rate_bps: float  #: `sack_bytes` likewise
    all_ack_pkts: int  #: acknowledgements of the whole run
    all_ack_ip_bytes: int  #: bytes of these IP packets
    all_sack_pkts: int  #: those of them with selective acknowledgements
    all_sack_bytes: int  #: bytes of these options or chunks


@dataclass(frozen=True, kw_only=True)
class MessageRow:
    """One message that a TCP or SCTP sender handed over."""

    flow: str  #: as in `cell.json`
    message: int  #: its number, from 1, in the order in which they were handed over
    stream: int | None  #: from 0; null for TCP; SCTP
    ordered: bool  #: whether it had to wait for those before it in its stream; true for TCP
    #: when the application had it ready: at a rate when it was due, else when the kernel had taken
    #: the one before; sender
    sent_s: float
    accepted_s: float  #: when the kernel had taken it into the send buffer, whole; sender
    left_s: float | None  #: when its first byte first left the sending host; captures
    arrived_s: float | None  #: when all of it had arrived at the receiving host; captures
    delivered_s: float | None  #: when the receiving application had it; null: never; receiver
    delay_s: float | None  #: `delivered_s` - `sent_s`, waiting in the send buffer included
    #: `delivered_s` - `arrived_s`: it was there and waited for others (head-of-line blocking)
    wait_s: float | None


@dataclass(frozen=True, kw_only=True)
class QdiscRow:
    """One shaper, managed queue or channel at the end of the run, as ``tc -s`` shows it."""

    node: str  #: where it is
    device: str  #: the device it is on
    handle: str  #: its handle, as `tc` prints it
    kind: str  #: what it is
    sent_pkts: int  #: let through
    sent_bytes: int  #: the same, with Ethernet headers
    dropped_pkts: int  #: dropped, its child's included
    backlog_pkts: int  #: held then
    #: marked instead of dropped; null for what manages no queue
    marked_pkts: int | None = None


@dataclass(frozen=True)
class Range:
    """From a number to another: bytes up to the second, TSNs both included."""

    start: int
    end: int


@dataclass(frozen=True)
class DataChunk:
    """A DATA chunk; flags as in its header: 1 last, 2 first of its message, 4 unordered."""

    tsn: int
    stream: int
    ssn: int
    flags: int
    payload_bytes: int


@dataclass(frozen=True, kw_only=True)
class PacketRow:
    """One packet at one capture point; what stands last is what a column is read from."""

    point: str | None  #: where it was seen; tap
    direction: str | None  #: `data` (source to destination) or `ack`; tap, else ports
    path: int | None  #: the path that the point is on, from 1; tap
    flow: str | None  #: as in `cell.json`; null: of no flow, such as a control connection; ports
    #: number of the connection, from 0, in order of first appearance, over two paths the same on
    #: both; addresses, ports
    connection: int | None
    #: number of the packet, the same at every point; null: never seen at `sent`; headers without
    #: what routers change
    packet: int | None
    t_s: float  #: since the start of the run; capture
    protocol: str | None  #: `tcp`, `udp`, `sctp`; IP
    ip_bytes: int | None  #: bytes of the IP packet; IP
    payload_bytes: int | None  #: bytes of user data in it, repeated ones too; TCP, UDP, DATA chunks
    ttl: int | None  #: hops left; IP
    ip_id: int | None  #: identification; IP
    ip_checksum_ok: bool | None  #: whether the IP header's checksum is right; IP
    #: whether TCP's, UDP's or SCTP's (CRC32c) is; null unless captured whole; all of it
    checksum_ok: bool | None
    #: whether any of its data, SYN or FIN was sent before, by first sight at `sent`; null: carries
    #: none; seq, tsn
    retransmission: bool | None
    tcp_flags: int | None  #: as in the header: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK, ...; TCP
    seq: int | None  #: first byte, counted from the SYN (0); does not wrap; TCP
    ack: int | None  #: next byte expected, counted likewise; TCP
    window_bytes: int | None  #: receive window, scaled; null if no SYN was captured; TCP
    sack_blocks: list[Range] | None  #: bytes from `start` up to, not including, `end`; TCP options
    #: 0, or which duplicate acknowledgement in a row at this point: same `ack` and window, no data;
    #: TCP
    dupack_count: int | None
    mss_bytes: int | None  #: of a SYN; TCP options
    window_scale: int | None  #: of a SYN: bits to shift; TCP options
    chunk_types: str | None  #: the different types in order, `SACK+DATA`; SCTP
    data_chunk_count: int | None  #: DATA chunks bundled in it; SCTP
    tsn: int | None  #: of its first DATA chunk; the association's first is 0; does not wrap; DATA
    #: every DATA chunk; flags as in the header: 1 last, 2 first of its message, 4 unordered; DATA
    data_chunks: list[DataChunk] | None
    cum_tsn_ack: int | None  #: last TSN received in order; -1 before the first; SACK, SHUTDOWN
    gap_blocks: list[Range] | None  #: TSNs from `start` to `end`, both included; SACK
    duplicate_tsns: list[int] | None  #: TSNs that were received again; SACK
    a_rwnd_bytes: int | None  #: receive window; SACK, INIT, INIT-ACK


@dataclass(frozen=True, kw_only=True)
class PathRow:
    """What the path did to one flow, from captures."""

    flow: str  #: as in `cell.json`
    #: new data in order at the receiver inside the measuring window, of SCTP whole messages; null
    #: for UDP
    goodput_bytes: int | None
    total_bytes: int | None  #: the same in all
    #: from the flow's first packet until its first data byte reached the receiver
    connect_to_data_s: float | None
    #: IP packets of the data direction at `sent` inside the measuring window
    data_wire_rate_bps: float
    #: the same of those that left the bottleneck's buffer in that time
    bottleneck_wire_rate_bps: float
    ack_pkts: int  #: acknowledgements (bare TCP ACKs, packets with a SACK) sent in that time
    ack_ip_bytes: int  #: bytes of these IP packets
    ack_wire_rate_bps: float  #: the same as a rate: the bandwidth acknowledging takes
    #: mean one-way delay, `sent` to `delivered`, of packets with data sent inside the measuring
    #: window
    owd_mean_s: float | None
    owd_min_s: float | None  #: the least of these delays
    owd_p50_s: float | None  #: their median; quantiles interpolate linearly
    owd_p95_s: float | None  #: their 95 % quantile
    owd_p99_s: float | None  #: their 99 % quantile
    owd_max_s: float | None  #: the longest
    jitter_mean_s: float | None  #: mean of |difference of the delays of consecutive arrivals|
    jitter_min_s: float | None  #: the least of these differences
    jitter_p50_s: float | None  #: their median
    jitter_max_s: float | None  #: the largest
    jitter_rfc3550_s: float | None  #: RFC 3550's smoothed interarrival jitter after the last packet
    queue_mean_s: float | None  #: mean time in the bottleneck's buffer, being sent included
    queue_max_s: float | None  #: the longest
    ack_owd_mean_s: float | None  #: mean one-way delay of the way back
    queue_p95_s: float | None = None  #: 95 % quantile of the time in the bottleneck's buffer
    queue_p99_s: float | None = None  #: 99 % quantile of it


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """What became of one direction of one flow."""

    flow: str  #: as in `cell.json`
    direction: str  #: `data` (source to destination) or `ack`
    basis: str  #: `captures`, or without them `counters`
    sent_pkts: int | None  #: sent by the host
    access_dropped_pkts: int | None  #: dropped on the sender's access link
    queue_dropped_pkts: int | None  #: dropped by the bottleneck's buffer
    loss_dropped_pkts: int | None  #: dropped by its loss model
    exit_dropped_pkts: int | None  #: dropped on the receiver's access link
    delivered_pkts: int | None  #: arrived at the host
    in_flight_pkts: int | None  #: held in a queue or under way at the end
    unexplained_pkts: int | None  #: sent, less all of these
    closes: bool | None  #: whether that is 0
