"""A recorded cell, exported: what the files hold."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl

from collectors.raw.pcap import PADDING_BYTES, merged
from collectors.raw.pcap import read as read_pcap
from model import run_folder
from testbed.campaign.run_cell import finish
from testbed.command import wireshark
from tests.support.exported_cell import (
    captured,
    cell_folder,
    packets,
    traced,
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
        "Every packet at every point where it was captured, as it was captured.",
        "The interface says where, a comment what happened to it.",
        "Time zero of the experiment: 1767225604.000000000 s since 1970 (2026-01-01 00:00:04 UTC).",
        "At most 160 bytes of each packet were kept.",
        "Flows:",
        "  T: TCP, src1 to dst1, port 5001",
        "  S: SCTP, src2 to dst2, port 5002",
    ]


def test_interfaces_are_named_in_the_order_in_which_data_pass(exported: Path) -> None:
    found = captured(exported)
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
    found = captured(exported).packets
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
        for row, packet in enumerate(captured(exported).packets)
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


def test_the_senders_view_has_what_senders_have(exported: Path) -> None:
    data = view(exported).read_bytes()
    table = packets(exported)
    sent = (pl.col("point") == "sent") & (pl.col("direction") == "data")
    heard = (pl.col("point") == "delivered") & (pl.col("direction") == "ack")
    wanted = table.filter(sent | heard)["ip_id"].to_list()
    at, found = 24, []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        found.append(struct.unpack_from(">H", data, at + 16 + 4)[0])
        at += 16 + length
    assert found == wanted
    assert len(found) == 74


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
        "flow": "T", "episode": 0, "basis": "captures", "detected_s": packets(run)["t_s"][first],
        "detected_by": "dupacks", "dupacks": 12, "recovered_s": 2.06,
    }  # fmt: skip
    pl.DataFrame([entry]).write_parquet(cell_folder(run) / run_folder.EPISODES_TABLE)
    finish(cell_folder(run))
    wireshark.command(str(run), [])
    told = captured(run).packets
    assert "on the 12th duplicate acknowledgement" in told[first]["comment"]
    (end,) = (packet for packet in told if "(loss episode 0)" in packet["comment"])
    assert end["t_ns"] - 1_767_225_604_000_000_000 >= 2.06e9
