"""IPv4, TCP and UDP headers, checksums and captures read as scapy reads them, field by field."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP, IPOption, in4_chksum
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapReader, checksum

from collectors.packets.checksum import internet_ok
from collectors.packets.ipv4 import parse_ipv4, parse_link
from collectors.packets.packets import parse_packets
from collectors.packets.tcp import parse_tcp
from collectors.raw.pcap import Records, parse
from tests.support.recorded import DATA
from tests.support.scapy_oracle import ETHERNET, framed, ours, records, scapys, writer

U8, U16, U32 = st.integers(0, 0xFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF_FFFF)
MOST_OPTION_BYTES = 40


def option() -> st.SearchStrategy[tuple[Any, Any]]:
    """One TCP option as scapy writes it; some no kernel knows, some where no kernel has them."""
    pairs = st.integers(1, 4).flatmap(lambda n: st.tuples(*[U32] * (2 * n)))
    return st.one_of(
        st.just(("NOP", None)),
        st.tuples(st.just("MSS"), U16),
        st.tuples(st.just("WScale"), U8),
        st.just(("SAckOK", b"")),
        st.tuples(st.just("Timestamp"), st.tuples(U32, U32)),
        st.tuples(st.just("SAck"), pairs),
        st.tuples(st.sampled_from([30, 34, 69, 253, 254]), st.binary(max_size=12)),
        st.just(("EOL", None)),
    )


@st.composite
def segments(draw: st.DrawFn) -> Packet:
    """A TCP segment with any options in any order, as many as fit, padded by scapy."""
    options: list[tuple[Any, Any]] = []
    for one in draw(st.lists(option(), max_size=12)):
        if len(bytes(TCP(options=[*options, one]))) <= 20 + MOST_OPTION_BYTES:
            options.append(one)
    return TCP(
        sport=draw(U16), dport=draw(U16), seq=draw(U32), ack=draw(U32), window=draw(U16),
        flags=draw(st.integers(0, 0x1FF)), reserved=draw(st.integers(0, 7)), urgptr=draw(U16),
        options=options,
    ) / Raw(draw(st.binary(max_size=40)))  # fmt: skip


@st.composite
def headers(draw: st.DrawFn) -> dict[str, Any]:
    """Fields of an IPv4 header; options fill up to 40 bytes."""
    content = draw(st.one_of(st.just(b""), st.binary(min_size=1, max_size=36)))
    return {
        "src": ".".join(str(n) for n in draw(st.tuples(U8, U8, U8, U8))),
        "dst": ".".join(str(n) for n in draw(st.tuples(U8, U8, U8, U8))),
        "ttl": draw(U8), "id": draw(U16), "tos": draw(U8),
        "flags": draw(st.sampled_from(["", "DF", "evil"])),
        "options": [IPOption(copy_flag=1, option=30, value=content)] if content else [],
    }  # fmt: skip


@given(st.lists(st.tuples(segments(), headers(), st.binary(max_size=9)), max_size=4))
def test_any_segment_with_any_options(made: list[tuple[Packet, dict[str, Any], bytes]]) -> None:
    frames = [framed(segment, **header) + behind for segment, header, behind in made]
    assert ours(frames) == [scapys(frame) for frame in frames]


KINDS = st.one_of(st.sampled_from([0, 1, 2, 3, 4, 5, 8, 30, 254]), U8)
#: scapy has its own ways with what these hold, and does not write again what it read.
CHANGED = {"MD5", "Mood", "AO"}
LAST = (254, b"")


@st.composite
def option_bytes(draw: st.DrawFn) -> bytes:
    """Options whose lengths may be any: too short, beyond the header, not the kind's own."""
    content = b""
    for kind in draw(st.lists(KINDS, max_size=8)):
        inside = draw(st.binary(max_size=10))
        length = draw(st.one_of(st.just(2 + len(inside)), st.integers(0, 14)))
        content += bytes([kind]) if kind < 2 else bytes([kind, length]) + inside
    content = content[:MOST_OPTION_BYTES]
    return content + bytes(-len(content) % 4)


