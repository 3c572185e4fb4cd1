"""The packets table says of recorded captures and of made-up connections what scapy says of them.

Numbers that count from a connection's start are worked out here from scapy's raw ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import CookedLinuxV2
from scapy.layers.sctp import (
    SCTP,
    SCTPChunkData,
    SCTPChunkInit,
    SCTPChunkInitAck,
    SCTPChunkSACK,
    sctpchunktypes,
)
from scapy.packet import Packet, Raw
from scapy.utils import PcapReader, checksum

from collectors.packets.packets import parse_packets
from collectors.raw.pcap import parse
from tests.support.recorded import DATA
from tests.support.scapy_oracle import (
    ADDRESSES,
    Said,
    chunk_type,
    framed,
    records,
    scapys,
    scapys_chunks,
    scapys_sctp,
    scapys_tcp,
)

CAPTURES = sorted(DATA.glob("*/**/*.pcap"))
MODULUS, HALF = 1 << 32, 1 << 31
LINK_BYTES = 20
ACK, SYN = 0x10, 0x02


def from_start(raw: int, start: int) -> int:
    """Return a number of a short connection as counted from its start, -1 right before it."""
    return (raw - start + HALF) % MODULUS - HALF


class Starts:
    """What numbers of each sender of a capture count from, and how its windows are scaled."""

    def __init__(self, packets: list[Packet]) -> None:
        self.tcp: dict[Any, int] = {}
        self.tsn: dict[Any, int] = {}
        self.scale: dict[Any, int | None] = {}
        for ip in packets:
            if TCP in ip and ip[TCP].flags.S:
                self.tcp.setdefault(sender(ip), ip[TCP].seq)
                self.scale.setdefault(sender(ip), dict(ip[TCP].options).get("WScale"))
            if SCTP in ip:
                for first, _ in scapys_sctp(ip[SCTP])["inits"]:
                    self.tsn.setdefault(sender(ip), first)
        for ip in packets:  # of a connection whose beginning is not there, what comes first
            if TCP in ip:
                self.tcp.setdefault(sender(ip), ip[TCP].seq - 1)
            if SCTP in ip:
                for tsn, *_ in scapys_sctp(ip[SCTP])["data"]:
                    self.tsn.setdefault(sender(ip), tsn)


def sender(ip: Packet) -> tuple[Any, ...]:
    return ip.src, ip.payload.sport, ip.dst, ip.payload.dport


def receiver(ip: Packet) -> tuple[Any, ...]:
    return ip.dst, ip.payload.dport, ip.src, ip.payload.sport


def expected_tcp(ip: Packet, starts: Starts) -> Said:
    said = scapys_tcp(ip[TCP])
    peer = starts.tcp.get(receiver(ip), 0)
    acknowledges = said["flags"] & ACK and receiver(ip) in starts.tcp
    scales = [starts.scale.get(sender(ip)), starts.scale.get(receiver(ip))]
    heard = {sender(ip), receiver(ip)} <= starts.scale.keys()
    syn = said["flags"] & SYN
    shift = 0 if syn or None in scales else scales[0]
    return {
        "tcp_flags": said["flags"],
        "seq": from_start(said["seq"], starts.tcp[sender(ip)]),
        "ack": from_start(said["ack"], peer) if acknowledges else None,
        "window_bytes": said["window"] << shift if heard or syn else None,
        "mss_bytes": said["mss_bytes"] if said["mss_bytes"] >= 0 else None,
        "window_scale": said["window_scale"] if said["window_scale"] >= 0 else None,
        "sack_blocks": [
            {"start": from_start(start, peer), "end": from_start(end, peer)}
            for start, end in said["sack_blocks"]
        ],
        "payload_bytes": ip.len - ip.ihl * 4 - ip[TCP].dataofs * 4,
    }


def expected_sctp(ip: Packet, starts: Starts) -> Said:
    """Return what is known of a packet's chunks: all, unless one is cut off as a whole."""
    said = scapys_sctp(ip[SCTP])
    own, peer = starts.tsn.get(sender(ip), 0), starts.tsn.get(receiver(ip), 0)
    lengths = [chunk.len for chunk in scapys_chunks(ip[SCTP])]
    complete = sum(length + -length % 4 for length in lengths) == ip.len - ip.ihl * 4 - 12
    words = (sctpchunktypes[kind].replace("-", "_").upper() for kind in said["types"])
    # RFC 9260, section 3.2, has the word without what it is.
    names = dict.fromkeys("HEARTBEAT" if word == "HEARTBEAT_REQ" else word for word in words)
    data = [
        dict(zip(("tsn", "stream", "ssn", "flags", "payload_bytes"), chunk, strict=True))
        | {"tsn": from_start(chunk[0], own)}
        for chunk in said["data"]
    ]
    windows = [window for _, window in said["inits"]] + [window for _, window in said["acks"]]
    cum = from_start(said["acks"][0][0], peer) if said["acks"] else 0
    # Of a peer that sent nothing here, over another path say, no number is known to count from.
    acks = bool(said["acks"]) and receiver(ip) in starts.tsn
    selective = acks and windows[-1] >= 0
    return {
        "tsn": data[0]["tsn"] if data else None,
        "cum_tsn_ack": cum if acks else None,
        "a_rwnd_bytes": windows[-1] if windows and windows[-1] >= 0 else None,
        "gap_blocks": [{"start": cum + a, "end": cum + b} for a, b in said["gaps"]]
        if selective
        else None,
        "duplicate_tsns": [from_start(tsn, peer) for tsn in said["duplicates"]]
        if selective
        else None,
        "chunk_types": "+".join(names) if complete else None,
        "data_chunk_count": len(data) if complete else None,
        "data_chunks": data if complete else None,
        "payload_bytes": sum(chunk["payload_bytes"] for chunk in data) if complete else None,
    }


