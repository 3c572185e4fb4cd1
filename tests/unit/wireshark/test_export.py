"""A recorded cell, exported: what the files hold, what real readers say of them, what fails."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.raw.pcap import PADDING_BYTES, merged
from collectors.raw.pcap import read as read_pcap
from model import run_folder
from model.cell import cell_id, cell_json
from reports.wireshark.profile import FILES, PROFILE, SOURCE, install_profile
from testbed.campaign import digests
from testbed.campaign.run_cell import finish
from testbed.command import wireshark
from testbed.command.cli import command_status
from tests.support.exported_cell import export_recorded, make_run, plan_cells, recorded_cell
from tests.support.pcapng_reader import Capture, read
from tests.support.recorded import DATA

pytestmark = pytest.mark.unit

RECORDINGS = DATA / "wireshark-export"
VERSIONS = ("4.0", "4.4")
STEM = "wireless-loss_frac-0.01-seed-2-"
#: What Wireshark notes where one packet is seen at several points, and nothing else.
NOTES = (
    "This frame is a (suspected)", "Duplicate ACK", "Retransmitted TSN", "Connection ",
    "This frame initiates the connection closing", "This frame undergoes the connection closing",
    "TCP keep-alive segment",
)  # fmt: skip
ERROR_SEVERITY = 8_388_608
Status = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder whose captures were exported."""
    run = tmp_path_factory.mktemp("run")
    make_run(run)
    wireshark.command(str(run), [])
    return run


@pytest.fixture
def run(exported: Path, tmp_path: Path) -> Path:
    """Return a copy of the run folder, not exported yet."""
    copy = tmp_path / "run"
    shutil.copytree(exported, copy)
    shutil.rmtree(copy / run_folder.PCAP)
    return copy


@pytest.fixture
def status(capsys: pytest.CaptureFixture[str]) -> Status:
    """Return what runs the command: exit status, and all it said, on one line."""

    def ask(*words: str | Path) -> tuple[int, str]:
        capsys.readouterr()
        found = command_status(["wireshark", *map(str, words)])
        said = capsys.readouterr()
        return found, " ".join((said.out + said.err).split())

    return ask


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def traced(run: Path) -> Path:
    return only(run / run_folder.PCAP, "*.pcapng")


def view(run: Path) -> Path:
    return only(run / run_folder.PCAP, "*-senders.pcap")


def cell_folder(run: Path) -> Path:
    return only(run / "cells", "*")


def packets(run: Path) -> pl.DataFrame:
    return pl.read_parquet(cell_folder(run) / run_folder.PACKETS_TABLE)


def captured(run: Path) -> Capture:
    return read(traced(run).read_bytes())


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


# What real readers made of these very bytes.


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


# What is refused, and how.


def test_a_run_without_captures_is_told_how_to_have_them(run: Path, status: Status) -> None:
    cell = recorded_cell()
    plan_cells(
        run, [dataclasses.replace(cell, collect=dataclasses.replace(cell.collect, pcap=False))]
    )
    found, said = status(run)
    assert found == 2
    assert "no captures (packets are captured on request: groundtruth run STUDY --pcap)" in said


def test_cells_are_named_by_the_beginning_of_their_id(run: Path, status: Status) -> None:
    assert status(run, "--cell", "zz")[0] == 2
    assert "'', which no captured cells begin with" in status(run, "--cell", "")[1]
    assert not (run / run_folder.PCAP).exists()


def test_usage(status: Status) -> None:
    assert status()[0] == 2
    assert status("--force")[0] == 2
    assert "goes with --install-profile" in status("results", "--force")[1]
    assert "--install-profile" in status("--help")[1]
    assert status("no/such/run")[0] == 2


def another_cell(run: Path) -> None:
    """Add a second cell: the same with another seed, measured just like the first."""
    cell = dataclasses.replace(recorded_cell(), seed=3)
    folder = run / "cells" / cell_id(cell)
    shutil.copytree(cell_folder(run), folder)
    (folder / run_folder.CELL).write_text(cell_json(cell))
    finish(folder)
    plan_cells(run, [recorded_cell(), cell])


