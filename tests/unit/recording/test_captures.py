"""The live parts of the evidence: tcpdump started and ended, and when it cannot be."""

from __future__ import annotations

import dataclasses
import gzip
import signal
from pathlib import Path

import pytest

from collectors.recording import tcpdump
from collectors.recording.tcpdump import Tap, argv, expression, parse_counts, start, stop
from model.cell import Knob
from model.errors import RunError
from tests.support.fake_lab import Here
from tests.support.recorded import text, wireless_cell

ENDED = text("tcpdump-4.99/ended.txt")


TAPS = (Tap(ifindex=4, way="out"), Tap(ifindex=3, way="in"), Tap(ifindex=3, way="out"))


def test_tcpdump_captures_the_interfaces_and_ways_asked_for() -> None:
    words = argv(TAPS, 160)
    assert " ".join(words[:-1]) == (
        "stdbuf -o 1024K tcpdump -i any -y LINUX_SLL2 -n --nano -s 160 -B 8192 -Z root -w -"
    )
    assert words[-1] == "ip and ((ifindex 3) or (ifindex 4 and outbound))"
    assert expression([Tap(ifindex=7, way="in")]) == "ip and ((ifindex 7 and inbound))"


@pytest.mark.parametrize(
    ("message_bytes", "maxseg_bytes", "whole"),
    [
        (1448, None, False),  # one chunk fills a packet
        (716, None, True),  # 2 x (16 + 716) + 12 = 1476 of 1480 bytes
        (720, None, False),
        (1452 + 100, None, True),  # the rests of two messages
        (1452 + 1400, None, False),
        (1448, "700", True),
        (1448, "0", False),
    ],
)
def test_packets_are_kept_whole_only_where_chunks_may_be_bundled(
    message_bytes: int, maxseg_bytes: str | None, whole: bool
) -> None:
    cell = wireless_cell()
    flows = tuple(dataclasses.replace(flow, message_bytes=message_bytes) for flow in cell.flows)
    knobs = tuple(
        Knob(kind="sctp_socket", name="maxseg_bytes", value=value, side="both")
        for value in (maxseg_bytes,)
        if value is not None
    )
    entry = dataclasses.replace(cell.hosts.entries[0], knobs=knobs)
    hosts = dataclasses.replace(cell.hosts, entries=(entry,))
    changed = dataclasses.replace(cell, flows=flows, hosts=hosts)
    wanted = tcpdump.FULL_SNAP_BYTES if whole else tcpdump.SNAP_BYTES
    assert tcpdump.snap_bytes(changed) == wanted
    assert tcpdump.snap_bytes(dataclasses.replace(changed, flows=flows[:1])) == 160


def test_recorded_counts() -> None:
    assert parse_counts(ENDED) == {"captured_pkts": 2, "received_pkts": 2, "dropped_pkts": 0}
    one = "1 packet captured\n1 packet received by filter\n1 packet dropped by kernel\n"
    assert parse_counts(one) == {"captured_pkts": 1, "received_pkts": 1, "dropped_pkts": 1}
    assert parse_counts(text("tcpdump-4.99/no-device.txt")) == {}


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(tcpdump, "argv", lambda taps, snap: ["bash", "-c", script])
    monkeypatch.setattr(tcpdump, "BLOCK_TIMEOUT_S", 0.0)


#: Says what tcpdump says, in two parts, and ends at SIGINT with these counts.
CAPTURES = """
echo what tcpdump writes
trap 'echo "$2 packets captured" >&2
echo "$2 packets received by filter" >&2
echo "{} packets dropped by kernel" >&2; exit 0' INT
echo "tcpdump: data link type LINUX_SLL2" >&2; sleep 0.05
echo "tcpdump: listening on any, link-type" >&2
while :; do sleep 0.02; done
"""


def test_a_capture_is_started_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, CAPTURES.format(0).replace("$2", "7"))
    capture = start(Here("r1"), TAPS, 160, tmp_path / "x.pcap")
    assert b"listening on" in capture.words
    counts = {"captured_pkts": 7, "received_pkts": 7, "dropped_pkts": 0}
    assert stop([capture]) == {"x.pcap.gz": counts}
    assert capture.child.returncode == 0
    (left,) = tmp_path.iterdir()
    assert gzip.decompress(left.read_bytes()) == b"what tcpdump writes\n"


@pytest.mark.parametrize(
    ("script", "message", "status"),
    [
        (CAPTURES.format(3).replace("$2", "7"), r"^r1: x\.pcap: .*complete: wanted as ma", 0),
        (
            CAPTURES.format(0).replace("$2", "6", 1).replace("$2", "7"),
            "got {'captured_pkts': 6, 'received_pkts': 7",
            0,
        ),
        ("echo listening on >&2; exec sleep 60", "complete: .*got {}, status", -signal.SIGINT),
    ],
    ids=["some dropped", "not all written", "no counts"],
)
def test_a_capture_that_is_not_complete_is_an_error(
    script: str, message: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, script)
    capture = start(Here("r1"), TAPS, 160, tmp_path / "x.pcap")
    with pytest.raises(RunError, match=message) as caught:
        stop([capture])
    assert "the capture is not complete" in str(caught.value)
    assert capture.child.returncode == status


def test_a_capture_that_does_not_start_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = text("tcpdump-4.99/no-device.txt").strip()
    stand_in(monkeypatch, f"echo '{words}' >&2; exit 1")
    with pytest.raises(RunError) as caught:
        start(Here("r1"), TAPS, 160, tmp_path / "x.pcap")
    assert str(caught.value) == f"r1: tcpdump does not capture: got {words}"
