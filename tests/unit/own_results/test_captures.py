"""Captures: what ns-3 wrote, what scapy makes, and what is refused."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from model.errors import ParseError
from model.run_files.comparing.brought import FlowReading, Span
from simulators.results import capture_flows, captures
from simulators.results.streams import Stream, opened
from tests.support.simulators.own_results import NS3, SPAN, stream_of

pytestmark = pytest.mark.unit

WHOLE = Span(from_s=0.0, to_s=100.0)


def flows(stream: Stream, span: Span = WHOLE, *, first_packet: bool = False) -> list[FlowReading]:
    return captures.read(stream, span=span, first_packet=first_packet)[0]


@pytest.mark.parametrize(("control", "port"), [("Bbr", 5001), ("Cubic", 5002)])
def test_what_ns3_captured_is_what_its_monitor_counted(control: str, port: int) -> None:
    from simulators.results import flow_monitor

    after = Span(from_s=1.0, to_s=3.0)
    with opened(NS3 / f"short-{control}.pcap.xz") as stream:
        captured = {one.destination_port: one for one in flows(stream, after)}
    with opened(NS3 / "short.xml") as stream:
        monitored, _ = flow_monitor.read(stream, headers_bytes=52, counted=after)
    (counted,) = (one for one in monitored if one.destination_port == port)
    assert captured[port].protocol == "tcp"
    assert captured[port].source_port == 49153
    got, told = captured[port].goodput_bytes, counted.goodput_bytes
    assert got is not None
    assert told is not None
    # What was under way at 1 s is in the capture alone; nothing was sent twice.
    assert 0 <= got - told <= 60 * 1448


def pcap(packets: list[tuple[float, bytes]], linktype: int = 101, cut: int = 0) -> bytes:
    made = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, linktype)
    for t_s, packet in packets:
        kept = packet[:cut] if cut else packet
        made += struct.pack("<IIII", int(t_s), round(t_s % 1 * 1e6), len(kept), len(packet)) + kept
    return made


def ip(protocol: int, content: bytes, *, fragment: int = 0) -> bytes:
    return (
        struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 1, fragment, 64, protocol, 0)
        + bytes((10, 0, 0, 1, 10, 0, 0, 2)) + content
    )  # fmt: skip


def tcp(seq: int, size: int, flags: int = 0x10) -> bytes:
    head = struct.pack(">HHIIBBHHH", 1000, 2000, seq % (1 << 32), 0, 0x50, flags, 100, 0, 0)
    return ip(6, head + bytes(size))


def sctp(*chunks: tuple[int, int]) -> bytes:
    made = struct.pack(">HHII", 1000, 2000, 7, 0)
    for tsn, size in chunks:
        made += struct.pack(">BBHIHHI", 0, 3, 16 + size, tsn % (1 << 32), 0, 0, 0) + bytes(size)
        made += bytes(-size % 4)
    return ip(132, made)


def test_new_data_counts_once_and_when_it_is_in_order(tmp_path: Path) -> None:
    start = (1 << 32) - 150  # the numbers wrap
    packets = [
        (0.5, tcp(start - 1, 0, flags=0x02)), (1.0, tcp(start, 100)), (2.0, tcp(start + 200, 100)),
        (3.0, tcp(start + 200, 100)), (4.0, tcp(start + 100, 100)), (5.0, tcp(start, 300)),
        (6.0, tcp(start + 250, 150)),
    ]  # fmt: skip
    for span, wanted in (
        (WHOLE, 400),
        (Span(from_s=0, to_s=4), 100),
        (Span(from_s=4, to_s=5), 200),
    ):
        with stream_of(tmp_path, pcap(packets)) as stream:
            (one,) = flows(stream, span)
        assert one.goodput_bytes == wanted
        assert one.goodput_bps == wanted * 8 / span.length_s


def test_sctp_counts_chunks_by_tsn(tmp_path: Path) -> None:
    packets = [
        (1.0, sctp((5, 10), (6, 11))), (2.0, sctp((8, 20))), (2.5, sctp((8, 20))),
        (3.0, sctp((7, 30), (5, 10))),
    ]  # fmt: skip
    with stream_of(tmp_path, pcap(packets)) as stream:
        (one,) = flows(stream, Span(from_s=2, to_s=4))
    assert (one.protocol, one.goodput_bytes) == ("sctp", 50)


def test_udp_counts_datagrams_though_captured_in_part(tmp_path: Path) -> None:
    datagram = ip(17, struct.pack(">HHHH", 1000, 2000, 508, 0) + bytes(500))
    with stream_of(tmp_path, pcap([(1.0, datagram)] * 3, cut=40)) as stream:
        (one,) = flows(stream)
    assert (one.protocol, one.goodput_bytes) == ("udp", 1500)


@pytest.mark.parametrize(
    ("linktype", "link"),
    [(1, bytes(12) + b"\x08\x00"), (1, bytes(12) + b"\x81\x00\x00\x05\x08\x00"), (9, b"\x00\x21"),
     (113, bytes(14) + b"\x08\x00"), (276, b"\x08\x00" + bytes(18))],
)  # fmt: skip
def test_links_are_taken_off(linktype: int, link: bytes, tmp_path: Path) -> None:
    packets = [(1.0, link + tcp(1, 50))]
    with stream_of(tmp_path, pcap(packets, linktype)) as stream:
        (one,) = flows(stream)
    assert one.goodput_bytes == 50


def test_scapy_s_packets_say_the_same(tmp_path: Path) -> None:
    """Shuffled and repeated segments of scapy's: all bytes arrive, once each."""
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.utils import PcapWriter

    rng = random.Random(1)
    edges = sorted(rng.sample(range(1, 40_000), 99))
    pieces = list(zip([0, *edges], [*edges, 40_000], strict=True))
    order = pieces + rng.choices(pieces, k=50)
    rng.shuffle(order)
    ends = {"src": "10.0.0.1", "dst": "10.0.0.2"}
    made = [IP(**ends) / TCP(sport=1, dport=2, seq=999, flags="S")]
    made += [
        IP(**ends) / TCP(sport=1, dport=2, seq=1000 + start, flags="A") / (b"x" * (end - start))
        for start, end in order
    ]
    made.append(IP(**ends) / UDP(sport=3, dport=4) / b"12345")
    path = tmp_path / "scapy.pcap"
    with PcapWriter(str(path), linktype=101) as writer:
        for number, packet in enumerate(made):
            packet.time = number / 100
            writer.write(packet)
    with opened(path) as stream:
        found = {one.destination_port: one.goodput_bytes for one in flows(stream)}
    assert found == {2: 40_000, 4: 5}


