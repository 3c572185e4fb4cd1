"""What scapy and what our parsers say of the same packets, in the same words, to be compared.

``scapys`` dissects with scapy alone, ``ours`` with the project's parsers alone. Where scapy is
wrong or ignorant, ``scapys`` says what it does about it; ``unit/packets/test_scapy_sctp.py`` and
``test_scapy_headers.py`` show each case.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from scapy.layers.inet import IP, TCP, in4_chksum
from scapy.layers.l2 import Ether
from scapy.layers.sctp import SCTP, crc32c
from scapy.packet import NoPayload, Packet, Padding, Raw
from scapy.utils import PcapWriter, checksum

from collectors.packets.checksum import internet_ok, sctp_ok
from collectors.packets.ipv4 import Ipv4, parse_ipv4, parse_link
from collectors.packets.sctp import parse_sctp
from collectors.packets.tcp import parse_tcp
from collectors.raw.pcap import Ints, Records, parse

Said = dict[str, Any]
ETHERNET = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
ADDRESSES = {"src": "10.1.1.2", "dst": "10.2.1.2"}
DATA, INITS, SACK, SHUTDOWN = 0, (1, 2), 3, 7
CHUNK_HEADER_BYTES, DATA_HEADER_BYTES = 4, 16


def framed(transport: Packet, **ip: Any) -> bytes:
    """Return the bytes of an Ethernet frame with one IPv4 packet, as scapy builds it."""
    return bytes(Ether(**ETHERNET) / IP(**{**ADDRESSES, **ip}) / transport)


def writer(file: io.BytesIO, **options: Any) -> PcapWriter:
    """Return scapy's writer of a capture of Ethernet frames, in nanoseconds; with changes."""
    made = PcapWriter(file, **{"nano": True, "linktype": 1, "sync": True, **options})
    made.write_header(None)
    return made


def records(frames: Sequence[bytes]) -> Records:
    """Return our reading of a capture that scapy writes: these frames, a nanosecond apart."""
    file = io.BytesIO()
    to = writer(file)
    for t_ns, frame in enumerate(frames):
        to.write_packet(frame, sec=0, usec=t_ns)
    return parse(file.getvalue(), "scapy")[0]


def scapys(frame: bytes) -> Said:
    """Return what scapy says of a frame that was captured whole."""
    ip = Ether(frame)[IP]
    header = bytes(ip)[: ip.ihl * 4]
    said: Said = {
        "ip": (ip.len, ip.ttl, ip.id, ip.proto, ip.src, ip.dst),
        "fragment": bool(ip.flags.MF) or ip.frag > 0,
        "header_ok": checksum(header) == 0,
    }
    if said["fragment"]:
        return said  # scapy dissects a first fragment, and any of SCTP; we believe none
    segment = bytes(ip.original)[ip.ihl * 4 : ip.len]
    if TCP in ip:
        said |= scapys_tcp(ip[TCP])
        said["checksum_ok"] = in4_chksum(ip.proto, ip, segment) == 0
    elif SCTP in ip:
        said |= scapys_sctp(ip[SCTP])
        blank = segment[:8] + bytes(4) + segment[12:]
        said["checksum_ok"] = crc32c(blank) == ip[SCTP].chksum
    return said


def scapys_tcp(tcp: TCP) -> Said:
    """Return a segment's fields; of an option that comes twice the last one counts.

    scapy leaves bytes where an option has not its kind's length, but takes any number of edges for
    a SACK; Linux passes over one that is not whole blocks.
    """
    options = [(name, value) for name, value in tcp.options if not isinstance(value, bytes)]
    single = dict(options)
    sacks = [value for name, value in options if name == "SAck" and isinstance(value, tuple)]
    return {
        "ports": (tcp.sport, tcp.dport),
        "seq": tcp.seq,
        "ack": tcp.ack,
        "flags": int(tcp.flags) & 0xFF,  # the ninth is that of AccECN (RFC 9768)
        "window": tcp.window,
        "payload_bytes": _content_bytes(tcp.payload),
        "mss_bytes": single.get("MSS", -1),
        "window_scale": single.get("WScale", -1),
        "sack_blocks": [
            block
            for edges in sacks
            if len(edges) % 2 == 0
            for block in zip(edges[::2], edges[1::2], strict=True)
        ],
    }


def _content_bytes(payload: Packet) -> int:
    """Return the bytes of user data; what lies behind the IP packet is none."""
    return 0 if isinstance(payload, NoPayload | Padding) else len(payload.original)


def scapys_chunks(sctp: SCTP) -> list[Packet]:
    """Return a packet's chunks as scapy's layers.

    scapy takes a chunk of a type it does not know, and all that follows, for raw bytes: these are
    given to it again behind that chunk.
    """
    found, layer = [], sctp.payload
    while not isinstance(layer, NoPayload | Padding):
        found.append(layer)
        following = layer.payload
        if isinstance(layer, Raw):
            length = int.from_bytes(layer.load[2:4], "big")
            assert length >= CHUNK_HEADER_BYTES, "a chunk that leads nowhere"
            rest = layer.load[length + -length % 4 :]
            following = sctp.default_payload_class(rest)(rest) if rest else NoPayload()
        layer = following
    return found


def chunk_type(chunk: Packet) -> int:
    return int(chunk.load[0] if isinstance(chunk, Raw) else chunk.type)


