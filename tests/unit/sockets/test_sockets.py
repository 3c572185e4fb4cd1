"""Sockets as the kernels of both labs told of them, and what is no answer of a kernel."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.recording.netlink import HEADER
from collectors.recording.socket_sampler import Source
from collectors.sockets.samples import Samples, parse_frames, parse_sources, read_samples
from collectors.sockets.sock_diag import INFO, MEMORY, sockets
from collectors.sockets.sockets import COLUMNS, SCTP_TIMER, sockets_table
from model.errors import ParseError
from tests.support.recorded import DATA, value, wireless_cell
from tests.support.recorded_sockets import DONE, EPOCH_NS, KERNELS, content, frame, message, samples

FLOWS = wireless_cell().flows
AT_12_S: dict[str, dict[str, Any]] = value("sockets-7.3/senders-at-12-s.json")
SOURCES = (Source(node="src1", what="tcp"), Source(node="src2", what="sctp"))


def table(kernel: str) -> pl.DataFrame:
    return sockets_table(samples(kernel), FLOWS, EPOCH_NS)


def made(*frames: bytes) -> pl.DataFrame:
    """Return the table of frames made by hand, from second 8 on."""
    answers = tuple(parse_frames(b"".join(frames), SOURCES, "s"))
    return sockets_table(Samples(tick_ns=10_000_000, answers=answers, where="s"), FLOWS, EPOCH_NS)


def row(rows: pl.DataFrame, flow: str, side: str, t_s: float) -> dict[str, Any]:
    (found,) = rows.filter(flow=flow, side=side, t_s=t_s).to_dicts()
    return {name: value for name, value in found.items() if value is not None}


@pytest.mark.parametrize("kernel", KERNELS)
def test_both_ends_of_both_flows_in_order_of_time(kernel: str) -> None:
    rows = table(kernel)
    assert rows.schema == COLUMNS
    assert rows["t_s"].is_sorted()
    assert rows["t_s"].unique(maintain_order=True).to_list() == [0, 2, 4, 6, 8, 10, 12]
    # At the start only the senders have sockets; the receivers' are not connected yet.
    ends = [("src1", "T", "sender"), ("src2", "S", "sender")]
    assert rows.filter(t_s=0.0).select("node", "flow", "side").rows() == ends
    ends += [("dst1", "T", "receiver"), ("dst2", "S", "receiver")]
    assert rows.filter(t_s=12.0).select("node", "flow", "side").rows() == ends


def test_a_tcp_sender() -> None:
    found = row(table("7.3"), "T", "sender", 12.0)
    assert found | AT_12_S["T"] == found
    # The kernel's own accounts add up: sent is acknowledged (the SYN too), repeated or under way.
    repeated = found["retransmitted_bytes"]
    unacked_bytes = found["unacked_pkts"] * found["mss_bytes"]
    assert found["sent_bytes"] == found["acked_bytes"] - 1 + repeated + unacked_bytes
    # Of 8 retransmissions one was the SYN, which is no data.
    assert repeated == (found["retransmitted_pkts"] - 1) * found["mss_bytes"]
    sctp = {"flight_bytes", "partial_bytes_acked_bytes", "path_state", "sacks_received_chunks"}
    assert not sctp & set(found)


def test_an_sctp_sender() -> None:
    found = row(table("7.3"), "S", "sender", 12.0)
    assert found | AT_12_S["S"] == found
    assert found["flight_bytes"] == found["unacked_pkts"] * 1448
    tcp = {"cwnd_segments", "congestion_state", "rttvar_s", "busy_s", "delivered_segments"}
    assert not tcp & set(found)


@pytest.mark.parametrize("kernel", KERNELS)
def test_receivers_count_what_arrived(kernel: str) -> None:
    rows = table(kernel)
    tcp, sctp = (row(rows, flow, "receiver", 12.0) for flow in ("T", "S"))
    totals = value(f"sockets-{kernel}/T.receiver.jsonl")
    assert tcp["received_bytes"] == totals["window_goodput_bytes"]
    assert tcp["receive_queue_bytes"] == 0
    assert sctp["data_received_pkts"] >= sctp["duplicates_received_chunks"]
    assert sctp["sacks_sent_chunks"] == sctp["sent_pkts"] - 1  # all but the COOKIE ACK


def test_what_is_not_known_yet_is_null() -> None:
    rows = table("7.3")
    first = row(rows, "T", "sender", 0.0)
    assert first["state"] == "syn sent"
    unknown = {"srtt_s", "rttvar_s", "min_rtt_s", "delivery_rate_bps"}
    assert not unknown & set(first)
    assert "ssthresh_bytes" not in row(rows, "T", "receiver", 2.0)  # infinite
    assert "srtt_s" not in row(rows, "S", "receiver", 12.0)  # it sent no data


def test_a_structure_may_be_shorter_than_known_or_longer() -> None:
    layout = INFO["tcp"]
    full = bytes(range(1, 249))
    assert layout.whole.size == len(full)
    assert layout.values(full + b"newer") == layout.values(full)
    values = layout.values(full)
    short = layout.values(full[:107])  # ends within the first 64-bit field, after 32 others
    assert short[:32] == values[:32]
    assert set(short[32:]) == {None}
    assert set(MEMORY.values(b"")) == {None}


def test_fields_an_older_kernel_lacks_are_null() -> None:
    info = INFO["tcp"].whole.pack(*[1] * len(INFO["tcp"].fields))
    answer = message(info[:104], sport=1, dport=5001) + DONE
    (found,) = made(frame(EPOCH_NS, 0, answer)).to_dicts()
    assert found["cwnd_segments"] == 1
    assert (found["sent_bytes"], found["timeouts"], found["busy_s"]) == (None, None, None)
    assert (found["path"], found["state"], found["rcvbuf_bytes"]) == (
        "10.0.0.2", "established", None,
    )  # fmt: skip


def test_endpoints_and_sockets_of_no_flow_are_left_out() -> None:
    sctp = bytes(INFO["sctp"].whole.size)
    answer = message(sctp, sport=9, dport=5002) + message(sctp, sport=9, dport=5002, peers=2)
    strangers = message(b"", sport=8, dport=9) + message(b"", sport=1, dport=5002)
    rows = made(frame(EPOCH_NS, 0, strangers + DONE), frame(EPOCH_NS, 1, answer + DONE))
    assert rows.select("flow", "side", "paths").rows() == [("S", "sender", 2)]


@pytest.mark.parametrize(
    ("timer", "runs_s"),
    [((SCTP_TIMER, 130), 0.13), ((SCTP_TIMER, 2**32 - 10), 0.0), ((0, 0), None)],
)
def test_a_retransmission_timer_that_is_due_does_not_run(
    timer: tuple[int, int], runs_s: float | None
) -> None:
    sctp = bytes(INFO["sctp"].whole.size)
    answer = message(sctp, sport=9, dport=5002, peers=1, timer=timer) + DONE
    (found,) = made(frame(EPOCH_NS, 1, answer)).to_dicts()
    assert found["retransmit_timer_s"] == runs_s


def test_no_sample_has_the_same_columns() -> None:
    assert made().schema == COLUMNS


def test_no_bound_on_the_rate_is_null() -> None:
    names = INFO["tcp"].names
    fields = [0] * len(names)
    fields[names.index("pacing_rate")] = 0xFFFFFFFFFFFFFFFF
    fields[names.index("snd_ssthresh")] = 0x7FFFFFFF
    info = INFO["tcp"].whole.pack(*fields)
    (found,) = made(frame(EPOCH_NS, 0, message(info, sport=1, dport=5001) + DONE)).to_dicts()
    assert (found["pacing_rate_bps"], found["ssthresh_segments"]) == (None, None)
    assert found["congestion_state"] == "open"


HUGE = INFO["tcp"].whole.pack(*[0] * 34, 1 << 63, *[0] * 24)
ENDED = frame(EPOCH_NS, 0, DONE)
FOREIGN = HEADER.pack(16, 36, 2, 1, 0)
SHORT = HEADER.pack(20, 20, 2, 1, 0) + bytes(4)


@pytest.mark.parametrize(
    ("frames", "error"),
    [
        (
            frame(EPOCH_NS, 0, message(HUGE, sport=1, dport=5001) + DONE),
            "s: byte 32: not a socket's counter: wanted less than 2^63, got 9223372036854775808",
        ),
        (ENDED + b"abc", "s: byte 36: a sample is cut off: wanted 16 bytes of head, got 3"),
        (ENDED[:-1], "s: byte 0: a sample is cut off: wanted 20 bytes, got 19"),
        (frame(EPOCH_NS, 2, DONE), "s: byte 0: not a sample: wanted one of 2 sources, not before"),
        (ENDED + frame(1, 0, DONE), "s: byte 36: not a sample: wanted one of 2 sources"),
        (frame(EPOCH_NS, 0, b""), "s: byte 16: an answer without its end: wanted a message of ty"),
        (frame(EPOCH_NS, 0, FOREIGN + DONE), "s: byte 32: a foreign netlink message: wanted type"),
        (frame(EPOCH_NS, 0, DONE + DONE[:19]), "s: byte 36: a netlink message does not fit"),
        (frame(EPOCH_NS, 0, DONE + SHORT), "s: byte 52: a foreign netlink message: wanted type 3"),
        (frame(EPOCH_NS, 0, SHORT + DONE), "s: byte 32: a socket is cut off: wanted 72 bytes"),
        (
            frame(EPOCH_NS, 0, HEADER.pack(88, 20, 2, 1, 0) + b"\x0a" + bytes(71) + DONE),
            "s: byte 32: a socket of another family: wanted 2, got 10",
        ),
    ],
)
def test_what_is_no_answer_is_named(frames: bytes, error: str) -> None:
    with pytest.raises(ParseError) as caught:
        made(frames)
    assert str(caught.value).startswith(error)


def test_the_sources_are_of_this_form() -> None:
    described = value("sockets-7.3/sockets.json")
    assert parse_sources(described, "s")[0] == 10_000_000
    with pytest.raises(ParseError, match=r"^s: other samples than these are read: wanted schema 1"):
        parse_sources({**described, "byte_order": "big"}, "s")


@pytest.mark.parametrize("damage", [b"", b"no gzip", gzip.compress(b"x" * 99, mtime=0)[:-9]])
def test_a_damaged_file_is_named(damage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "sockets.bin.gz"
    path.write_bytes(damage)
    with pytest.raises(ParseError, match=r"sockets\.bin\.gz: .*cannot read samples"):
        read_samples(path, DATA / "sockets-7.3" / "sockets.json")


def test_damaged_sources_are_named(tmp_path: Path) -> None:
    path = tmp_path / "sockets.json"
    path.write_text(json.dumps({"schema": 1}))
    with pytest.raises(ParseError, match=r"sockets\.json: not what the lab writes"):
        read_samples(DATA / "sockets-7.3" / "sockets.bin.gz", path)


RECORDED = content("6.12")
RECORDED_SOURCES = parse_sources(value("sockets-6.12/sockets.json"), "s")[1]


def parsed(data: bytes) -> None:
    """Parse all of it; the table itself is made of whole numbers in range by then."""
    for answer in parse_frames(data, RECORDED_SOURCES, "s"):
        if answer.source.what in INFO:
            list(sockets(answer, "s"))


@given(offset=st.integers(0, 4000), to=st.binary(min_size=1, max_size=8))
def test_any_bytes_in_it_are_taken_or_a_parse_error(offset: int, to: bytes) -> None:
    with contextlib.suppress(ParseError):
        parsed(RECORDED[:offset] + to + RECORDED[offset + len(to) : 4000])


@given(end=st.integers(0, 4000))
def test_a_file_cut_off_anywhere_is_a_parse_error_or_ends_with_an_answer(end: int) -> None:
    with contextlib.suppress(ParseError):
        parsed(RECORDED[:end])
