"""A recorded cell, exported: what the files hold."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest

from collectors.raw.pcap import PADDING_BYTES, merged
from collectors.raw.pcap import read as read_pcap
from model import run_folder
from model.run_files.loss_tables import EpisodeRow
from model.run_files.tables import schema
from reports.wireshark import cell_export
from reports.wireshark.expected_size import expected_bytes
from testbed.campaign.run_cell import finish
from testbed.command import wireshark
from tests.support.exported_cell import (
    captured,
    captured_everywhere,
    cell_folder,
    packets,
    seen_by_senders,
    traced,
    traced_everywhere,
    view,
)

STEM = "wireless-loss_frac-0.01-seed-2-"


def test_the_file_says_what_it_is(exported: Path) -> None:
    found = captured(exported)
    assert traced(exported).name == f"{STEM}{cell_folder(exported).name}.pcapng"
    assert found.section[4] == b"Groundtruth"
    assert found.section[1].decode().splitlines() == [
        f"wireless: loss_frac 1 %; seed 2; cell {cell_folder(exported).name}",
        "kernel 7.3.4-groundtruth, lab virtual",
        "Time zero of the experiment: 1767225604.000000000 s since 1970 (2026-01-01 00:00:04 UTC).",
        "At most 160 bytes of each packet were kept.",
        "Flows:",
        "  T: TCP, src1 to dst1, port 5001",
        "  S: SCTP, src2 to dst2, port 5002",
        *cell_export.VIEW,
        cell_export.FILLED,
    ]
    everywhere = captured_everywhere(exported).section[1].decode().splitlines()
    assert everywhere[-2:] == list(cell_export.POINTS)


def test_interfaces_are_named_in_the_order_in_which_data_pass(exported: Path) -> None:
    found = captured_everywhere(exported)
    names = [entry["options"][2].decode() for entry in captured(exported).interfaces]
    assert names == ["src1 sends (r1-src1)", "src2 sends (r1-src2)"]
    assert [entry["options"][2].decode() for entry in found.interfaces] == [
        "src1 sends (r1-src1)", "src2 sends (r1-src2)", "before the queue, from src1 (ifb-src1)",
        "before the queue, from src2 (ifb-src2)", "after the queue (r1-bottleneck)",
        "after loss and delay (ifb-bottleneck)", "dst1 receives (r2-dst1)",
        "dst2 receives (r2-dst2)",
    ]  # fmt: skip
    assert {(entry["linktype"], entry["snap_bytes"]) for entry in found.interfaces} == {(276, 160)}
    assert {entry["options"][9] for entry in found.interfaces} == {b"\x09"}


def test_every_packet_is_there_as_it_was_captured(exported: Path) -> None:
    folder = cell_folder(exported) / "raw" / "pcap"
    records = merged([read_pcap(folder / name)[0] for name in ("r1.pcap", "r2.pcap")])
    octets = records.octets.tobytes()
    bounds = zip(records.starts.tolist(), records.captured_bytes.tolist(), strict=True)
    found = captured_everywhere(exported).packets
    assert [packet["data"] for packet in found] == [octets[at : at + size] for at, size in bounds]
    assert [packet["t_ns"] for packet in found] == records.t_ns.tolist()
    assert [packet["wire_bytes"] for packet in found] == records.wire_bytes.tolist()
    assert len(octets) > PADDING_BYTES
    assert len(found) == 261


def test_each_drop_is_told_once_where_the_packet_was_seen_last(exported: Path) -> None:
    audit = pl.read_parquet(cell_folder(exported) / run_folder.AUDIT_TABLE)
    table = packets(exported)
    told = [
        (row, comment)
        for row, packet in enumerate(captured_everywhere(exported).packets)
        for comment in packet["comment"].split("; ")
        if comment.startswith("dropped")
    ]
    by_model = [row for row, comment in told if comment.startswith("dropped by the loss model: ")]
    assert len(by_model) == audit.filter(direction="data")["loss_dropped_pkts"].sum() == 7
    lost_acks = audit.filter(direction="ack").select("sent_pkts", "delivered_pkts").sum()
    ((sent_pkts, delivered_pkts),) = lost_acks.iter_rows()
    assert len(told) - len(by_model) == sent_pkts - delivered_pkts
    for row, _ in told:
        number = table["packet"][row]
        assert table["packet"].to_list().count(number) == 1 + table["packet"][:row].to_list().count(
            number
        )


def test_the_senders_view_has_each_packet_once_as_the_senders_have_it(exported: Path) -> None:
    data = view(exported).read_bytes()
    seen = seen_by_senders(exported)
    assert seen["packet"].is_unique().all()
    at, found = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        found.append(struct.unpack_from(">H", data, at + 16 + 4)[0])
        at += 16 + length
    assert found == seen["ip_id"].to_list()
    shown = captured(exported).packets
    assert [int.from_bytes(packet["data"][24:26], "big") for packet in shown] == found
    assert len(found) == 74


def test_each_packet_is_told_the_same_where_its_sender_has_it(exported: Path) -> None:
    rows = packets(exported).with_row_index("row").join(
        seen_by_senders(exported).select("packet", "point"), on=["packet", "point"], how="semi"
    )["row"].to_list()  # fmt: skip
    everywhere = captured_everywhere(exported).packets
    for row, packet in zip(rows, captured(exported).packets, strict=True):
        assert packet["comment"].startswith(everywhere[row]["comment"])
    lost = [packet["comment"] for packet in captured(exported).packets]
    lost = [text for text in lost if "; dropped by" in text or text.startswith("dropped by")]
    assert len(lost) == 7


def test_payload_of_zeros_that_was_cut_off_is_filled_in(exported: Path) -> None:
    table, shown = seen_by_senders(exported), captured(exported).packets
    carrying = 0
    for row, packet in zip(table.iter_rows(named=True), shown, strict=True):
        whole = len(packet["data"]) == packet["wire_bytes"]
        if row["protocol"] == "sctp" and row["tsn"] is not None:
            assert whole
            assert not any(packet["data"][160:])
            carrying += 1
        elif row["protocol"] == "tcp":
            assert len(packet["data"]) == min(packet["wire_bytes"], 160)
    assert carrying == 6
    assert all(len(packet["data"]) <= 160 for packet in captured_everywhere(exported).packets)


def test_what_will_be_written_is_said_first(
    run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    wireshark.command(str(run), [])
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("writes about ")
    assert first.endswith(" kB, of 1 cell")
    assert second.startswith(str(run))
    table, kept = cell_folder(run) / run_folder.PACKETS_TABLE, 160
    for all_points, files in (
        (False, [traced(run), view(run)]),
        (True, [traced(exported), view(exported), traced_everywhere(exported)]),
    ):
        written = sum(file.stat().st_size for file in files)
        assert expected_bytes(table, kept, all_points=all_points) == pytest.approx(written, rel=0.2)


def test_the_same_run_gives_the_same_bytes_and_replaces_what_was_there(
    run: Path, exported: Path
) -> None:
    (run / run_folder.PCAP).mkdir()
    (run / run_folder.PCAP / traced(exported).name).write_bytes(b"old")
    wireshark.command(str(run), [cell_folder(run).name[:6]])
    assert traced(run).read_bytes() == traced(exported).read_bytes()
    assert view(run).read_bytes() == view(exported).read_bytes()
    assert len(list((run / run_folder.PCAP).iterdir())) == 2


def test_loss_episodes_are_told_where_there_is_a_table(run: Path, exported: Path) -> None:
    first = next(
        row for row, packet in enumerate(captured(exported).packets)
        if "fast retransmit" in packet["comment"]
    )  # fmt: skip
    entry = {
        "flow": "T", "episode": 0, "basis": "captures", "detected_by": "dupacks", "dupacks": 12,
        "detected_s": seen_by_senders(run)["t_s"][first], "recovered_s": 2.06,
    }  # fmt: skip
    entry = dict.fromkeys(schema(EpisodeRow)) | entry
    pl.DataFrame([entry], schema=schema(EpisodeRow)).write_parquet(
        cell_folder(run) / run_folder.EPISODES_TABLE
    )
    finish(cell_folder(run))
    wireshark.command(str(run), [])
    told = captured(run).packets
    assert "on the 12th duplicate acknowledgement" in told[first]["comment"]
    (end,) = (packet for packet in told if "(loss episode 0)" in packet["comment"])
    assert end["t_ns"] - 1_767_225_604_000_000_000 >= 2.06e9