def data_chunk(chunk: Packet) -> tuple[int, ...]:
    """Return TSN, stream, its sequence number, flags and bytes of user data."""
    flags = ("reserved", 4), ("delay_sack", 3), ("unordered", 2), ("beginning", 1), ("ending", 0)
    marks = sum(chunk.getfieldval(name) << shift for name, shift in flags)
    return chunk.tsn, chunk.stream_id, chunk.stream_seq, marks, chunk.len - DATA_HEADER_BYTES


def gap_blocks(chunk: Packet) -> list[tuple[int, int]]:
    """Return a SACK's gap blocks, which scapy gives as text."""
    pairs = (block.split(":") for block in chunk.gap_ack_list)
    return [(int(start), int(end)) for start, end in pairs]


def scapys_sctp(sctp: SCTP) -> Said:
    """Return a packet's fields; lists over all its chunks, in order."""
    chunks = scapys_chunks(sctp)
    typed = [(chunk_type(chunk), chunk) for chunk in chunks]
    sacks = [chunk for kind, chunk in typed if kind == SACK]
    return {
        "ports": (sctp.sport, sctp.dport),
        "complete": True,
        "types": [kind for kind, _ in typed],
        "data": [data_chunk(chunk) for kind, chunk in typed if kind == DATA],
        "acks": [
            (chunk.cumul_tsn_ack, chunk.a_rwnd if kind == SACK else -1)
            for kind, chunk in typed
            if kind in (SACK, SHUTDOWN)
        ],
        "gaps": [block for chunk in sacks for block in gap_blocks(chunk)],
        "duplicates": [tsn for chunk in sacks for tsn in chunk.dup_tsn_list],
        "inits": [(chunk.init_tsn, chunk.a_rwnd) for kind, chunk in typed if kind in INITS],
    }


def ours(frames: Sequence[bytes]) -> list[Said]:
    """Return what our parsers say of frames that were captured whole."""
    read = records(frames)
    ip = parse_ipv4(read, parse_link(read))
    assert ip.readable.all()
    found = [
        {
            "ip": (
                *(int(values[row]) for values in (ip.ip_bytes, ip.ttl, ip.ip_id, ip.protocol)),
                *(_dotted(values[row]) for values in (ip.source, ip.destination)),
            ),
            "fragment": bool(ip.fragment[row]),
            "header_ok": bool(ip.header_ok[row]),
        }
        for row in range(len(frames))
    ]
    for protocol, said in ((6, ours_tcp), (132, ours_sctp)):
        rows = np.flatnonzero(~ip.fragment & (ip.protocol == protocol))
        for row, of_transport in zip(rows, said(read, ip, rows), strict=True):
            found[row] |= of_transport
    return found


def _dotted(address: int) -> str:
    return ".".join(str(octet) for octet in int(address).to_bytes(4, "big"))


def ours_tcp(read: Records, ip: Ipv4, rows: Ints) -> list[Said]:
    starts, ends = ip.transport[rows], ip.ends[rows]
    tcp = parse_tcp(read.octets, starts, ends, ip.captured_ends[rows])
    assert tcp.readable.all()
    assert tcp.options_readable.all()
    right = internet_ok(
        read.octets, starts, ends - starts, ip.source[rows], ip.destination[rows], ip.protocol[rows]
    )
    blocks = tcp.sack_blocks
    return [
        {
            "ports": (tcp.source_port[one], tcp.destination_port[one]),
            "sack_blocks": _of(one, blocks.packets, blocks.starts, blocks.ends),
            "checksum_ok": bool(right[one]),
            **{
                name: int(vars(tcp)[name][one])
                for name in ("seq", "ack", "flags", "window", "payload_bytes", "mss_bytes",
                             "window_scale")
            },
        }
        for one in range(len(rows))
    ]  # fmt: skip


def ours_sctp(read: Records, ip: Ipv4, rows: Ints) -> list[Said]:
    starts, ends = ip.transport[rows], ip.ends[rows]
    sctp = parse_sctp(read.octets, starts, ends, ip.captured_ends[rows])
    right = sctp_ok(read.octets, starts, ends - starts)
    data, sacks, inits = sctp.data, sctp.sacks, sctp.inits
    return [
        {
            "ports": (sctp.source_port[one], sctp.destination_port[one]),
            "complete": bool(sctp.complete[one]),
            "types": [kind for (kind,) in _of(one, sctp.chunks.packets, sctp.chunks.types)],
            "data": _of(one, data.packets, data.tsn, data.stream, data.ssn, data.flags,
                        data.payload_bytes),
            "acks": _of(one, sacks.packets, sacks.cum_tsn, sacks.a_rwnd_bytes),
            "gaps": _of(one, sacks.gap_packets, sacks.gap_starts, sacks.gap_ends),
            "duplicates": [tsn for (tsn,) in _of(one, sacks.duplicate_packets, sacks.duplicates)],
            "inits": _of(one, inits.packets, inits.tsn, inits.a_rwnd_bytes),
            "checksum_ok": bool(right[one]),
        }
        for one in range(len(rows))
    ]  # fmt: skip


def _of(packet: int, packets: Ints, *fields: Ints) -> list[tuple[int, ...]]:
    """Return one packet's items of flat lists."""
    return [tuple(int(field[at]) for field in fields) for at in np.flatnonzero(packets == packet)]