def test_what_cannot_be_told_is_passed_over_and_said(tmp_path: Path) -> None:
    packets = [(1.0, tcp(1, 10)), (1.1, b"\x60" + bytes(60)), (1.2, ip(6, bytes(8))),
               (1.3, ip(6, bytes(40), fragment=0x2000))]  # fmt: skip
    with stream_of(tmp_path, pcap(packets)) as stream:
        found, notes = captures.read(stream, span=WHOLE, first_packet=False)
    assert [one.goodput_bytes for one in found] == [10]
    assert "3 of 4 packets are no whole IPv4 packets" in notes[0]
    assert "1 flows have no beginning here" in notes[1]


def test_times_since_1970_need_a_word_in_the_mapping(tmp_path: Path) -> None:
    packets = [(1.7e9, tcp(1, 10)), (1.7e9 + 5, tcp(11, 10))]
    with stream_of(tmp_path, pcap(packets)) as stream, pytest.raises(ParseError) as refused:
        flows(stream)
    assert "zero: first packet" in str(refused.value)
    with stream_of(tmp_path, pcap(packets)) as stream:
        (one,) = flows(stream, SPAN, first_packet=True)
    assert one.goodput_bytes == 10


GOOD = pcap([(1.0, tcp(1, 10))])
REFUSED = {
    "empty": (b"", "the file is empty"),
    "pcapng": (b"\x0a\x0d\x0d\x0a" + bytes(40), "not a classic pcap file: got pcapng"),
    "no capture": (bytes(40), "byte 0: not a capture"),
    "short header": (GOOD[:10], "byte 0: not a capture"),
    "link": (pcap([], 147), "byte 20: unknown link type"),
    "cut": (GOOD[:-3], "packet 1, byte 24: cut short in a packet"),
    "cut head": (GOOD[:30], "packet 1, byte 24: cut short in a packet's header"),
    "huge": (GOOD[:32] + b"\xff" * 8 + GOOD[40:], "packet 1, byte 24: not a packet record"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_files_are_refused_with_place_and_reason(case: str, tmp_path: Path) -> None:
    content, words = REFUSED[case]
    with stream_of(tmp_path, content) as stream, pytest.raises(ParseError) as refused:
        flows(stream)
    assert words in str(refused.value)


def test_what_is_held_beyond_holes_is_bounded_for_all_flows_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of SCTP every chunk is held, though chunks in a row are one piece; many flows are no way."""
    monkeypatch.setattr(capture_flows, "MOST_HELD", 30)
    one_hole = [(1.0, sctp((5, 10)))] + [(1.0, sctp((tsn, 10))) for tsn in range(7, 47)]
    many_flows = []
    for port in range(1, 41):
        for seq in (1, 100):
            packet = tcp(seq, 10)
            many_flows.append((1.0, packet[:20] + port.to_bytes(2, "big") + packet[22:]))
    for packets, place in ((one_hole, 31), (many_flows, 62)):
        with stream_of(tmp_path, pcap(packets)) as stream, pytest.raises(ParseError) as refused:
            flows(stream)
        assert f"packet {place}: a flow with too many holes to follow" in str(refused.value)


def test_a_capture_that_ends_before_the_time_that_is_counted_is_told(tmp_path: Path) -> None:
    packets = [(1.0, tcp(1, 10)), (29.0, tcp(11, 10))]
    for to_s, told in ((30.0, []), (60.0, ["its last packet is at 29 s, and goodput is counted"])):
        with stream_of(tmp_path, pcap(packets)) as stream:
            _, notes = captures.read(stream, span=Span(from_s=0, to_s=to_s), first_packet=False)
        found = [note for note in notes if "last packet" in note]
        assert len(found) == len(told)
        assert all(words in note for words, note in zip(told, found, strict=True))


def test_a_port_used_again_is_a_flow_of_its_own(tmp_path: Path) -> None:
    """ns-3's TCP begins at 0 every time; what came after the second SYN was taken for repeated."""
    packets = [
        (0.0, tcp(0, 0, flags=2)), (0.1, tcp(0, 0, flags=2)), (1.0, tcp(1, 100)),
        (2.0, tcp(101, 0, flags=0x11)), (3.0, tcp(0, 0, flags=2)), (4.0, tcp(1, 60)),
        (5.0, tcp(900_000, 0, flags=2)), (6.0, tcp(900_001, 7)),
    ]  # fmt: skip
    with stream_of(tmp_path, pcap(packets)) as stream:
        found = flows(stream)
    assert [(one.goodput_bytes, one.where.rpartition(" ")[2]) for one in found] == [
        (100, "1"), (60, "5"), (7, "7")
    ]  # fmt: skip
    assert [one.words.partition(", ")[2] for one in found] == ["", "connection 2", "connection 3"]


def test_an_attempt_that_led_to_nothing_is_no_flow_of_its_own(tmp_path: Path) -> None:
    packets = [(0.0, tcp(5, 0, flags=2)), (1.0, tcp(70_000, 0, flags=2)), (2.0, tcp(70_001, 9))]
    with stream_of(tmp_path, pcap(packets)) as stream:
        (one,) = flows(stream)
    assert one.goodput_bytes == 9


def test_what_stands_in_a_syn_is_data_too(tmp_path: Path) -> None:
    with stream_of(tmp_path, pcap([(0.0, tcp(0, 40, flags=2)), (1.0, tcp(41, 10))])) as stream:
        (one,) = flows(stream)
    assert one.goodput_bytes == 50


def init(tsn: int) -> bytes:
    head = struct.pack(">HHII", 1000, 2000, 0, 0)
    return ip(132, head + struct.pack(">BBHIIHHI", 1, 0, 20, 7, 65535, 1, 1, tsn))


def test_an_association_between_the_same_ends_is_a_flow_of_its_own(tmp_path: Path) -> None:
    """An INIT after data began the count anew, in the same flow."""
    packets = [(0.0, init(5)), (0.1, init(5)), (1.0, sctp((5, 10), (6, 10))), (2.0, init(5)),
               (3.0, sctp((5, 7)))]  # fmt: skip
    with stream_of(tmp_path, pcap(packets)) as stream:
        assert [one.goodput_bytes for one in flows(stream)] == [20, 7]


def test_held_pieces_of_an_earlier_connection_are_not_counted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_flows, "MOST_HELD", 3)
    packets = []
    for _ in range(5):
        packets += [(1.0, init(1)), (1.0, sctp((2, 5))), (1.0, tcp(0, 0, flags=2)),
                    (1.0, tcp(10, 5))]  # fmt: skip
    with stream_of(tmp_path, pcap(packets)) as stream:
        assert [one.goodput_bytes for one in flows(stream)] == [0] * 10


def test_chunks_that_were_not_captured_are_no_guess(tmp_path: Path) -> None:
    """Sizes stand in the chunks' heads: with all heads there, what was cut off does not matter."""
    bundled = [(1.0, sctp((5, 40), (6, 300)))]
    for cut in (96, 120, 500):  # 20 of IP, 12, 16 + 40, then at least 8 of the second chunk
        with stream_of(tmp_path, pcap(bundled, cut=cut)) as stream:
            assert [one.goodput_bytes for one in flows(stream)] == [340]
    for cut in (40, 60, 91):
        capture = pcap(bundled, cut=cut)
        with stream_of(tmp_path, capture) as stream, pytest.raises(ParseError) as refused:
            flows(stream)
        told = str(refused.value)
        assert "packet 1: cut before its last chunk of SCTP: wanted 404 bytes of IP" in told
        assert "tcpdump -s 0" in told


def test_packets_of_very_many_chunks_are_counted_whole(tmp_path: Path) -> None:
    with stream_of(tmp_path, pcap([(1.0, sctp(*((n, 4) for n in range(1, 1001))))])) as stream:
        (one,) = flows(stream)
    assert one.goodput_bytes == 4000


def test_interleaved_data_counts_and_what_was_given_up_does_not(tmp_path: Path) -> None:
    head = struct.pack(">HHII", 1000, 2000, 7, 0)
    interleaved = struct.pack(">BBHIHHII", 64, 3, 20 + 8, 5, 0, 0, 0, 0) + bytes(8)
    given_up = struct.pack(">BBHI", 192, 0, 8, 8)
    packets = [(1.0, ip(132, head + interleaved)), (2.0, sctp((8, 30), (10, 5))),
               (3.0, ip(132, head + given_up)), (4.0, sctp((9, 6)))]  # fmt: skip
    with stream_of(tmp_path, pcap(packets)) as stream:
        (one,) = flows(stream)
    assert one.goodput_bytes == 8 + 30 + 6 + 5
