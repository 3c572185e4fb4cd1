"""The live parts of the evidence: tcpdump started and ended, snapshots, package versions."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from collectors import capture_live, snapshot_live
from collectors.capture_live import argv, parse_counts, start, stop
from testbed.errors import RunError
from tests.recorded import text

pytestmark = pytest.mark.unit

ENDED = text("tcpdump-4.99/ended.txt")


class Host:
    name = "r1"

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self.files = files or {}

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        yield

    def run(self, argv: Sequence[str]) -> str:
        assert tuple(argv) == snapshot_live.SS
        return "tcp ESTAB\n"

    def read_file(self, path: str) -> str:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]


def test_tcpdump_captures_the_interfaces_asked_for() -> None:
    words = argv([3, 4], Path("/cell/raw/x.pcap"))
    assert " ".join(words[:-1]) == (
        "tcpdump -i any -y LINUX_SLL2 -n -U --immediate-mode --nano -s 160 -B 8192 -Z root"
        " -w /cell/raw/x.pcap"
    )
    assert words[-1] == "(ifindex 3 or ifindex 4) and ip"


def test_recorded_counts() -> None:
    assert parse_counts(ENDED) == {"captured_pkts": 2, "received_pkts": 2, "dropped_pkts": 0}
    one = "1 packet captured\n1 packet received by filter\n1 packet dropped by kernel\n"
    assert parse_counts(one) == {"captured_pkts": 1, "received_pkts": 1, "dropped_pkts": 1}
    assert parse_counts(text("tcpdump-4.99/no-device.txt")) == {}


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(
        capture_live, "argv", lambda interfaces, file: ["bash", "-c", script, "x", str(file)]
    )


#: Says what tcpdump says, in two parts, and ends at SIGINT with these counts.
CAPTURES = """
trap 'echo "$2 packets captured" >&2
echo "$2 packets received by filter" >&2
echo "{} packets dropped by kernel" >&2; exit 0' INT
echo "tcpdump: data link type LINUX_SLL2" >&2; sleep 0.05
echo "tcpdump: listening on any, link-type" >&2
while :; do sleep 0.02; done
"""


def test_a_capture_is_started_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, CAPTURES.format(0).replace("$2", "7"))
    capture = start(Host(), [3], tmp_path / "x.pcap")
    assert b"listening on" in capture.words
    assert stop(capture) == {"captured_pkts": 7, "received_pkts": 7, "dropped_pkts": 0}
    assert capture.child.returncode == 0


def test_a_capture_that_dropped_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, CAPTURES.format(3).replace("$2", "7"))
    capture = start(Host(), [3], tmp_path / "x.pcap")
    with pytest.raises(RunError, match=r"^r1: x\.pcap: the capture is not complete: wanted 0 pack"):
        stop(capture)


def test_a_capture_that_tells_no_counts_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, "echo listening on >&2; exec sleep 60")
    capture = start(Host(), [3], tmp_path / "x.pcap")
    with pytest.raises(RunError, match=r"the capture is not complete: .*got {}"):
        stop(capture)
    assert capture.child.returncode == -signal.SIGINT


def test_a_capture_that_does_not_start_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = text("tcpdump-4.99/no-device.txt").strip()
    stand_in(monkeypatch, f"echo '{words}' >&2; exit 1")
    with pytest.raises(RunError) as caught:
        start(Host(), [3], tmp_path / "x.pcap")
    assert str(caught.value) == f"r1: tcpdump does not capture: got {words}"


def test_snapshot_keeps_what_the_kernel_has(tmp_path: Path) -> None:
    host = Host({"/proc/net/snmp": "Tcp: 1\n", "/proc/net/netstat": "TcpExt: 2\n"})
    snapshot_live.take(host, tmp_path, "000025.000s", with_ss=True)
    assert (tmp_path / "000025.000s-r1.proc").read_text() == (
        "# /proc/net/snmp\nTcp: 1\n# /proc/net/netstat\nTcpExt: 2\n"
    )
    assert (tmp_path / "000025.000s-r1.ss").read_text() == "tcp ESTAB\n"


def test_snapshot_of_a_host_that_sends_nothing(tmp_path: Path) -> None:
    snapshot_live.take(Host(), tmp_path, "0", with_ss=False)
    assert [path.name for path in tmp_path.iterdir()] == ["0-r1.proc"]


def test_recorded_package_versions() -> None:
    status = text("dpkg-1.22/status")
    assert snapshot_live.packages(status, lambda name: name in ("iproute2", "libsctp1")) == {
        "iproute2": "6.15.0-1",
        "libsctp1": "1.0.21+dfsg-1",
    }
    assert list(snapshot_live.packages(status, lambda name: True)) == [
        "iperf3",
        "iproute2",
        "libc6",
        "libsctp1",
        "python3.13",
    ]
    assert snapshot_live.packages("", lambda name: True) == {}