def expected(ip: Packet, starts: Starts, captured_bytes: int) -> Said:
    said: Said = {
        "protocol": {6: "tcp", 132: "sctp"}[ip.proto],
        "ip_bytes": ip.len,
        "ttl": ip.ttl,
        "ip_id": ip.id,
        "ip_checksum_ok": checksum(bytes(ip.original)[: ip.ihl * 4]) == 0,
        "checksum_ok": None,
    }
    if captured_bytes == LINK_BYTES + ip.len:
        frame = bytes(14)[:12] + b"\x08\x00" + bytes(ip.original)
        said["checksum_ok"] = scapys(frame)["checksum_ok"]
    return said | (expected_tcp(ip, starts) if TCP in ip else expected_sctp(ip, starts))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_field_of_every_recorded_packet(path: Path) -> None:
    with PcapReader(str(path)) as reader:
        theirs = list(reader)
    assert all(type(packet) is CookedLinuxV2 for packet in theirs)
    packets = [packet[IP] for packet in theirs]
    starts = Starts(packets)
    read, _ = parse(path.read_bytes(), path.name)
    rows = parse_packets(read, [], [], 0).to_dicts()
    assert len(rows) == len(packets) >= 60
    for place, (ip, row) in enumerate(zip(packets, rows, strict=True), start=1):
        wanted = expected(ip, starts, int(read.captured_bytes[place - 1]))
        assert {key: row[key] for key in wanted} == wanted, f"packet {place}"


def test_the_recordings_hold_what_is_compared() -> None:
    kinds: set[int] = set()
    whole = cut = 0
    for path in CAPTURES:
        read, _ = parse(path.read_bytes(), path.name)
        whole += int((read.captured_bytes == read.wire_bytes).sum())
        cut += int((read.captured_bytes < read.wire_bytes).sum())
        with PcapReader(str(path)) as reader:
            for packet in reader:
                if SCTP in packet:
                    kinds |= {chunk_type(chunk) for chunk in scapys_chunks(packet[SCTP])}
    assert kinds >= {0, 1, 2, 3, 7, 8, 10, 11, 14}
    assert min(whole, cut) > 100


NEAR_THE_END = st.one_of(st.integers(0, MODULUS - 1), st.integers(MODULUS - 3000, MODULUS - 1))


@given(NEAR_THE_END, NEAR_THE_END, st.lists(st.tuples(st.integers(0, 9), st.integers(1, 99)),
                                            min_size=1, max_size=12))  # fmt: skip
