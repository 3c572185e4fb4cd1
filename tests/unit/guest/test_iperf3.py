"""iperf3's command lines, and waiting for its server without believing anything else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from model.cell import Flow
from model.errors import RunError
from probes import iperf3, process
from probes.iperf3 import client_argv, listens, server_argv, start_server
from tests.support.fake_lab import Here
from tests.support.recorded import text, wireless_cell

TCP, SCTP = wireless_cell().flows
UDP = dataclasses.replace(TCP, protocol="udp", rate_bps=1_500_000)
LISTENING = text("linux-7.3/proc-net-tcp-listening.txt")
BUSY = text("linux-7.3/proc-net-tcp-busy.txt")


def test_server() -> None:
    assert " ".join(server_argv(TCP, "10.2.1.2", 0.25)) == (
        "/usr/bin/iperf3 --server --one-off --json --interval 0.25 --bind 10.2.1.2 --port 5001"
    )


@pytest.mark.parametrize(
    ("flow", "options", "words"),
    [
        (TCP, {}, "--length 1448 --bitrate 0"),
        (
            TCP,
            {
                "congestion_control": "reno",
                "maxseg_bytes": "1448",
                "rcvbuf_bytes": "65536",
                "nodelay": "1",
            },
            "--length 1448 --bitrate 0 --congestion reno --set-mss 1448 --window 65536 --no-delay",
        ),
        (TCP, {"nodelay": "0", "sndbuf_bytes": "5", "nonesuch": "1"}, "--length 1448 --bitrate 0"),
        (SCTP, {"sack_freq_packets": "1"}, "--length 1448 --sctp --bitrate 0"),
        # --bitrate must come after --nstreams, whose number 3.18 takes for a bit rate.
        (
            dataclasses.replace(SCTP, streams=4),
            {"rcvbuf_bytes": "65536"},
            "--length 1448 --sctp --nstreams 4 --bitrate 0 --window 65536",
        ),
        (UDP, {"rcvbuf_bytes": "1"}, "--length 1448 --udp --bitrate 1500000"),
    ],
)
def test_client(flow: Flow, options: dict[str, str], words: str) -> None:
    assert " ".join(client_argv(flow, "10.2.1.2", options, 1.0)) == (
        f"/usr/bin/iperf3 --client 10.2.1.2 --port {flow.port} --json --interval 1 --time 100"
        f" {words}"
    )


def test_time_is_the_flows_own() -> None:
    flow = dataclasses.replace(TCP, start_s=10.2, stop_s=60.2)
    argv = client_argv(flow, "10.2.1.2", {}, 1.0)
    assert argv[argv.index("--time") + 1] == "50"


@pytest.mark.parametrize(
    ("stop_s", "got"), [(0.4, "0.4"), (0.6, "0.6"), (9.5, "9.5"), (86_401.0, "86401")]
)
def test_a_time_that_iperf3_cannot_take_is_never_rounded(stop_s: float, got: str) -> None:
    flow = dataclasses.replace(TCP, stop_s=stop_s)
    with pytest.raises(RunError) as caught:
        client_argv(flow, "10.2.1.2", {}, 1.0)
    assert str(caught.value) == (
        "flow T: iperf3 cannot send so long: wanted whole seconds, 1 to 86400, got " + got + " s"
    )


@pytest.mark.parametrize(
    ("shown", "port", "there"),
    [
        (LISTENING, 5010, True),
        (LISTENING, 5011, False),
        (BUSY, 5010, True),
        (BUSY, 50958, False),  # 0xC70E, of an established connection
        ("", 5010, False),
        ("  sl  local_address\n", 5010, False),
        ("  sl  local_address\n0: cut\n", 5010, False),
        # The number stands in the remote address only.
        ("sl\n0: 0100007F:0001 0100007F:1392 0A\n", 5010, False),
    ],
)
def test_recorded_listening_sockets(shown: str, port: int, there: bool) -> None:
    assert listens(shown, port) is there


def test_server_is_awaited_until_it_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = iter(["", "", LISTENING])
    asked: list[str] = []

    def read_proc(path: str) -> str:
        asked.append(path)
        return next(shown)

    monkeypatch.setattr(iperf3, "POLL_S", 0.001)
    running = start_server(Here("dst1"), ["sleep", "60"], tmp_path / "T.receiver", read_proc, 5010)
    running.terminate()
    assert running.wait(5) == -15
    assert asked == ["/proc/net/tcp"] * 3


@pytest.mark.parametrize("timeout_s", [30.0, 0.1])
def test_server_that_never_listens_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout_s: float
) -> None:
    monkeypatch.setattr(iperf3, "READY_TIMEOUT_S", timeout_s)
    ends: list[Any] = []
    start = process.start

    def remember(*args: Any) -> Any:
        ends.append(start(*args))
        return ends[-1]

    monkeypatch.setattr(iperf3, "start", remember)
    script = "echo 'unable to bind' >&2; exit 1" if timeout_s == 30 else "sleep 60"
    wanted = "unable to bind" if timeout_s == 30 else "no message"
    with pytest.raises(RunError) as caught:
        start_server(Here("dst1"), ["sh", "-c", script], tmp_path / "T", lambda path: "", 5010)
    assert str(caught.value) == (
        f"dst1: sh: does not listen: wanted port 5010 within {timeout_s:.0f} s, got {wanted}"
    )
    ends[0].child.kill()
    ends[0].child.wait()
