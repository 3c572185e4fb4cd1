"""Odd packets, made by scapy, and whether each is a data packet of its flow by the documentation.

A flow's packets with data count: TCP with a byte behind its header, SCTP with a DATA chunk, be it
behind others, any UDP (docs/study-files.md, "Listed packets"). What is no whole IPv4 packet, or a
later fragment of one, has no data that anyone could tell.
"""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from typing import Any

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.layers.sctp import (
    SCTP,
    SCTPChunkAbort,
    SCTPChunkCookieAck,
    SCTPChunkCookieEcho,
    SCTPChunkData,
    SCTPChunkError,
    SCTPChunkForwardTSN,
    SCTPChunkHeartbeatReq,
    SCTPChunkIData,
    SCTPChunkInit,
    SCTPChunkInitAck,
    SCTPChunkParamHeartbeatInfo,
    SCTPChunkParamStateCookie,
    SCTPChunkSACK,
    SCTPChunkShutdown,
    SCTPForwardSkip,
)
from scapy.packet import Packet, Raw

from model.cell import Cell, Flow, Protocol
from tests.support.scapy_oracle import ADDRESSES, ETHERNET, framed

PORTS: dict[Protocol, int] = {"tcp": 5001, "sctp": 5002, "udp": 5003}
LAST_PORT = 9
STAMPS = ("Timestamp", (1, 2))
SACKED = ("SAck", (10, 20, 30, 40, 50, 60))
FULL_OPTIONS = [IPOption_NOP()] * 40


@dataclass(frozen=True, kw_only=True)
class Crafted:
    """A frame; ``counts`` for whose flow, or for none."""

    name: str
    frame: bytes
    counts: Protocol | None


def tcp(data: bytes = b"", **fields: Any) -> Packet:
    """Return a segment of the flow."""
    segment = TCP(**{"sport": 40000, "dport": PORTS["tcp"], "flags": "A", "window": 5, **fields})
    return segment / Raw(data) if data else segment


def udp(data: bytes = b"", **fields: Any) -> Packet:
    """Return a datagram of the flow."""
    datagram = UDP(**{"sport": 40000, "dport": PORTS["udp"], **fields})
    return datagram / Raw(data) if data else datagram


def sctp(*chunks: Packet, port: int = PORTS["sctp"]) -> Packet:
    """Return a packet of the flow; its chunks follow each other in scapy's way."""
    packet = SCTP(sport=40000, dport=port, tag=7)
    for chunk in chunks:
        packet = packet / chunk.copy()
    return packet


def data(load: bytes = b"message", *, first: int = 1, last: int = 1, **fields: Any) -> Packet:
    """Return a DATA chunk: a whole message, or its first, a middle, its last part."""
    return SCTPChunkData(
        **{"tsn": 1, "stream_id": 0, "stream_seq": 0, "proto_id": 0, **fields},
        beginning=first, ending=last, data=Raw(load=load),
    )  # fmt: skip


def other(kind: int, content: bytes) -> Raw:
    """Return a chunk that scapy does not know, padded."""
    head = struct.pack("!BBH", kind, 0, 4 + len(content))
    return Raw(head + content + bytes(-len(content) % 4))


SACK = SCTPChunkSACK(cumul_tsn_ack=0, a_rwnd=0, gap_ack_list=["2:3", "5:6"], dup_tsn_list=[0, 0])
COOKIE = SCTPChunkCookieEcho(cookie=b"odd")
HEARTBEAT = SCTPChunkHeartbeatReq(params=[SCTPChunkParamHeartbeatInfo(data=bytes(8))])
INIT = {"init_tag": 1, "a_rwnd": 0, "n_out_streams": 1, "n_in_streams": 1, "init_tsn": 0}
LIKE_DATA = bytes(SCTPChunkData(tsn=0, stream_id=0, stream_seq=0, proto_id=0, data=Raw(load=b"x")))

