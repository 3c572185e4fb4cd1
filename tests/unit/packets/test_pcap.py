"""Classic pcap in all its forms gives the same packets; what is none, or damaged, is named."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.packets.packets import parse_packets
from collectors.raw.pcap import Records, merged, parse, read
from model.errors import ParseError
from tests.support.recorded import DATA, wireless_cell

FLOWS = wireless_cell().flows
NAME = "tcp-sctp-loss.pcap"
RECORDED = (DATA / "tshark-4.0" / NAME).read_bytes()
BUNDLING = (DATA / "tshark-4.0" / "sctp-bundling.pcap").read_bytes()
HEADER_BYTES = 24
SLL2_BYTES = 20
ETHERNET = bytes(12) + b"\x08\x00"


def records_of(data: bytes) -> list[tuple[int, int, int, bytes]]:
    """Return (seconds, nanoseconds, length on the wire, bytes) of a little-endian capture."""
    found, offset = [], HEADER_BYTES
    while offset < len(data):
        seconds, ns, captured, wire = struct.unpack_from("<4I", data, offset)
        found.append((seconds, ns, wire, data[offset + 16 : offset + 16 + captured]))
        offset += 16 + captured
    return found


def written(
    packets: list[tuple[int, int, int, bytes]],
    *,
    order: str = "<",
    nanoseconds: bool = True,
    linktype: int = 276,
) -> bytes:
    """Return a capture file with these packets."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, linktype)]
    for seconds, ns, wire, content in packets:
        fraction = ns if nanoseconds else ns // 1000
        parts.append(struct.pack(f"{order}4I", seconds, fraction, len(content), wire) + content)
    return b"".join(parts)


def over_ethernet(link: bytes) -> list[tuple[int, int, int, bytes]]:
    """Return the recorded packets with another link header."""
    lost = SLL2_BYTES - len(link)
    return [
        (seconds, ns, wire - lost, link + content[SLL2_BYTES:])
        for seconds, ns, wire, content in records_of(RECORDED)
    ]


def table(data: bytes) -> pl.DataFrame:
    records, _ = parse(data, NAME)
    return parse_packets(records, [], FLOWS, None)


TABLE = table(RECORDED)
#: What is damaged again and again: handshakes, data, SACKs, bundled chunks.
FEW_TCP, FEW_SCTP = (written(records_of(data)[:24]) for data in (RECORDED, BUNDLING))


def test_the_recording_is_rewritten_unchanged() -> None:
    assert written(records_of(RECORDED))[HEADER_BYTES:] == RECORDED[HEADER_BYTES:]


@pytest.mark.parametrize(
    "data",
    [
        written(records_of(RECORDED), order=">"),
        written(over_ethernet(ETHERNET), linktype=1),
        written(over_ethernet(ETHERNET), linktype=1, order=">"),
        written(over_ethernet(bytes(12) + b"\x81\x00\x00\x05\x08\x00"), linktype=1),
        written(over_ethernet(bytes(12) + b"\x88\xa8\0\1\x81\x00\0\5\x08\x00"), linktype=1),
    ],
    ids=["big-endian", "ethernet", "big-endian ethernet", "one tag", "two tags"],
)
def test_byte_order_and_link_type_change_nothing(data: bytes) -> None:
    assert table(data).equals(TABLE)


def test_microseconds_are_all_that_is_lost() -> None:
    found = table(written(records_of(RECORDED), nanoseconds=False))
    assert found.drop("t_s").equals(TABLE.drop("t_s"))
    assert (found["t_s"] - TABLE["t_s"]).abs().max() == pytest.approx(0, abs=1e-6)


def test_times_and_sizes_are_the_files() -> None:
    records, cut = parse(RECORDED, NAME)
    first = records_of(RECORDED)[0]
    assert cut is None
    assert (len(records), records.names) == (230, (NAME,))
    assert records.t_ns[0] == first[0] * 1_000_000_000 + first[1]
    assert (records.wire_bytes[0], records.captured_bytes[0]) == (80, 80)
    assert (records.wire_bytes.max(), records.captured_bytes.max()) == (1520, 160)


