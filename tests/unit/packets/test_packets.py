"""The packets table of a recorded cell: what was seen where, and of which flow."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from collectors.packets import columns
from collectors.packets.checksum import crc32c, ends_in_zeros
from collectors.packets.ipv4 import parse_ipv4, parse_link
from collectors.packets.journey import identities
from collectors.packets.packets import POINTS, Tap, parse_packets
from collectors.packets.sequence import UNKNOWN, bases, repeated, unwrapped
from collectors.raw.pcap import parse
from collectors.tables import packet_evidence
from model.cell import Cell, from_dict
from model.errors import ParseError
from tests.support.recorded import DATA, put, value
from tests.unit.packets.test_pcap import records_of, written

FOLDER = DATA / "lab-cell-7.3"
CELL: Cell = from_dict(value("lab-cell-7.3/cell.json"))
BUNDLING = (DATA / "tshark-4.0" / "sctp-bundling.pcap").read_bytes()


@pytest.fixture(scope="module")
def packets() -> pl.DataFrame:
    found = packet_evidence.packets(FOLDER, CELL)
    assert found is not None
    return found


def journey(packets: pl.DataFrame, number: int) -> dict[str, float]:
    seen = packets.filter(packet=number)
    return dict(zip(seen["point"], seen["t_s"].round(6), strict=True))


def test_a_cell_without_captures_has_no_packets() -> None:
    collect = dataclasses.replace(CELL.collect, pcap=False)
    assert packet_evidence.packets(FOLDER, dataclasses.replace(CELL, collect=collect)) is None


def test_counts_at_every_point(packets: pl.DataFrame) -> None:
    counted = packets.group_by("flow", "direction", "point").len()
    found = {(f, d, p): count for f, d, p, count in counted.iter_rows()}
    assert found == {
        **{("T", "data", point): 32 for point in POINTS[:3]},
        **{("T", "data", point): 27 for point in POINTS[3:]},
        ("T", "ack", "sent"): 26,
        ("T", "ack", "delivered"): 25,
        **{("S", "data", point): 10 for point in POINTS[:3]},
        **{("S", "data", point): 8 for point in POINTS[3:]},
        ("S", "ack", "sent"): 7,
        ("S", "ack", "delivered"): 7,
    }


def test_a_packet_is_followed_from_host_to_host(packets: pl.DataFrame) -> None:
    # 1488 bytes: 2 ms + 1.190 ms at 10 Mbit/s; 3.968 ms at 3 Mbit/s, 250 ms; 2 ms + 1.190 ms.
    assert journey(packets, 5) == {
        "sent": 0.508413,
        "queue_offered": 0.511635,
        "loss_offered": 0.515603,
        "loss_passed": 0.765603,
        "delivered": 0.768794,
    }


def test_a_lost_packet_is_last_seen_before_the_loss_model(packets: pl.DataFrame) -> None:
    assert list(journey(packets, 6)) == ["sent", "queue_offered", "loss_offered"]


def test_rows_are_in_order_of_time_and_columns_those_of_the_schema(packets: pl.DataFrame) -> None:
    assert packets["t_s"].is_sorted()
    assert dict(packets.schema) == columns.COLUMNS


def test_routers_take_one_hop_each_and_change_nothing_else(packets: pl.DataFrame) -> None:
    hops = packets.filter(direction="data").group_by("point").agg(pl.col("ttl").unique())
    assert dict(hops.iter_rows()) == {
        "sent": [64], "queue_offered": [64], "loss_offered": [63], "loss_passed": [63],
        "delivered": [62],
    }  # fmt: skip
    same = ("flow", "ip_bytes", "payload_bytes", "seq", "ack", "tsn", "retransmission")
    assert packets.group_by("packet").agg(pl.col(same).n_unique()).select(same).max().row(0) == (
        1,
    ) * len(same)


def test_retransmissions_are_known_by_first_sight_where_they_were_sent(
    packets: pl.DataFrame,
) -> None:
    again = packets.filter(pl.col("retransmission"), point="sent")
    assert again.filter(flow="T")["seq"].to_list() == [1449, 7241, 7241, 15929, 26065]
    assert again.filter(flow="S")["tsn"].to_list() == [0, 1]
    # A packet that repeats does so wherever it is seen, and what carries nothing repeats nothing.
    assert packets.filter(pl.col("retransmission"), point="delivered", flow="T").height == 4
    bare = packets.filter(payload_bytes=0, direction="ack", protocol="tcp", tcp_flags=16)
    assert bare["retransmission"].null_count() == bare.height > 0


def test_the_association_s_numbers_begin_with_its_first_chunk(packets: pl.DataFrame) -> None:
    acks = packets.filter(flow="S", direction="ack", point="delivered")
    shown = acks.select("chunk_types", "cum_tsn_ack", "gap_blocks", "a_rwnd_bytes").rows()
    assert shown == [
        ("INIT_ACK", None, None, 65536),
        ("COOKIE_ACK", None, None, None),
        ("SACK", -1, [{"start": 2, "end": 2}], 64088),
        ("SACK", -1, [{"start": 2, "end": 3}], 62640),
        ("SACK", 0, [{"start": 2, "end": 3}], 61192),
        ("SACK", 3, [], 61192),
        ("SHUTDOWN_ACK", None, None, None),
    ]


def test_checksums_are_checked_where_the_whole_packet_is_there(packets: pl.DataFrame) -> None:
    assert packets["ip_checksum_ok"].all()
    data = packets.filter(pl.col("payload_bytes") > 0)
    assert data["checksum_ok"].null_count() == data.height > 0
    assert packets.filter(payload_bytes=0, direction="ack", protocol="tcp")["checksum_ok"].all()


def test_a_wrong_bit_is_a_wrong_checksum() -> None:
    good = parse_packets(parse(BUNDLING, "x")[0], [], CELL.flows, None)
    assert good["checksum_ok"].all()
    for at, column in ((20 + 8, "ip_checksum_ok"), (20 + 20 + 30, "checksum_ok")):
        packets = records_of(BUNDLING)
        seconds, ns, wire, content = packets[5]
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        packets[5] = (seconds, ns, wire, changed)
        found = parse_packets(parse(written(packets), "x")[0], [], CELL.flows, None)
        assert found[column].to_list() == [place != 5 for place in range(60)]


def test_a_packet_that_is_marked_on_its_way_stays_the_same_packet() -> None:
    records = parse(BUNDLING, "x")[0]
    plain = identities(records.octets, parse_ipv4(records, parse_link(records)))
    packets = records_of(BUNDLING)
    for flipped, is_same in ((0b11, True), (0b100, False)):  # ECN's two bits, and one of DSCP's
        seconds, ns, wire, content = packets[5]
        changed = content[:21] + bytes([content[21] ^ flipped]) + content[22:]
        other = parse(written([*packets[:5], (seconds, ns, wire, changed)]), "x")[0]
        found = identities(other.octets, parse_ipv4(other, parse_link(other)))
        assert (int(found[5]) == int(plain[5])) is is_same


def test_the_check_value_of_crc32c() -> None:
    # The "check" of CRC-32/ISCSI in every catalogue; and a row of a length no multiple of four.
    digits = np.frombuffer(b"123456789", np.uint8).reshape(1, 9)
    assert int(crc32c(digits)[0]) == 0xE3069283


def test_a_checksum_tells_whether_zeros_were_cut_off() -> None:
    # Packets of three lengths, cut at different places; only where zeros alone are left out.
    lengths, kept, last_bytes = (1476, 1476, 61, 1476, 11), (140, 200, 33, 140, 9), (0, 0, 0, 1, 0)
    octets, starts = bytearray(), []
    for length, cut, last in zip(lengths, kept, last_bytes, strict=True):
        packet = bytearray(range(1, cut + 1)) + bytes(length - cut)
        packet[-1] = last
        packet[8:12] = bytes(4)
        whole = np.frombuffer(bytes(packet), np.uint8).reshape(1, -1)
        packet[8:12] = int(crc32c(whole)[0]).to_bytes(4, "little")
        starts.append(len(octets))
        octets += packet[:cut]
    found = ends_in_zeros(
        np.frombuffer(bytes(octets) + bytes(256), np.uint8),
        np.array(starts), np.array(kept), np.array(lengths),
    )  # fmt: skip
    assert found.tolist() == [True, True, True, False, False]


def test_chunks_cut_off_are_unknown() -> None:
    packets = [(s, ns, wire, content[:160]) for s, ns, wire, content in records_of(BUNDLING)]
    found = parse_packets(parse(written(packets), "x")[0], [], CELL.flows, None)
    bundled = found.row(5, named=True)
    assert bundled["tsn"] == 1
    for column in ("payload_bytes", "data_chunks", "data_chunk_count", "chunk_types"):
        assert bundled[column] is None
    assert found.row(4, named=True)["data_chunks"] == [
        {"tsn": 0, "stream": 0, "ssn": 0, "flags": 3, "payload_bytes": 300}
    ]


def test_numbers_are_followed_over_the_wrap() -> None:
    raw = np.array([0xFFFF_FFF0, 0x10, 0xFFFF_FFFF, 0x20, 7])
    lines = np.array([0, 0, 0, 0, 1])
    start = np.array([0xFFFF_FFE0] * 4 + [5])
    assert unwrapped(raw, lines, start).tolist() == [16, 48, 31, 64, 2]
    # More than 4 GiB, in steps below 2 GiB.
    steps = np.arange(6) * 0x6000_0000
    found = unwrapped(steps & 0xFFFF_FFFF, np.zeros(6, np.int64), np.zeros(6, np.int64))
    assert found.tolist() == steps.tolist()


def test_the_best_source_of_a_start_wins_and_its_first() -> None:
    syn = (np.array([1, 1]), np.array([500, 600]))
    seen = (np.array([0, 0, 1]), np.array([70, 80, 90]))
    assert bases(4, syn, seen).tolist() == [70, 500, UNKNOWN, UNKNOWN]


def test_a_range_repeats_if_it_starts_below_what_was_reached() -> None:
    starts = np.array([0, 10, 0, 5, 20, 10, 3])
    lengths = np.array([10, 10, 10, 10, 10, 0, 1])
    groups = np.array([0, 0, 1, 0, 0, 0, 1])
    again = [False, False, False, True, False, False, True]
    assert repeated(starts, lengths, groups).tolist() == again


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("pcap/r2.pcap", None, "r2.pcap: cannot read a capture"),
        ("pcap/r1.pcap", b"", "r1.pcap: not a capture: the file is empty"),
        ("pcap/points.json", b"{}", "points.json: not what the lab writes"),
        ("pcap/points.json", b'{"taps": [{"point": "x"}]}', "points.json: not what the lab writes"),
        ("epoch.json", b'{"epoch_ns": 1}', "epoch.json: not what the lab writes"),
    ],
)
def test_a_broken_raw_file_is_named(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    shutil.copytree(FOLDER / "raw", tmp_path / "raw")
    put(tmp_path / "raw" / name, content)
    with pytest.raises(ParseError, match=message):
        packet_evidence.packets(tmp_path, CELL)


def test_taps_name_only_points_there_are() -> None:
    points = json.loads((FOLDER / "raw" / "pcap" / "points.json").read_text())
    taps = [Tap.of(entry) for entry in points["taps"]]
    assert len(taps) == 2 * 3 + 2 + 2 * 2
    assert {tap.point for tap in taps} == set(POINTS)