TCP_DATA: dict[str, bytes] = {
    "options in one order": framed(tcp(b"a", options=[SACKED, ("NOP", None), STAMPS])),
    "options in another": framed(tcp(b"a", options=[STAMPS, ("NOP", None), SACKED])),
    "unknown options": framed(tcp(b"a", options=[(254, b"odd"), ("EOL", None)])),
    "urgent, congested, no fragment": framed(tcp(b"a", flags="PAUEC", urgptr=1), tos=3, flags="DF"),
    "behind IP options": framed(tcp(b"a"), options=[IPOption_Router_Alert(), IPOption_NOP()]),
    "behind all options there can be": framed(
        tcp(b"a", options=[("NOP", None)] * 40), options=FULL_OPTIONS
    ),
    "FIN with data": framed(tcp(b"last", flags="FA")),
    "SYN with data": framed(tcp(b"first", flags="S", options=[("MSS", 1460), (34, b"cookie")])),
    "a wrong checksum": framed(tcp(b"a", chksum=1)),
    "padding behind the packet": framed(tcp(b"a")) + bytes(7),
    "a first fragment": framed(tcp(bytes(200)), flags="MF"),
}
TCP_NO_DATA: dict[str, bytes] = {
    "acknowledgement": framed(tcp()),
    "acknowledgement with options": framed(tcp(options=[SACKED, STAMPS])),
    "acknowledgement behind IP options": framed(tcp(options=[STAMPS]), options=FULL_OPTIONS),
    "acknowledgement, padding behind the packet": framed(tcp(options=[STAMPS])) + b"data? " * 3,
    "SYN": framed(tcp(flags="S", options=[("MSS", 1460), ("SAckOK", b""), STAMPS, ("WScale", 7)])),
    "FIN": framed(tcp(flags="FA")),
    "RST": framed(tcp(flags="R")),
    "window probe": framed(tcp(seq=0xFFFF_FFFF)),
    "a later fragment like a segment": framed(Raw(bytes(tcp(b"a"))), proto=6, frag=25),
    "to another port": framed(tcp(b"a", dport=5004)),
    "from the port": framed(tcp(b"a", sport=5001, dport=40000)),
    "UDP to the port": framed(udp(b"a", dport=5001)),
    "SCTP to the port": framed(sctp(data(), port=5001)),
    "in an ICMP error": framed(ICMP(type=3, code=4) / IP(**ADDRESSES) / tcp(b"a")),
    "of IPv6": bytes(Ether(**ETHERNET) / IPv6(src="fd00::1", dst="fd00::2") / tcp(b"a")),
}
SCTP_DATA: dict[str, bytes] = {
    "one DATA chunk": framed(sctp(data())),
    "two DATA chunks": framed(sctp(data(), data(tsn=2))),
    "first part": framed(sctp(data(bytes(1000), last=0))),
    "middle part": framed(sctp(data(bytes(1001), first=0, last=0, tsn=2))),
    "last part, unordered": framed(sctp(data(b"end", first=0, tsn=3, unordered=1, delay_sack=1))),
    "SACK, DATA": framed(sctp(SACK, data())),
    "COOKIE_ECHO with padding, DATA": framed(sctp(COOKIE, data())),
    "HEARTBEAT, COOKIE_ACK, DATA": framed(sctp(HEARTBEAT, SCTPChunkCookieAck(), data())),
    "ECNE, CWR, DATA": framed(sctp(other(12, bytes(4)), other(13, bytes(4)), data())),
    "unknown with padding, DATA": framed(sctp(other(191, b"abcde"), data())),
    "PAD, DATA": framed(sctp(other(132, bytes(9)), data())),
    "DATA, SACK": framed(sctp(data(b"odd"), SACK)),
    "DATA behind 300 chunks": framed(sctp(*[SCTPChunkCookieAck()] * 300, data())),
    "behind IP options": framed(sctp(SACK, data()), options=FULL_OPTIONS),
    "a wrong checksum": framed(SCTP(sport=1, dport=5002, chksum=1) / data()),
    "padding behind the packet": framed(sctp(data(b"odd"))) + bytes(13),
    "a first fragment": framed(sctp(SACK, data(bytes(400))), flags="MF"),
}
SCTP_NO_DATA: dict[str, bytes] = {
    "SACK": framed(sctp(SACK)),
    "SACK, padding behind the packet": framed(sctp(SACK)) + LIKE_DATA,
    "SACK that acknowledges nothing": framed(sctp(SCTPChunkSACK(cumul_tsn_ack=0, a_rwnd=0))),
    "INIT": framed(sctp(SCTPChunkInit(**INIT, params=[]))),
    "INIT_ACK": framed(
        sctp(SCTPChunkInitAck(**INIT, params=[SCTPChunkParamStateCookie(cookie=LIKE_DATA)]))
    ),
    "COOKIE_ECHO with padding": framed(sctp(COOKIE)),
    "COOKIE_ECHO that holds a DATA chunk": framed(sctp(SCTPChunkCookieEcho(cookie=LIKE_DATA))),
    "HEARTBEAT of zeros": framed(sctp(HEARTBEAT)),
    "ABORT": framed(sctp(SCTPChunkAbort(error_causes=LIKE_DATA))),
    "ERROR": framed(sctp(SCTPChunkError(error_causes=b"odd"))),
    "SHUTDOWN": framed(sctp(SCTPChunkShutdown(cumul_tsn_ack=0))),
    "FORWARD_TSN of zeros": framed(
        sctp(SCTPChunkForwardTSN(new_tsn=0, skips=[SCTPForwardSkip(stream_id=0, stream_seq=0)]))
    ),
    "I_DATA, which no host here sends": framed(sctp(SCTPChunkIData(tsn=1, data=b"x"))),
    "no chunk": framed(sctp()),
    "DATA behind a chunk without length": framed(sctp(Raw(b"\x0b\0\0\0"), data())),
    "a later fragment like a packet": framed(Raw(bytes(sctp(data()))), proto=132, frag=60),
    "to another port": framed(sctp(data(), port=5004)),
    "TCP to the port": framed(tcp(b"a", dport=5002)),
}
UDP_DATA: dict[str, bytes] = {
    "data": framed(udp(b"odd")),
    "no data": framed(udp()),
    "no checksum": framed(udp(b"data", chksum=0)),
    "behind IP options": framed(udp(b"data"), options=FULL_OPTIONS),
    "padding behind the packet": framed(udp(b"data")) + bytes(20),
    "a first fragment": framed(udp(bytes(400)), flags="MF"),
}
UDP_NO_DATA: dict[str, bytes] = {
    "a later fragment like a packet": framed(Raw(bytes(udp(b"data"))), proto=17, frag=51),
    "to another port": framed(udp(b"data", dport=5004)),
    "from the port": framed(udp(b"data", sport=5003, dport=40000)),
}


def flows_of(cell: Cell) -> tuple[Flow, ...]:
    """Return a flow of each protocol, named by it, to the port of the crafted packets."""
    return tuple(
        dataclasses.replace(cell.flows[0], id=protocol, protocol=protocol, port=port)
        for protocol, port in PORTS.items()
    )


def crafted() -> list[Crafted]:
    """Return all packets; the flows take turns, and what counts and what does not."""
    groups: list[tuple[Protocol, Protocol | None, dict[str, bytes]]] = [
        ("tcp", "tcp", TCP_DATA), ("sctp", None, SCTP_NO_DATA), ("udp", "udp", UDP_DATA),
        ("sctp", "sctp", SCTP_DATA), ("tcp", None, TCP_NO_DATA), ("udp", None, UDP_NO_DATA),
    ]  # fmt: skip
    found = [
        (at, Crafted(name=f"{protocol}: {name}", frame=frame, counts=counts))
        for protocol, counts, packets in groups
        for at, (name, frame) in enumerate(packets.items())
    ]
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


#: Goes last, on the same way: what has not come before it never will.
LAST = framed(UDP(sport=1, dport=LAST_PORT) / Raw(b"last"))