def test_captures_are_merged_by_time_and_ties_keep_their_order() -> None:
    early, late = (1, 0, 4, b"earl"), (2, 0, 4, b"late")
    one, _ = parse(written([early, late]), "one")
    two, _ = parse(written([(1, 0, 4, b"same"), (1, 5, 4, b"then")]), "two")
    both = merged([one, two])
    content = [bytes(both.octets[offset : offset + 4]) for offset in both.starts]
    assert content == [b"earl", b"same", b"then", b"late"]
    assert [both.names[file] for file in both.files] == ["one", "two", "two", "one"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_looks_like_a_record_within_a_packet_is_none(order: str) -> None:
    # Packets hold the beginnings of others; the upper half of the time changes on the way.
    decoy = struct.pack(f"{order}4I", 65_530, 0, 40, 40)
    contents = [bytes(9), decoy, decoy[:7] + decoy * 3, b"", decoy * 40 + b"x", decoy]
    packets = [(65_530 + k, 0, 2000, content) for k, content in enumerate(contents * 4)]
    data = written(packets, order=order)
    records, cut = parse(data, NAME)
    assert cut is None
    assert records.captured_bytes.tolist() == [len(content) for *_, content in packets]
    ends = np.cumsum([16 + len(content) for *_, content in packets])
    starts = HEADER_BYTES + 16 + np.concatenate([[0], ends[:-1]])
    assert records.starts.tolist() == starts.tolist()


def test_a_capture_without_packets_is_one() -> None:
    found = table(written([]))
    assert (found.height, found.schema) == (0, TABLE.schema)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"^x: not a capture: the file is empty$"),
        (b"\xd4\xc3", r"^x: byte 0: not a capture: wanted the magic number of pcap, got d4 c3$"),
        (RECORDED[:20], r"^x: byte 20: cut short in the file header: wanted 24 bytes$"),
        (b"PNG" + RECORDED, r"^x: byte 0: not a capture: .*got 50 4e 47 4d"),
        (b"\n\r\r\n" + RECORDED, r"^x: byte 0: not a classic pcap file: got pcapng \(convert it"),
        (
            RECORDED[:4] + b"\3" + RECORDED[5:],
            r"^x: byte 4: unknown version.*wanted 2\.4, got 3\.4",
        ),
        (
            written([], linktype=113),
            r"^x: byte 20: unknown link type: wanted 1 \(Eth.* or 276 .*, got 113$",
        ),
        (
            written([(0, 0, 1 << 30, b"")])[:-8] + struct.pack("<2I", 1 << 30, 1 << 30),
            r"^x: byte 24: not a packet record: .*got 1073741824 bytes captured",
        ),
        (
            written([(0, 0, 4, b"good"), (0, 0, 3, b"more")]),
            r"^x: byte 44: a packet with more bytes captured than it had$",
        ),
        (
            written([(0, 10**9, 4, b"late")]),
            r"^x: byte 24: a packet time with a fraction of a second or more$",
        ),
    ],
)
def test_what_is_no_capture_is_named_with_its_byte(data: bytes, message: str) -> None:
    for strict in (True, False):
        with pytest.raises(ParseError, match=message):
            parse(data, "x", strict=strict)


def test_a_last_packet_cut_short_is_an_error_or_left_out() -> None:
    last = len(RECORDED) - len(written(records_of(RECORDED)[-1:])) + HEADER_BYTES
    for size in (last + 1, last + 15, last + 16, len(RECORDED) - 1):
        with pytest.raises(ParseError, match=rf"^x: byte {last}: cut short in packet 230 \("):
            parse(RECORDED[:size], "x")
        records, cut = parse(RECORDED[:size], "x", strict=False)
        assert len(records) == 229
        assert cut is not None
        assert cut.where == f"x: byte {last}"
    assert len(parse(RECORDED[:last], "x")[0]) == 229


def test_a_file_is_read_or_named(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    with pytest.raises(ParseError, match=rf"^{path}: cannot read a capture: got .*No such file"):
        read(path)
    path.write_bytes(RECORDED)
    assert read(path)[0].names == (str(path),)


def survives(data: bytes) -> None:
    """Whatever the bytes, they are a table with all columns, or a ParseError."""
    for strict in (True, False):
        with contextlib.suppress(ParseError):
            records, _ = parse(data, "x", strict=strict)
            found = parse_packets(records, [], FLOWS, None)
            assert found.schema == TABLE.schema
            assert found.height == len(records)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_table_or_a_parse_error(data: bytes) -> None:
    survives(data)
    survives(RECORDED[:HEADER_BYTES] + data)


@given(st.integers(0, len(FEW_TCP)))
def test_a_capture_cut_anywhere_is_a_table_or_a_parse_error(size: int) -> None:
    survives(FEW_TCP[:size])


@given(
    st.sampled_from([FEW_TCP, FEW_SCTP]),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)),
             min_size=1, max_size=30),
)  # fmt: skip
def test_a_damaged_capture_is_a_table_or_a_parse_error(
    data: bytes, changes: list[tuple[float, bytes]]
) -> None:
    damaged = bytearray(data)
    for place, content in changes:
        offset = int(place * len(damaged))
        damaged[offset : offset + len(content)] = content
    survives(bytes(damaged[: len(data)]))


@given(st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=120)), max_size=12))
def test_damaged_packets_leave_the_others_as_they_are(
    changes: list[tuple[int, bytes]],
) -> None:
    """What lies after the IP header of some packets is anything; the file itself is sound."""
    packets = records_of(FEW_SCTP)
    for number, content in changes:
        seconds, ns, wire, whole = packets[number % len(packets)]
        start = SLL2_BYTES + 20
        changed = (whole[:start] + content + whole[start + len(content) :])[: len(whole)]
        packets[number % len(packets)] = (seconds, ns, wire, changed)
    found = table(written(packets))
    assert found["ip_bytes"].to_list() == table(FEW_SCTP)["ip_bytes"].to_list()


def test_records_are_frozen() -> None:
    records, _ = parse(RECORDED, "x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        records.names = ()  # type: ignore[misc]
    assert isinstance(records, Records)
