"""What tshark, capinfos and tcptrace made of the very bytes that are exported."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reports.wireshark.profile import SOURCE
from reports.wireshark.story import MISJUDGED
from tests.support.exported_cell import (
    captured,
    captured_everywhere,
    export_recorded,
    misplaced,
    packets,
    seen_by_senders,
)
from tests.support.pcapng_reader import Capture
from tests.support.recorded import DATA

RECORDINGS = DATA / "wireshark-export"
VERSIONS = ("4.0", "4.4")
#: What Wireshark notes of packets that are there once each, and nothing else.
NOTES = (
    "This frame is a (suspected)", "Duplicate ACK", "Retransmitted TSN", "Connection ",
    "This frame initiates the connection closing", "This frame undergoes the connection closing",
)  # fmt: skip
#: Where it meets a packet at several points it takes some for these, too.
NOTES_EVERYWHERE = (*NOTES, "TCP keep-alive segment")
ERROR_SEVERITY = 8_388_608


Rows = Callable[[Path], pl.DataFrame]
Read = Callable[[Path], Capture]


def recorded(version: str, name: str) -> str:
    return (RECORDINGS / version / name).read_text()


def fields(version: str, name: str = "fields.tsv") -> Iterator[dict[str, str]]:
    header, *lines = recorded(version, name).splitlines()
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
@pytest.mark.parametrize(
    ("name", "notes"), [("fields.tsv", NOTES), ("everywhere.tsv", NOTES_EVERYWHERE)]
)
def test_tshark_has_no_complaint(version: str, name: str, notes: tuple[str, ...]) -> None:
    assert recorded(version, "stderr.txt") == ""
    for shown in fields(version, name):
        assert shown["_ws.malformed"] == ""
        severities = [int(part) for part in shown["_ws.expert.severity"].split("|") if part]
        assert all(severity < ERROR_SEVERITY for severity in severities)
        messages = [part for part in shown["_ws.expert.message"].split("|") if part]
        said = [part for part in messages if not shown["frame.comment"].startswith(part)]
        assert [part for part in said if not part.startswith(notes)] == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "rows", "read"),
    [
        ("fields.tsv", seen_by_senders, captured),
        ("everywhere.tsv", packets, captured_everywhere),
    ],
)
def test_tshark_reads_what_the_table_says(
    exported: Path, version: str, name: str, rows: Rows, read: Read
) -> None:
    table, ours = rows(exported), read(exported)
    for row, shown in enumerate(fields(version, name)):
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


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("field", "column"), [("data_tsn", "tsn"), ("sack_cumulative_tsn_ack", "cum_tsn_ack")]
)
def test_tshark_shows_tsns_as_the_table_has_them(
    exported: Path, version: str, field: str, column: str
) -> None:
    # Before the first chunk arrives the cumulative TSN is the one before it, modulo 2 to the 32.
    chunks = pl.col("chunk_types").is_in(["DATA", "SACK"])
    read = seen_by_senders(exported).select(pl.when(chunks).then(pl.col(column)))
    numbers = read.to_series().to_list()
    wanted = ["" if one is None else str(one % (1 << 32)) for one in numbers]
    assert [shown[f"sctp.{field}"] for shown in fields(version)] == wanted
    assert any(wanted)


def true_of(version: str, *names: str) -> list[bool]:
    """Return of each packet for Wireshark whether tshark says any of these of it."""
    return [any(shown[name] for name in names) for shown in fields(version)]


@pytest.mark.parametrize("version", VERSIONS)
def test_tshark_finds_the_retransmissions_that_happened_and_no_other(
    exported: Path, version: str
) -> None:
    found = true_of(
        version, "tcp.analysis.retransmission", "tcp.analysis.spurious_retransmission",
        "tcp.analysis.out_of_order", "sctp.retransmission",
    )  # fmt: skip
    again = seen_by_senders(exported)["retransmission"].fill_null(value=False).to_list()
    assert found == again
    assert sum(again) == 7
    told = [packet["comment"] for packet in captured(exported).packets]
    assert ["retransmi" in text for text in told] == again


@pytest.mark.parametrize("version", VERSIONS)
def test_tshark_finds_nothing_out_of_order_and_nothing_missing(version: str) -> None:
    assert not any(true_of(version, "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment"))
    # Nothing came out of order. Where version 4.0 says so of a retransmission, the comment objects.
    wrong = true_of(version, "tcp.analysis.out_of_order")
    if version == "4.0":
        assert wrong == [MISJUDGED in shown["frame.comment"] for shown in fields(version)]
    assert sum(wrong) == {"4.0": 2, "4.4": 0}[version]


@pytest.mark.parametrize(
    ("version", "name"),
    # With every capture point version 4.0 shows no TSN: chunks are cut off there.
    [("4.0", "fields.tsv"), ("4.4", "fields.tsv"), ("4.4", "everywhere.tsv")],
)
def test_every_comment_is_beside_its_packet(version: str, name: str) -> None:
    numbered = [shown for shown in fields(version, name) if " (" in shown["frame.comment"]]
    assert [part for shown in numbered for part in misplaced(shown)] == []
    assert len(numbered) > 30


@pytest.mark.parametrize("version", VERSIONS)
def test_tshark_counts_the_duplicates_that_the_comments_count(version: str) -> None:
    asks = [
        "duplicate acknowledgement, asks" in shown["frame.comment"] for shown in fields(version)
    ]
    assert true_of(version, "tcp.analysis.duplicate_ack") == asks
    assert sum(asks) == 12


@pytest.mark.parametrize("version", VERSIONS)
def test_interfaces_and_counts_as_capinfos_has_them(exported: Path, version: str) -> None:
    text = recorded(version, "capinfos.txt")
    found = captured_everywhere(exported)
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
    lines = [line.split("\t") for line in recorded(version, "filters.tsv").splitlines()]
    found = {name: int(count) for name, count, _ in lines}
    everywhere = {name: int(count) for name, _, count in lines}
    assert found["Story"] == sum(map(bool, told))
    assert found["Dropped"] == sum(
        any(part.startswith("dropped") for part in text.split("; ")) for text in told
    )
    assert found["Retransmissions"] == sum("retransmi" in text for text in told)
    assert found["Wireshark's retransmissions"] == found["Retransmissions"]
    assert found["New data"] == sum("new data on" in text for text in told)
    sending = seen_by_senders(exported).filter(pl.col("payload_bytes") > 0, protocol="tcp")
    assert found["TCP data sent"] == len(sending)
    assert found["SCTP data sent"] == seen_by_senders(exported)["tsn"].is_not_null().sum()
    assert found["Reports of loss"] == found["Duplicate acknowledgements"]
    assert found["Where//Senders"] == len(told)
    ends = everywhere["Where//Senders"] + everywhere["Where//Receivers"]
    assert ends == at["sent"] + at["delivered"]
    assert everywhere["Where//Before the queue"] == at["queue_offered"]
    assert everywhere["Where//After the queue"] == at["loss_offered"]
    assert everywhere["Where//After loss and delay"] == at["loss_passed"]
    buttons = (SOURCE / "dfilter_buttons").read_text() + (SOURCE / "io_graphs").read_text()
    assert sum(line.startswith('"') for line in buttons.splitlines()) == len(lines)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_profiles_colours_and_columns_are_used(exported: Path, version: str) -> None:
    told = [packet["comment"] for packet in captured(exported).packets]
    colours = recorded(version, "colours.txt").splitlines()
    for text, colour in zip(told, colours, strict=True):
        if "; dropped" in text or text.startswith(("dropped", "not seen")):
            assert colour == "Dropped"
        elif "after timeout" in text:
            assert colour == "Retransmission after timeout"
        elif "retransmi" in text:
            assert colour == "Retransmission"
    lines = recorded(version, "columns.txt").splitlines()
    (lost,) = (line for line in lines if "dropped by the loss model: segment 2 (seq 1449)" in line)
    assert "src1 sends (r1-src1)" in lost
    assert " 1449 1 " in lost  # sequence number and acknowledgement
    (sack,) = (line for line in lines if "reports chunk 1 (TSN 0) missing for the 2nd time" in line)
    assert " 2 3 62640 " in sack  # what is reported beyond it, and the window


def test_tcptrace_reads_the_senders_view(exported: Path) -> None:
    text = " ".join(recorded("4.0", "tcptrace.txt").split())
    table = packets(exported).filter(point="sent", direction="data", protocol="tcp")
    again = table.filter(pl.col("payload_bytes") > 0, retransmission=True)
    assert "74 packets seen, 57 TCP packets traced" in text
    assert "complete conn: yes" in text
    assert f"rexmt data pkts: {len(again)} " in text
    assert f"actual data bytes: {table['payload_bytes'].sum()} " in text
