"""SCTP packets and their CRC32c read as scapy reads them, chunk by chunk, field by field."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.layers.sctp import (
    SCTP,
    SCTPChunkAbort,
    SCTPChunkAuthentication,
    SCTPChunkCookieAck,
    SCTPChunkCookieEcho,
    SCTPChunkData,
    SCTPChunkError,
    SCTPChunkForwardTSN,
    SCTPChunkHeartbeatAck,
    SCTPChunkHeartbeatReq,
    SCTPChunkIData,
    SCTPChunkInit,
    SCTPChunkInitAck,
    SCTPChunkPad,
    SCTPChunkParamECNCapable,
    SCTPChunkParamFwdTSN,
    SCTPChunkParamHeartbeatInfo,
    SCTPChunkParamIPv4Addr,
    SCTPChunkParamStateCookie,
    SCTPChunkParamSupportedAddrTypes,
    SCTPChunkReConfig,
    SCTPChunkSACK,
    SCTPChunkShutdown,
    SCTPChunkShutdownAck,
    SCTPChunkShutdownComplete,
    SCTPForwardSkip,
    crc32c,
)
from scapy.packet import Packet, Raw

from collectors.packets import checksum
from collectors.packets.packets import parse_packets
from tests.support.scapy_oracle import chunk_type, framed, ours, records, scapys, scapys_chunks

U8, U16, U32 = st.integers(0, 0xFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF_FFFF)
BIT, SHORT = st.integers(0, 1), st.binary(max_size=25)
#: Types that scapy does not know: ECNE and CWR, ASCONF's and FORWARD_TSN's neighbours, no one's.
UNKNOWN = [12, 13, 16, 63, 129, 131, 191, 195, 254, 255]
#: The length of what follows is a multiple of four, as scapy wants it; see the last tests.
INFO = st.binary(max_size=6).map(lambda part: part * 4)


def unknown(kind: int, content: bytes) -> Raw:
    """Return a chunk of any type, padded as RFC 9260 has it."""
    head = struct.pack("!BBH", kind, 0, 4 + len(content))
    return Raw(head + content + bytes(-len(content) % 4))


def parameters() -> st.SearchStrategy[list[Packet]]:
    """Parameters of INIT and INIT_ACK."""
    return st.lists(
        st.one_of(
            st.builds(SCTPChunkParamStateCookie, cookie=SHORT),
            st.builds(SCTPChunkParamECNCapable),
            st.builds(SCTPChunkParamFwdTSN),
            st.builds(SCTPChunkParamIPv4Addr),
            st.builds(SCTPChunkParamSupportedAddrTypes),
        ),
        max_size=3,
    )


def chunks() -> st.SearchStrategy[Packet]:
    """One chunk of any kind; DATA of whole and of fragmented messages, first to last part."""
    inits = {
        "init_tag": U32, "a_rwnd": U32, "n_out_streams": U16, "n_in_streams": U16,
        "init_tsn": U32, "params": parameters(),
    }  # fmt: skip
    info = st.lists(st.builds(SCTPChunkParamHeartbeatInfo, data=INFO), max_size=1)
    data = st.builds(
        SCTPChunkData, tsn=U32, stream_id=U16, stream_seq=U16, proto_id=U32,
        reserved=st.integers(0, 15), delay_sack=BIT, unordered=BIT, beginning=BIT, ending=BIT,
        data=SHORT.map(lambda load: Raw(load=load)),
    )  # fmt: skip
    sack = st.builds(
        SCTPChunkSACK, cumul_tsn_ack=U32, a_rwnd=U32, flags=U8,
        gap_ack_list=st.lists(st.tuples(U16, U16), max_size=5),
        dup_tsn_list=st.lists(U32, max_size=4),
    )  # fmt: skip
    return st.one_of(
        data,
        data,
        sack,
        sack,
        st.builds(SCTPChunkInit, **inits),
        st.builds(SCTPChunkInitAck, **inits),
        st.builds(SCTPChunkHeartbeatReq, params=info),
        st.builds(SCTPChunkHeartbeatAck, params=info),
        st.builds(SCTPChunkAbort, error_causes=SHORT, TCB=BIT),
        st.builds(SCTPChunkError, error_causes=SHORT),
        st.builds(SCTPChunkShutdown, cumul_tsn_ack=U32),
        st.sampled_from([SCTPChunkShutdownAck(), SCTPChunkShutdownComplete(TCB=1)]),
        st.builds(SCTPChunkCookieEcho, cookie=SHORT),
        st.just(SCTPChunkCookieAck()),
        st.builds(SCTPChunkAuthentication, HMAC=SHORT),
        st.builds(SCTPChunkIData, tsn=U32, beginning=BIT, data=SHORT),
        st.builds(
            SCTPChunkForwardTSN, new_tsn=U32,
            skips=st.lists(st.just(SCTPForwardSkip(stream_id=1, stream_seq=2)), max_size=2),
        ),
        st.just(SCTPChunkReConfig()),
        st.builds(unknown, st.sampled_from(UNKNOWN), SHORT),
    )  # fmt: skip


@st.composite
def packets(draw: st.DrawFn) -> Packet:
    """A packet of any chunks, bundled in any order."""
    packet = SCTP(sport=draw(U16), dport=draw(U16), tag=draw(U32))
    for chunk in draw(st.lists(chunks(), max_size=6)):
        packet = packet / chunk.copy()
    return packet


@given(st.lists(st.tuples(packets(), st.binary(max_size=9)), max_size=3))
def test_any_packet_of_any_chunks(made: list[tuple[Packet, bytes]]) -> None:
    frames = [framed(packet) + behind for packet, behind in made]
    assert ours(frames) == [scapys(frame) for frame in frames]


@given(packets(), st.lists(st.tuples(st.integers(0, 400), U8), max_size=3))
def test_checksums_are_right_and_wrong_as_scapy_has_it(
    packet: Packet, spoiled: list[tuple[int, int]]
) -> None:
    content = bytearray(bytes(packet))
    for at, change in spoiled:
        content[at % len(content)] ^= change
    octets = np.frombuffer(bytes(content) + bytes(256), np.uint8)
    blank = bytes(content[:8]) + bytes(4) + bytes(content[12:])
    right = checksum.sctp_ok(octets, np.array([0]), np.array([len(content)]))
    assert right.tolist() == [struct.pack(">I", crc32c(blank)) == bytes(content[8:12])]


@given(st.binary(max_size=300))
def test_the_crc_of_any_bytes_is_scapys(content: bytes) -> None:
    rows = np.frombuffer(content, np.uint8).reshape(1, len(content))
    (mine,) = checksum.crc32c(rows)
    # On the wire the lowest byte of the CRC comes first, and scapy gives it as it is sent.
    assert struct.pack("<I", mine) == struct.pack(">I", crc32c(content))


def data(tsn: int, load: bytes = b"abcd", **fields: Any) -> Packet:
    return SCTPChunkData(
        tsn=tsn, stream_id=3, stream_seq=9, proto_id=0, data=Raw(load=load), **fields
    )


def test_a_message_in_three_parts_is_told_by_its_bits() -> None:
    parts = (data(7, beginning=1), data(8), data(9, b"e", ending=1, unordered=1))
    frame = framed(SCTP() / parts[0] / parts[1] / parts[2])
    table = parse_packets(records([frame]), [], [], 0)
    assert [chunk["flags"] for chunk in table["data_chunks"][0]] == [2, 0, 5]
    assert [chunk["tsn"] for chunk in table["data_chunks"][0]] == [0, 1, 2]
    assert table["payload_bytes"].to_list() == [9]
    assert ours([frame]) == [scapys(frame)]


def theirs(frame: bytes) -> list[int]:
    """Return the types of the chunks that scapy by itself finds in a packet."""
    found, layer = [], Ether(frame)[SCTP].payload
    while layer:
        found.append(chunk_type(layer))
        layer = layer.payload
    return found


@pytest.mark.parametrize("kind", UNKNOWN)
def test_scapy_is_blind_behind_a_chunk_it_does_not_know(kind: int) -> None:
    # RFC 9260, 3.2: the length says where the next chunk is, whatever this one is.
    frame = framed(SCTP() / unknown(kind, b"abc") / data(7))
    assert theirs(frame) == [kind]
    assert ours([frame])[0]["types"] == [kind, 0]
    assert [chunk_type(chunk) for chunk in scapys_chunks(Ether(frame)[SCTP])] == [kind, 0]


def test_scapy_takes_a_pad_chunk_for_four_bytes_longer_than_it_says() -> None:
    # RFC 4820: the length counts the four bytes of the header and the padding, nothing else.
    right = unknown(132, bytes(8))
    frame = framed(SCTP() / right / data(7))
    said = ours([frame])[0]
    assert (said["types"], said["complete"]) == ([132, 0], True)
    assert theirs(frame)[0] == 132
    assert Ether(frame)[SCTPChunkPad].padding == bytes(4)
    assert theirs(frame) != [132, 0]
    # What scapy itself writes says of itself that it reaches four bytes into the next chunk.
    assert bytes(SCTPChunkPad(padding=bytes(8)))[:4] == bytes([132, 0, 0, 16])


def test_scapy_loses_its_way_behind_padding_of_a_heartbeat() -> None:
    # The padding of a chunk's last parameter is no part of the chunk's length (RFC 9260, 3.2.1).
    info = struct.pack("!HH", 1, 9) + b"abcde"
    frame = framed(SCTP() / unknown(4, info) / data(7))
    assert theirs(frame) != [4, 0]
    said = ours([frame])[0]
    assert (said["types"], said["complete"]) == ([4, 0], True)
    assert said["data"] == [(7, 3, 9, 0, 4)]


def test_scapy_reads_chunks_in_the_middle_of_a_fragmented_ip_packet() -> None:
    # It binds SCTP to the protocol alone, TCP and UDP to the first fragment as well.
    frame = framed(SCTP() / data(7), flags="MF", frag=100)
    assert SCTP in Ether(frame)[IP]
    assert parse_packets(records([frame]), [], [], 0)["data_chunks"].to_list() == [None]


@pytest.mark.parametrize(
    ("chunk", "types"),
    [
        (struct.pack("!BBH", 0, 3, 15) + bytes(12), [0]),
        (struct.pack("!BBH", 3, 0, 3) + bytes(12), []),
        (struct.pack("!BBH", 0, 3, 200) + bytes(16), []),
        (bytes(4), []),
    ],
    ids=["DATA without its header", "a length of three", "beyond the packet", "zeros"],
)
def test_chunks_that_contradict_themselves_make_a_packet_incomplete(
    chunk: bytes, types: list[int]
) -> None:
    (said,) = ours([framed(SCTP() / data(7) / Raw(chunk))])
    assert (said["complete"], said["types"]) == (False, [0, *types])
    assert [row[0] for row in said["data"]] == [7]