def test_a_damaged_capture_is_named_with_the_byte_and_other_cells_are_exported(
    run: Path, status: Status
) -> None:
    damaged = cell_folder(run) / "raw" / "pcap" / "r1.pcap"
    another_cell(run)
    data = damaged.read_bytes()
    damaged.write_bytes(data[:-3])
    found, said = status(run)
    assert found == 3
    assert "1 of 2 cells could not be exported" in said
    assert "r1.pcap: byte 2" in said
    assert "cut short in packet" in said
    assert len(list((run / run_folder.PCAP).iterdir())) == 2
    assert "-seed-3-" in traced(run).name


def test_a_changed_or_missing_file_is_named(run: Path, status: Status) -> None:
    folder = cell_folder(run)
    capture = folder / "raw" / "pcap" / "r2.pcap"
    data = bytearray(capture.read_bytes())
    data[-1] ^= 1
    capture.write_bytes(data)
    found, said = status(run)
    assert found == 3
    assert "changed since the run: got raw/pcap/r2.pcap" in said
    capture.unlink()
    assert "r2.pcap" in status(run)[1]
    assert not (run / run_folder.PCAP).exists()


def test_an_unfinished_cell_is_named(run: Path, status: Status) -> None:
    (cell_folder(run) / run_folder.DONE).unlink()
    found, said = status(run)
    assert found == 3
    assert "the cell is not finished" in said
    assert not (run / run_folder.PCAP).exists()


def test_tables_of_other_packets_are_refused(run: Path, status: Status) -> None:
    path = cell_folder(run) / run_folder.PACKETS_TABLE
    whole = pl.read_parquet(path)
    shorter = whole.head(100)
    later = whole.with_columns(
        pl.col("t_s") + pl.when(pl.col("packet") == 3).then(0.1).otherwise(0)
    )
    for table, wanted in ((shorter, "wanted 100 packets, got 261"), (later, "differ at packet ")):
        table.write_parquet(path)
        finish(cell_folder(run))
        assert wanted in status(run)[1]
    path.write_bytes(b"no table")
    finish(cell_folder(run))
    assert "not a Parquet table" in status(run)[1]
    assert not (run / run_folder.PCAP).exists()


def test_a_full_disk_leaves_nothing_half_written(
    run: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("model.plain_files.os.fsync", full)
    found, said = status(run)
    assert found == 3
    assert "No space left on device" in said
    assert list((run / run_folder.PCAP).iterdir()) == []


def test_the_profile_is_installed_and_a_changed_one_is_kept(
    tmp_path: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    target = tmp_path / "wireshark" / "profiles" / PROFILE
    assert status("--install-profile") == (0, f"profile: {target}")
    assert {path.name for path in target.iterdir()} == set(FILES)
    (target / "recent").write_text("Wireshark's own")
    assert status("--install-profile")[0] == 0
    (target / "colorfilters").write_text("mine")
    (target / "preferences").unlink()
    found, said = status("--install-profile")
    assert found == 2
    assert "colorfilters (--force overwrites it)" in said
    assert not (target / "preferences").exists()
    assert status("--install-profile", "--force")[0] == 0
    assert {name: (target / name).read_bytes() for name in FILES} == {
        name: (SOURCE / name).read_bytes() for name in FILES
    }
    assert (target / "recent").exists()


def test_without_xdg_the_profile_goes_below_the_home_folder(
    tmp_path: Path, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert status("--install-profile")[0] == 0
    assert (tmp_path / ".config" / "wireshark" / "profiles" / PROFILE / "preferences").is_file()
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="cannot install the profile"):
        install_profile(tmp_path / "file", force=False)


def test_nothing_of_a_finished_cell_is_touched(exported: Path) -> None:
    folder = cell_folder(exported)
    assert digests.differences(digests.read_done(folder), digests.of_cell(folder)) == []