@given(option_bytes())
def test_options_are_known_if_scapy_writes_again_what_it_read(content: bytes) -> None:
    # scapy makes the best of a length that cannot be; written again, it comes out another.
    frame = framed(TCP(dataofs=5 + len(content) // 4) / Raw(content))
    read = records([frame])
    ip = parse_ipv4(read, parse_link(read))
    tcp = parse_tcp(read.octets, ip.transport, ip.ends, ip.captured_ends)
    assume(TCP in Ether(frame))
    theirs = [
        (kind, (value,) if kind == "SAck" and isinstance(value, int) else value)
        for kind, value in Ether(frame)[TCP].options
        if kind != "EOL"
    ]
    assume(not CHANGED.intersection(kind for kind, _ in theirs))
    again = bytes(TCP(options=[*theirs, LAST]))[20:].rstrip(b"\0").removesuffix(b"\xfe\x02")
    assert tcp.options_readable[0] == content.startswith(again), theirs
    if tcp.options_readable[0]:
        assert ours([frame]) == [scapys(frame)]


@pytest.mark.parametrize("length", range(2, MOST_OPTION_BYTES + 1))
def test_a_sack_option_is_whole_blocks_or_nothing(length: int) -> None:
    # Linux passes over any other (tcp_parse_options); scapy makes edges of what is there.
    option = bytes([5, length]) + bytes(range(1, length - 1))
    frame = framed(TCP(dataofs=5 + -(-length // 4)) / Raw(option + bytes(-length % 4)))
    (mine,), theirs = ours([frame]), scapys(frame)
    assert mine == theirs
    assert len(mine["sack_blocks"]) == ((length - 2) // 8 if length % 8 == 2 else 0)


@pytest.mark.parametrize(
    ("content", "theirs"),
    [
        (b"\x02\x01\x05\xb4", [("MSS", b""), ("SAck", ())]),
        (b"\x01\x01\x02\x04", [("NOP", None), ("NOP", None), ("MSS", b"")]),
    ],
    ids=["a length of one", "beyond the header"],
)
def test_scapy_makes_something_of_options_that_contradict_themselves(
    content: bytes, theirs: list[tuple[Any, Any]]
) -> None:
    # Linux stops at such an option; we say that nothing is known, and scapy reads on.
    frame = framed(TCP(dataofs=6) / Raw(content))
    read = records([frame])
    ip = parse_ipv4(read, parse_link(read))
    tcp = parse_tcp(read.octets, ip.transport, ip.ends, ip.captured_ends)
    assert tcp.options_readable.tolist() == [False]
    assert Ether(frame)[TCP].options[: len(theirs)] == theirs


def test_scapy_gives_a_segment_up_for_a_short_authentication_option() -> None:
    # RFC 5925 wants four bytes at least; Linux and we pass over what is less.
    frame = framed(TCP(dataofs=6) / Raw(b"\x1d\x03\x07\x01"))
    assert TCP not in Ether(frame)
    assert parse_packets(records([frame]), [], [], 0)["sack_blocks"].to_list() == [[]]


@given(st.lists(st.tuples(headers(), U16, U16, st.binary(max_size=50)), max_size=4))
def test_any_udp_packet(made: list[tuple[dict[str, Any], int, int, bytes]]) -> None:
    frames = [framed(UDP(sport=a, dport=b) / Raw(data), **header) for header, a, b, data in made]
    table = parse_packets(records(frames), [], [], 0)
    theirs = [Ether(frame)[UDP] for frame in frames]
    assert table["payload_bytes"].to_list() == [len(udp.payload) for udp in theirs]
    assert table["checksum_ok"].to_list() == [True] * len(frames)
    assert table["ip_id"].to_list() == [udp.underlayer.id for udp in theirs]


def test_udp_without_a_checksum_has_none_to_judge() -> None:
    table = parse_packets(records([framed(UDP(chksum=0) / Raw(b"abc"))]), [], [], 0)
    assert table["checksum_ok"].to_list() == [None]


@given(
    st.sampled_from([TCP, UDP]),
    st.binary(max_size=41),
    st.lists(st.tuples(st.integers(0, 59), U8), max_size=3),
)
def test_checksums_are_right_and_wrong_as_scapy_has_it(
    layer: type[Packet], data: bytes, spoiled: list[tuple[int, int]]
) -> None:
    frame = bytearray(framed(layer() / Raw(data)))
    for at, change in spoiled:
        frame[14 + at % (len(frame) - 14)] ^= change
    segment, ip = bytes(frame[34:]), IP(src="10.1.1.2", dst="10.2.1.2")
    protocol = {TCP: 6, UDP: 17}[layer]
    octets = np.frombuffer(bytes(frame) + bytes(256), np.uint8)
    one = [np.array([value]) for value in (34, len(segment), 0x0A010102, 0x0A020102, protocol)]
    wanted = in4_chksum(protocol, ip, segment) == 0
    assert internet_ok(octets, *one).tolist() == [wanted]
    if frame[14] == 0x45:
        read = records([bytes(frame)])
        header_ok = parse_ipv4(read, parse_link(read)).header_ok.tolist()
        assert header_ok == [checksum(bytes(frame[14:34])) == 0]


@given(headers(), st.integers(0, 59), U8)
def test_header_checksums_of_any_options_right_and_wrong(
    header: dict[str, Any], at: int, change: int
) -> None:
    frame = bytearray(framed(UDP(), **header))
    length = (frame[14] & 15) * 4
    frame[14 + 1 + at % (length - 1)] ^= change
    read = records([bytes(frame)])
    header_ok = parse_ipv4(read, parse_link(read)).header_ok.tolist()
    assert header_ok == [checksum(bytes(frame[14 : 14 + length])) == 0]


@pytest.mark.parametrize("tags", [1, 2])
def test_tags_are_passed_over(tags: int) -> None:
    plain = Ether(**ETHERNET)
    tagged = plain
    for vlan in range(tags):
        tagged = tagged / Dot1Q(vlan=vlan + 1)
    inner = IP(src="10.1.1.2", dst="10.2.1.2") / TCP(options=[("MSS", 1460)]) / Raw(b"abc")
    assert ours([bytes(tagged / inner)]) == ours([bytes(plain / inner)])


@given(
    st.lists(st.tuples(st.binary(max_size=70), U32, st.integers(0, 999_999)), max_size=8),
    st.sampled_from("<>"),
    st.booleans(),
)
def test_captures_that_scapy_writes(
    packets: list[tuple[bytes, int, int]], order: str, nano: bool
) -> None:
    file = io.BytesIO()
    to = writer(file, endianness=order, nano=nano)
    for content, seconds, fraction in packets:
        to.write_packet(content, sec=seconds, usec=fraction)
    found, cut = parse(file.getvalue(), "scapy")
    assert cut is None
    assert found.t_ns.tolist() == [
        seconds * 10**9 + fraction * (1 if nano else 1000) for _, seconds, fraction in packets
    ]
    assert contents(found) == [content for content, *_ in packets]


def contents(found: Records) -> list[bytes]:
    """Return the packets' captured bytes."""
    return [
        found.octets[start : start + size].tobytes()
        for start, size in zip(found.starts, found.captured_bytes, strict=True)
    ]


@pytest.mark.parametrize(
    "path", sorted(DATA.glob("*/**/*.pcap")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_recorded_captures_hold_the_packets_that_scapy_finds(path: Path) -> None:
    found, _ = parse(path.read_bytes(), path.name)
    with RawPcapReader(str(path)) as reader:
        theirs = list(reader)
    assert reader.nano
    assert contents(found) == [content for content, _ in theirs]
    assert found.t_ns.tolist() == [said.sec * 10**9 + said.usec for _, said in theirs]
    assert found.wire_bytes.tolist() == [said.wirelen for _, said in theirs]
    assert len(theirs) >= 60
