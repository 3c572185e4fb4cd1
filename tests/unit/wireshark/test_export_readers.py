"""What tshark, capinfos and tcptrace made of the very bytes that are exported."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reports.wireshark.profile import SOURCE
from tests.support.exported_cell import (
    captured,
    export_recorded,
    packets,
)
from tests.support.recorded import DATA

RECORDINGS = DATA / "wireshark-export"
VERSIONS = ("4.0", "4.4")
#: What Wireshark notes where one packet is seen at several points, and nothing else.
NOTES = (
    "This frame is a (suspected)", "Duplicate ACK", "Retransmitted TSN", "Connection ",
    "This frame initiates the connection closing", "This frame undergoes the connection closing",
    "TCP keep-alive segment",
)  # fmt: skip
ERROR_SEVERITY = 8_388_608


def recorded(version: str, name: str) -> str:
    return (RECORDINGS / version / name).read_text()


def fields(version: str) -> Iterator[dict[str, str]]:
    header, *lines = recorded(version, "fields.tsv").splitlines()
    for line in lines:
        yield dict(zip(header.split("\t"), line.split("\t"), strict=True))


def sha256(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_recordings_are_of_these_files(run: Path, version: str) -> None:
    # If this fails after a change that is meant: record again, see the README there.
    profile = [
        SOURCE / name for name in ("preferences", "colorfilters", "dfilter_buttons", "io_graphs")
    ]
    words, *found = recorded(version, "of.txt").splitlines()
    assert f" {version}." in words
    made = export_recorded(run)
    assert found == [*map(sha256, made), sha256(*profile)]


@pytest.mark.parametrize("version", VERSIONS)
def test_tshark_has_no_complaint(version: str) -> None:
    assert recorded(version, "stderr.txt") == ""
    for shown in fields(version):
        assert shown["_ws.malformed"] == ""
        severities = [int(part) for part in shown["_ws.expert.severity"].split("|") if part]
        assert all(severity < ERROR_SEVERITY for severity in severities)
        messages = [part for part in shown["_ws.expert.message"].split("|") if part]
        assert all(part.startswith(NOTES) or part == shown["frame.comment"] for part in messages)


@pytest.mark.parametrize("version", VERSIONS)
def test_tshark_reads_what_the_table_says(exported: Path, version: str) -> None:
    table, ours = packets(exported), captured(exported)
    for row, shown in enumerate(fields(version)):
        packet, entry = ours.packets[row], table.row(row, named=True)
        seconds, nanoseconds = divmod(packet["t_ns"], 10**9)
        wanted: dict[str, Any] = {
            "frame.number": str(row + 1),
            "frame.time_epoch": f"{seconds}.{nanoseconds:09d}",
            "frame.interface_name": ours.interfaces[packet["interface"]]["options"][2].decode(),
            "frame.cap_len": str(len(packet["data"])),
            "frame.comment": packet["comment"],
            "ip.len": str(entry["ip_bytes"]),
            "ip.proto": {"tcp": "6", "sctp": "132"}[entry["protocol"]],
            "tcp.seq": "" if entry["seq"] is None else str(entry["seq"]),
        }
        assert {name: shown[name] for name in wanted} == wanted
        assert int(shown["ip.id"], 16) == entry["ip_id"]
    assert row + 1 == len(table) == len(ours.packets)


def test_a_present_tshark_shows_tsns_though_data_are_cut_off(exported: Path) -> None:
    tsns = [number for number in packets(exported)["tsn"].to_list() if number is not None]
    assert [
        int(shown["sctp.data_tsn"]) for shown in fields("4.4") if shown["sctp.data_tsn"]
    ] == tsns
    assert len(tsns) == 26


@pytest.mark.parametrize("version", VERSIONS)
def test_interfaces_and_counts_as_capinfos_has_them(exported: Path, version: str) -> None:
    text = recorded(version, "capinfos.txt")
    found = captured(exported)
    counts = [0] * len(found.interfaces)
    for packet in found.packets:
        counts[packet["interface"]] += 1
    assert [
        int(line.split("=")[1]) for line in text.splitlines() if "Number of packets =" in line
    ] == counts
    for entry in found.interfaces:
        assert f"Name = {entry['options'][2].decode()}\n" in text
        assert f"Description = {entry['options'][3].decode()}\n" in text
    assert "Strict time order:   True" in text
    assert "(9)" in text.partition("File timestamp precision:")[2].splitlines()[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_filter_of_the_profile_finds_its_packets(exported: Path, version: str) -> None:
    told = [packet["comment"] for packet in captured(exported).packets]
    places = packets(exported).group_by("point").len()
    at = dict(places.iter_rows())
    pairs = [line.split("\t") for line in recorded(version, "filters.tsv").splitlines()]
    found = {name: int(count) for name, count in pairs}
    assert found["Story"] == sum(map(bool, told))
    assert found["Dropped"] == sum("dropped" in text and "sent again" not in text for text in told)
    assert found["Retransmissions"] == sum("retransmi" in text for text in told)
    assert found["Reports of loss"] == found["Duplicate acknowledgements"]
    assert found["Where//Senders"] + found["Where//Receivers"] == at["sent"] + at["delivered"]
    assert found["Where//Before the queue"] == at["queue_offered"]
    assert found["Where//After the queue"] == at["loss_offered"]
    assert found["Where//After loss and delay"] == at["loss_passed"]
    buttons = (SOURCE / "dfilter_buttons").read_text() + (SOURCE / "io_graphs").read_text()
    assert sum(line.startswith('"') for line in buttons.splitlines()) == len(pairs)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_profiles_colours_and_columns_are_used(exported: Path, version: str) -> None:
    told = [packet["comment"] for packet in captured(exported).packets]
    colours = recorded(version, "colours.txt").splitlines()
    for text, colour in zip(told, colours, strict=True):
        if text.startswith(("dropped", "not seen")):
            assert colour == "Dropped"
        elif "after timeout" in text:
            assert colour == "Retransmission after timeout"
        elif "retransmi" in text:
            assert colour == "Retransmission"
    lines = recorded(version, "columns.txt").splitlines()
    assert "after the queue (r1-bottleneck)" in lines[25]
    assert "dropped by the loss model: segment 2 (seq 1449)" in lines[25]
    assert "0.520274176" in lines[25]


def test_tcptrace_reads_the_senders_view(exported: Path) -> None:
    text = " ".join(recorded("4.0", "tcptrace.txt").split())
    table = packets(exported).filter(point="sent", direction="data", protocol="tcp")
    again = table.filter(pl.col("payload_bytes") > 0, retransmission=True)
    assert "74 packets seen, 57 TCP packets traced" in text
    assert "complete conn: yes" in text
    assert f"rexmt data pkts: {len(again)} " in text
    assert f"actual data bytes: {table['payload_bytes'].sum()} " in text
