"""One host's connected sockets as sock_diag tells of them: netlink bytes to the kernel's fields.

Pure. Field names are the kernel's (include/uapi/linux: inet_diag.h, tcp.h, sctp.h) without their
prefix. These structures only ever grow at their end: what a kernel does not have yet is None, what
it has beyond the fields listed here is left alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.recording.netlink import NLMSG_DONE, Message, attributes, messages
from collectors.recording.socket_sampler import (
    INET_DIAG_CONG,
    INET_DIAG_INFO,
    INET_DIAG_SKMEMINFO,
    SOCK_DIAG_BY_FAMILY,
)
from collectors.sockets.samples import Answer
from model.errors import ParseError

INET_DIAG_PEERS = 13
AF_INET = 2
SOCKADDR_STORAGE_BYTES = 128
#: What tables can hold, and what the kernel says for a rate without bound.
COUNTER_END, NO_BOUND = 1 << 63, (1 << 64) - 1
Value = int | bytes | None

_TCP_INFO = """
B: state ca_state retransmits probes backoff options wscale flags
I: rto ato snd_mss rcv_mss
I: unacked sacked lost retrans fackets
I: last_data_sent last_ack_sent last_data_recv last_ack_recv
I: pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering
I: rcv_rtt rcv_space total_retrans
Q: pacing_rate max_pacing_rate bytes_acked bytes_received
I: segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out
Q: delivery_rate busy_time rwnd_limited sndbuf_limited
I: delivered delivered_ce
Q: bytes_sent bytes_retrans
I: dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash
H: total_rto total_rto_recoveries
I: total_rto_time
"""
_SCTP_INFO = """
I: tag state rwnd
H: unackdata penddata instrms outstrms
I: fragmentation_point inqueue outqueue overall_error max_burst maxseg peer_rwnd peer_tag
B: peer_capable peer_sack
H: reserved1
Q: isacks osacks opackets ipackets rtxchunks outofseqtsns idupchunks gapcnt
Q: ouodchunks iuodchunks oodchunks iodchunks octrlchunks ictrlchunks
128s: p_address
i: p_state
I: p_cwnd p_srtt p_rto p_hbinterval p_pathmaxrxt p_sackdelay p_sackfreq
I: p_ssthresh p_partial_bytes_acked p_flight_size
H: p_error reserved2
"""
_MEMORY = "I: rmem_alloc rcvbuf wmem_alloc sndbuf fwd_alloc wmem_queued optmem backlog drops"


@dataclass(frozen=True)
class Layout:
    """The fields of a C structure in their order, without padding between them."""

    text: str
    fields: tuple[tuple[str, str], ...] = field(init=False)
    whole: struct.Struct = field(init=False)
    wide: tuple[int, ...] = field(init=False)  # which fields have 64 bits

    def __post_init__(self) -> None:
        lines = [line.split(": ") for line in self.text.strip().splitlines()]
        fields = tuple((name, code) for code, names in lines for name in names.split())
        object.__setattr__(self, "fields", fields)
        wide = tuple(index for index, (_, code) in enumerate(fields) if code == "Q")
        object.__setattr__(self, "wide", wide)
        object.__setattr__(self, "whole", struct.Struct("<" + "".join(c for _, c in fields)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields."""
        return tuple(name for name, _ in self.fields)

    def values(self, data: bytes) -> tuple[Value, ...]:
        """Return the fields of a structure that may be shorter or longer; None: not there."""
        if len(data) >= self.whole.size:
            return self.whole.unpack_from(data)
        found: list[Value] = []
        offset = 0
        for _, code in self.fields:
            size = struct.calcsize("<" + code)
            fits = offset + size <= len(data)
            found.append(struct.unpack_from("<" + code, data, offset)[0] if fits else None)
            offset += size
        return tuple(found)


INFO = {"tcp": Layout(_TCP_INFO), "sctp": Layout(_SCTP_INFO)}
MEMORY = Layout(_MEMORY)
#: inet_diag_msg; its ports and addresses are in network byte order.
SOCKET = struct.Struct("<BBBB4x4s12x4s12x12xIIIII")
PORTS = struct.Struct(">4xHH")


@dataclass(frozen=True, kw_only=True)
class Socket:
    """One connection or association; ``info`` and ``memory`` in the order of their layouts.

    ``peers`` is the number of the peer's addresses, ``timer`` which timer runs and ``timer_ms``
    how long it still does.
    """

    state: int
    local_port: int
    peer_port: int
    peer: bytes
    peers: int
    timer: int
    timer_ms: int
    receive_queue_bytes: int
    send_queue_bytes: int
    congestion_control: str | None
    info: tuple[Value, ...]
    memory: tuple[Value, ...]


def sockets(answer: Answer, where: str) -> Iterator[Socket]:
    """Yield the sockets in one answer to the question for all sockets of a protocol.

    Raises:
        ParseError: the answer is cut off, damaged, or to another question.
    """
    ended = False
    for message in messages(answer.content, where, answer.offset):
        place = f"{where}: byte {message.offset}"
        if message.kind == NLMSG_DONE:
            ended = True
        elif message.kind != SOCK_DIAG_BY_FAMILY or ended:
            raise ParseError(
                "a foreign netlink message", where=place,
                wanted=f"type {NLMSG_DONE}" if ended else f"type {SOCK_DIAG_BY_FAMILY}",
                got=f"type {message.kind}",
            )  # fmt: skip
        else:
            found = _socket(message, answer.source.what, where, place)
            if found is not None:
                yield found
    if not ended:
        raise ParseError(
            "an answer without its end", where=f"{where}: byte {answer.offset}",
            wanted=f"a message of type {NLMSG_DONE} last", got=f"{len(answer.content)} bytes",
        )  # fmt: skip


def _socket(message: Message, protocol: str, where: str, place: str) -> Socket | None:
    """Return the connection a message is about; None for an SCTP endpoint, which comes first."""
    body = message.body
    if len(body) < SOCKET.size:
        raise ParseError(
            "a socket is cut off", where=place, wanted=f"{SOCKET.size} bytes", got=str(len(body))
        )
    family, state, timer, _, _, peer, expires, received, sending, _, _ = SOCKET.unpack_from(body)
    if family != AF_INET:
        raise ParseError("a socket of another family", where=place, wanted="2", got=str(family))
    local_port, peer_port = PORTS.unpack_from(body)
    parts = attributes(body[SOCKET.size :], where, message.offset + SOCKET.size)
    if protocol == "sctp" and INET_DIAG_PEERS not in parts:
        return None
    info = INFO[protocol].values(parts.get(INET_DIAG_INFO, b""))
    for index in INFO[protocol].wide:
        value = info[index]
        if isinstance(value, int) and COUNTER_END <= value != NO_BOUND:
            raise ParseError(
                "not a socket's counter", where=place, wanted="less than 2^63", got=str(value)
            )
    peers = len(parts.get(INET_DIAG_PEERS, bytes(SOCKADDR_STORAGE_BYTES)))
    name = parts.get(INET_DIAG_CONG)
    return Socket(
        state=state,
        local_port=local_port,
        peer_port=peer_port,
        peer=peer,
        peers=peers // SOCKADDR_STORAGE_BYTES,
        timer=timer,
        timer_ms=expires,
        receive_queue_bytes=received,
        send_queue_bytes=sending,
        congestion_control=None if name is None else name.rstrip(b"\0").decode("ascii", "replace"),
        info=info,
        memory=MEMORY.values(parts.get(INET_DIAG_SKMEMINFO, b"")),
    )
