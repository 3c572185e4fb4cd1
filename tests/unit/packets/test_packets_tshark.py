"""The packets table says of every recorded packet what tshark says of it, field by field."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from collectors.packets.packets import Tap, parse_packets
from collectors.raw.pcap import parse
from collectors.recording.tcpdump import LINK_HEADER_BYTES, SNAP_BYTES
from model.cell import Flow
from tests.support.recorded import DATA, wireless_cell

FOLDER = DATA / "tshark-4.0"
NAMES = ("tcp-sctp-loss", "sctp-bundling", "sctp-duplicates")
#: Whole from the first packet on; the other one leaves out what lies between.
WITHOUT_HOLES = NAMES[:2]
FLOWS: tuple[Flow, ...] = tuple(
    dataclasses.replace(flow, port=5001 + index) for index, flow in enumerate(wireless_cell().flows)
)
OUT = 4
TCP_COLUMNS = (
    "tcp_flags", "seq", "ack", "window_bytes", "mss_bytes", "window_scale", "sack_blocks",
    "dupack_count",
)  # fmt: skip
SCTP_COLUMNS = (
    "chunk_types", "data_chunk_count", "tsn", "data_chunks", "cum_tsn_ack", "gap_blocks",
    "duplicate_tsns", "a_rwnd_bytes",
)  # fmt: skip
MODULUS = 1 << 32
#: More chunks than any of the recordings has.
FEW = 10_000
DATA_CHUNK = 0
CHUNKS = {
    0: "DATA", 1: "INIT", 2: "INIT_ACK", 3: "SACK", 7: "SHUTDOWN", 8: "SHUTDOWN_ACK",
    10: "COOKIE_ECHO", 11: "COOKIE_ACK", 14: "SHUTDOWN_COMPLETE",
}  # fmt: skip
#: tshark's "checksum status".
CHECKED = {"0": False, "1": True, "2": None, "": None}


def dissected(name: str) -> list[dict[str, str]]:
    """Return tshark's fields of every packet."""
    lines = (FOLDER / f"{name}.tsv").read_text().splitlines()
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:]]


def parsed(name: str) -> list[dict[str, Any]]:
    """Return our rows: the sender's own interfaces, data in, acknowledgements out."""
    file = f"{name}.pcap"
    records, _ = parse((FOLDER / file).read_bytes(), file)
    taps = [
        Tap(
            file=file,
            ifindex=ifindex,
            outgoing=outgoing,
            point="delivered" if outgoing else "sent",
            direction="ack" if outgoing else "data",
        )
        for ifindex in (3, 4)
        for outgoing in (False, True)
    ]
    return parse_packets(records, taps, FLOWS, 0).to_dicts()


def numbers(text: str) -> list[int]:
    return [int(part, 0) for part in text.split(",") if part]


def number(text: str) -> int | None:
    return int(text, 0) if text else None


def expected_tcp(shown: dict[str, str]) -> dict[str, Any]:
    """Return what tshark says of a TCP segment, in our columns."""
    if not shown["tcp.seq"]:
        return dict.fromkeys(TCP_COLUMNS)
    acknowledges = int(shown["tcp.flags"], 16) & 0x10
    edges = zip(
        numbers(shown["tcp.options.sack_le"]), numbers(shown["tcp.options.sack_re"]), strict=True
    )
    return {
        "tcp_flags": number(shown["tcp.flags"]),
        "seq": number(shown["tcp.seq"]),
        "ack": number(shown["tcp.ack"]) if acknowledges else None,
        "window_bytes": number(shown["tcp.window_size"]),
        "mss_bytes": number(shown["tcp.options.mss_val"]),
        "window_scale": number(shown["tcp.options.wscale.shift"]),
        "sack_blocks": [{"start": start, "end": end} for start, end in edges],
        "payload_bytes": number(shown["tcp.len"]),
        "checksum_ok": CHECKED[shown["tcp.checksum.status"]],
    }


def expected_data(shown: dict[str, str]) -> list[dict[str, int]]:
    lengths = numbers(shown["sctp.chunk_length"])
    types = numbers(shown["sctp.chunk_type"])
    flags = numbers(shown["sctp.chunk_flags"])
    chunks = zip(types, flags, lengths, strict=True)
    marks = [(flag, length - 16) for kind, flag, length in chunks if kind == DATA_CHUNK]
    return [
        {"tsn": tsn, "stream": stream, "ssn": ssn, "flags": flag, "payload_bytes": size}
        for tsn, stream, ssn, (flag, size) in zip(
            numbers(shown["sctp.data_tsn"]),
            numbers(shown["sctp.data_sid"]),
            numbers(shown["sctp.data_ssn"]),
            marks,
            strict=True,
        )
    ]


