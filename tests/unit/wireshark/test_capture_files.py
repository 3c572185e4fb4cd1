"""The bytes of exported files: pcapng as the draft has it, classic pcap without its link header."""

from __future__ import annotations

import dataclasses
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.raw import pcap
from reports.wireshark import capture_files
from reports.wireshark.captured import CapturedPackets
from tests.support.pcapng_reader import read

LINK_BYTES = 20
T_NS = 1_767_225_608_000_000_768


def captured(packets: list[bytes], times: list[int] | None = None) -> CapturedPackets:
    """Return packets at alternating interfaces, a nanosecond apart, each 7 bytes longer once."""
    lengths = np.array([len(packet) for packet in packets], np.int64)
    starts = np.cumsum(lengths) - lengths
    t_ns = times if times is not None else [T_NS + index for index in range(len(packets))]
    return CapturedPackets(
        octets=np.frombuffer(b"".join(packets) + bytes(512), np.uint8),
        t_ns=np.array(t_ns, np.int64),
        starts=starts,
        network=starts + LINK_BYTES,
        captured_bytes=lengths,
        wire_bytes=lengths + 7,
        interfaces=np.arange(len(packets)) % 2,
        zero_bytes=np.zeros(len(packets), np.int64),
    )


def interfaces() -> bytes:
    one = capture_files.interface(name="a", description="b", linktype=276, snap_bytes=160)
    return one + one


def written(packets: list[bytes], comments: dict[int, str]) -> bytes:
    head = capture_files.section(comment="c", application="d") + interfaces()
    return head + b"".join(capture_files.pcapng_packets(captured(packets), comments))


def test_an_option_is_padded_to_four_bytes() -> None:
    assert capture_files.text_option(1, "hello") == bytes.fromhex("01000500 68656c6c 6f000000")
    assert capture_files.option(0, b"") == bytes(4)


def test_an_option_that_is_too_long_is_cut_between_characters() -> None:
    made = capture_files.text_option(1, "x" + "\N{EURO SIGN}" * 30_000)
    (length,) = struct.unpack_from("<H", made, 2)
    assert length == 1 + 3 * 21_844
    assert made[4 : 4 + length].decode().endswith("\N{EURO SIGN}")


def test_an_interface_is_named_described_and_counts_nanoseconds() -> None:
    made = capture_files.interface(name="ab", description="abcd", linktype=276, snap_bytes=160)
    assert made == bytes.fromhex(
        "01000000 30000000 14010000 a0000000"  # type, length, link type 276, snap length
        "02000200 61620000 03000400 61626364"  # name, description
        "09000100 09000000 00000000 30000000"  # 10 to the minus 9, end, length
    )


def test_a_packet_with_a_comment_to_the_byte() -> None:
    (made,) = capture_files.pcapng_packets(captured([b"\x01\x02\x03\x04\x05"]), {0: "ok"})
    assert made == bytes.fromhex(
        "06000000 34000000 00000000"  # type, length, interface
        "53728618 0053d0ca"  # nanoseconds since 1970
        "05000000 0c000000 01020304 05000000"  # captured, on the wire, data, padded
        "01000200 6f6b0000 00000000 34000000"  # comment, end, length
    )


def test_zeros_that_were_not_kept_are_filled_in_for_wireshark_alone() -> None:
    one = captured([bytes(LINK_BYTES) + b"\x01"] * 2)
    filled = dataclasses.replace(one, zero_bytes=np.array([7, 0]))
    (made,) = capture_files.pcapng_packets(filled, {1: "ok"})
    head = capture_files.section(comment="c", application="d") + interfaces()
    found = read(head + made).packets
    assert [packet["data"][LINK_BYTES:] for packet in found] == [b"\x01" + bytes(7), b"\x01"]
    assert [packet["wire_bytes"] for packet in found] == [28, 28]
    assert [packet["comment"] for packet in found] == ["", "ok"]
    (classic,) = capture_files.classic_packets(filled)
    assert struct.unpack_from("<II", classic, 8) == (1, 8)


def test_a_packet_without_comment_has_no_options() -> None:
    (made,) = capture_files.pcapng_packets(captured([b"\x01\x02\x03\x04"]), {})
    assert len(made) == 32 + 4


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=30), st.data())
def test_what_is_written_is_read_again(packets: list[bytes], data: st.DataObject) -> None:
    rows = st.integers(0, len(packets) - 1)
    comments = data.draw(st.dictionaries(rows, st.text(min_size=1, max_size=50)))
    found = read(written(packets, comments))
    assert [packet["data"] for packet in found.packets] == packets
    assert [packet["comment"] for packet in found.packets] == [
        comments.get(row, "") for row in range(len(packets))
    ]
    assert [packet["t_ns"] for packet in found.packets] == [T_NS + i for i in range(len(packets))]
    assert [packet["wire_bytes"] for packet in found.packets] == [len(p) + 7 for p in packets]
    assert [packet["interface"] for packet in found.packets] == [
        row % 2 for row in range(len(packets))
    ]
    assert found.section == {1: b"c", 4: b"d"}


def test_pieces_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = [bytes([n]) * (LINK_BYTES + n) for n in range(1, 12)]
    comments = {3: "three", 10: "ten"}
    whole, view = (
        written(packets, comments),
        b"".join(capture_files.classic_packets(captured(packets))),
    )
    monkeypatch.setattr(capture_files, "AT_ONCE", 4)
    assert len(list(capture_files.pcapng_packets(captured(packets), comments))) == 3
    assert written(packets, comments) == whole
    assert b"".join(capture_files.classic_packets(captured(packets))) == view


def test_the_senders_view_is_raw_ip_in_microseconds() -> None:
    packets = [bytes(LINK_BYTES) + b"first", bytes(LINK_BYTES) + b"second", bytes(LINK_BYTES)]
    data = capture_files.classic_header() + b"".join(
        capture_files.classic_packets(
            captured(packets, [1_000_001_999, 1_000_002_000, 2_000_000_000]).only(np.array([0, 1]))
        )
    )
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B2C3D4, 2, 4, 0, 0, 262_144, 101)
    assert struct.unpack_from("<IIII", data, 24) == (1, 1, 5, 12)
    assert data[40:45] == b"first"
    assert struct.unpack_from("<IIII", data, 45) == (1, 2, 6, 13)
    assert data[61:] == b"second"


def test_the_writer_and_our_own_reader_agree_on_the_magic_number() -> None:
    assert pcap.MAGIC[capture_files.classic_header()[:4]] == ("<", 1000)