def test_a_tcp_connection_is_counted_from_its_start_whatever_its_numbers(
    mine: int, yours: int, sent: list[tuple[int, int]]
) -> None:
    def segment(start: int, other: int, flags: str, size: int = 0, **fields: Any) -> bytes:
        one = TCP(sport=9, dport=5001, seq=start % MODULUS, ack=other % MODULUS, flags=flags)
        for name, value in fields.items():
            setattr(one, name, value)
        return framed(one / Raw(bytes(size)))

    back = {"sport": 5001, "dport": 9}
    there = {"src": ADDRESSES["dst"], "dst": ADDRESSES["src"]}
    frames = [segment(mine, 0, "S")]
    reached, repeated, starts, ends = 0, [], [], []
    for index, (number, size) in enumerate(sent):
        start = 100 * number
        frames.append(segment(mine + 1 + start, yours + 1, "A", size, window=index))
        repeated.append(start < reached)
        reached = max(reached, start + size)
        starts.append(1 + start)
        ends.append(1 + start + size)
    answer = TCP(
        **back, seq=(yours + 1) % MODULUS, ack=(mine + 1) % MODULUS, flags="A",
        options=[("SAck", ((mine + starts[-1]) % MODULUS, (mine + ends[-1]) % MODULUS))],
    )  # fmt: skip
    frames[1:1] = [framed(TCP(**back, seq=yours, ack=(mine + 1) % MODULUS, flags="SA"), **there)]
    frames.append(framed(answer, **there))
    table = parse_packets(records(frames), [], [], 0)
    assert table["seq"].to_list() == [0, 0, *starts, 1]
    assert table["ack"].to_list() == [None, 1, *[1] * len(sent), 1]
    assert table["retransmission"].to_list() == [False, False, *repeated, None]
    assert table["sack_blocks"].to_list()[-1] == [{"start": starts[-1], "end": ends[-1]}]
    assert table["checksum_ok"].to_list() == [True] * len(frames)


@given(NEAR_THE_END, st.lists(st.integers(0, 20), min_size=1, max_size=12), st.data())
def test_an_association_is_counted_from_its_first_tsn_whatever_that_is(
    first: int, sent: list[int], drawn: st.DataObject
) -> None:
    def chunk(number: int) -> Packet:
        return SCTPChunkData(
            tsn=(first + number) % MODULUS, stream_id=0, stream_seq=0, proto_id=0, data=Raw(b"abc")
        )

    there = {"src": ADDRESSES["dst"], "dst": ADDRESSES["src"]}
    cum = drawn.draw(st.integers(-1, 20))
    gaps = drawn.draw(st.lists(st.tuples(st.integers(2, 99), st.integers(2, 99)), max_size=3))
    twice = drawn.draw(st.lists(st.integers(0, 20), max_size=3))
    sack = SCTPChunkSACK(
        cumul_tsn_ack=(first + cum) % MODULUS, a_rwnd=7, gap_ack_list=gaps,
        dup_tsn_list=[(first + number) % MODULUS for number in twice],
    )  # fmt: skip
    frames = [
        framed(SCTP(sport=9, dport=5001) / SCTPChunkInit(init_tsn=first, a_rwnd=5)),
        framed(SCTP(sport=5001, dport=9) / SCTPChunkInitAck(init_tsn=3, a_rwnd=6), **there),
        *(framed(SCTP(sport=9, dport=5001) / chunk(number), id=number) for number in sent),
        framed(SCTP(sport=5001, dport=9) / sack, **there),
    ]
    row = parse_packets(records(frames), [], [], 0)
    again = [number <= max(sent[:at], default=-1) for at, number in enumerate(sent)]
    assert row["tsn"].to_list() == [None, None, *sent, None]
    assert row["retransmission"].to_list() == [None, None, *again, None]
    assert row["a_rwnd_bytes"].to_list() == [5, 6, *[None] * len(sent), 7]
    assert row["cum_tsn_ack"].to_list()[-1] == cum
    assert row["gap_blocks"].to_list()[-1] == [{"start": cum + a, "end": cum + b} for a, b in gaps]
    assert row["duplicate_tsns"].to_list()[-1] == twice