def expected_sctp(shown: dict[str, str], initial_tsn: int) -> dict[str, Any]:
    """Return what tshark says of an SCTP packet, in our columns.

    It numbers chunks from the first DATA chunk it sees, and leaves numbers as they are where all
    of them are cut off; duplicates it always does.
    """

    def relative(tsn: int) -> int:
        return tsn if tsn < FEW else (tsn - initial_tsn) % MODULUS

    if not shown["sctp.chunk_type"]:
        # tshark says nothing of a chunk that is cut off; sctp-bundling has them whole.
        cut_off = int(shown["ip.proto"]) == 132
        assert not cut_off or int(shown["ip.len"]) > SNAP_BYTES - LINK_HEADER_BYTES
        return {} if cut_off else dict.fromkeys(SCTP_COLUMNS)
    chunks = expected_data(shown)
    sack = shown["sctp.sack_cumulative_tsn_ack"]
    cum = number(sack or shown["sctp.shutdown_cumulative_tsn_ack"])
    gaps = zip(
        numbers(shown["sctp.sack_gap_block_start_tsn"]),
        numbers(shown["sctp.sack_gap_block_end_tsn"]),
        strict=True,
    )
    windows = ("sctp.sack_a_rwnd", "sctp.init_credit", "sctp.initack_credit")
    names = dict.fromkeys(CHUNKS[kind] for kind in numbers(shown["sctp.chunk_type"]))
    return {
        "chunk_types": "+".join(names),
        "data_chunk_count": len(chunks),
        "data_chunks": chunks,
        "tsn": chunks[0]["tsn"] if chunks else None,
        "payload_bytes": sum(chunk["payload_bytes"] for chunk in chunks),
        "cum_tsn_ack": relative(cum) if cum is not None else None,
        "a_rwnd_bytes": next((int(shown[name]) for name in windows if shown[name]), None),
        "gap_blocks": [{"start": relative(start), "end": relative(end)} for start, end in gaps]
        if sack
        else None,
        "duplicate_tsns": [relative(tsn) for tsn in numbers(shown["sctp.sack_duplicate_tsn"])]
        if sack
        else None,
        "checksum_ok": CHECKED[shown["sctp.checksum.status"]],
    }


def expected(shown: dict[str, str], initial_tsn: int) -> dict[str, Any]:
    return {
        "direction": "ack" if int(shown["sll.pkttype"]) == OUT else "data",
        "t_s": pytest.approx(float(shown["frame.time_epoch"]), abs=1e-6),
        "protocol": {"6": "tcp", "132": "sctp"}[shown["ip.proto"]],
        "ip_bytes": number(shown["ip.len"]),
        "ttl": number(shown["ip.ttl"]),
        "ip_id": number(shown["ip.id"]),
        "ip_checksum_ok": CHECKED[shown["ip.checksum.status"]],
        **expected_sctp(shown, initial_tsn),
        **expected_tcp(shown),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_every_packet(name: str) -> None:
    theirs, ours = dissected(name), parsed(name)
    assert len(theirs) == len(ours) >= 60
    initial = next(int(s["sctp.init_initial_tsn"]) for s in theirs if s["sctp.init_initial_tsn"])
    for place, (shown, row) in enumerate(zip(theirs, ours, strict=True), start=1):
        wanted = expected(shown, initial)
        assert {key: row[key] for key in wanted} == wanted, f"packet {place}"


@pytest.mark.parametrize("name", WITHOUT_HOLES)
def test_retransmissions_are_those_tshark_marks(name: str) -> None:
    # At the sender nothing is out of order: what tshark calls so is a retransmission too.
    marks = (
        "tcp.analysis.retransmission",
        "tcp.analysis.fast_retransmission",
        "tcp.analysis.spurious_retransmission",
        "tcp.analysis.out_of_order",
        "sctp.retransmission",
    )
    theirs = [any(shown[mark] for mark in marks) for shown in dissected(name)]
    ours = [row["retransmission"] is True for row in parsed(name)]
    assert ours == theirs
    assert sum(ours) >= 2


def test_duplicate_acknowledgements_are_those_tshark_counts() -> None:
    shown = [s for s in dissected("tcp-sctp-loss") if s["tcp.seq"] and s["sll.pkttype"] == str(OUT)]
    theirs = [number(s["tcp.analysis.duplicate_ack_num"]) or 0 for s in shown]
    rows = [
        r for r in parsed("tcp-sctp-loss") if r["protocol"] == "tcp" and r["direction"] == "ack"
    ]
    assert [row["dupack_count"] or 0 for row in rows] == theirs
    assert max(theirs) >= 20


def test_the_recordings_show_what_they_are_for() -> None:
    rows = pl.DataFrame([row for name in NAMES for row in parsed(name)], infer_schema_length=None)
    assert rows["sack_blocks"].list.len().max() == 3
    assert rows["gap_blocks"].list.len().max() == 1
    assert rows["duplicate_tsns"].list.len().sum() == 4
    assert rows["data_chunk_count"].max() == 4
    assert set(rows["window_scale"].drop_nulls()) == {7}
