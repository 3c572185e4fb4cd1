"""What a run says of its sockets is what ``ss`` shows of them at the same instant."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.raw.files import read_json
from collectors.sockets.samples import read_samples
from collectors.sockets.sockets import sockets_table
from model import run_folder
from model.cell import Cell
from testbed.campaign import digests
from testbed.campaign.run_cell import execute
from testbed.labs.virtual.virtual_lab import VirtualLab
from tests.support.recorded import wireless_cell

Script = Callable[..., Path]
#: Both protocols over a slow, lossy loopback; in the middle of it all, a sample and a look with ss.
PROGRAM = """
import contextlib, os, socket, subprocess, time
from pathlib import Path
from collectors.recording import socket_sampler

class Here:
    name = "here"
    entered = staticmethod(contextlib.nullcontext)

def connection(port, protocol):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    if os.fork() == 0:
        accepted, _ = listener.accept()
        while accepted.recv(1 << 16):
            pass
        os._exit(0)
    sender = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    sender.connect(("127.0.0.1", port))
    sender.setblocking(False)
    return sender

senders = [connection(5001, socket.IPPROTO_TCP), connection(5002, socket.IPPROTO_SCTP)]
for _ in range(100):
    for sender in senders:
        with contextlib.suppress(BlockingIOError):
            while sender.send(bytes(1400)):
                pass
    time.sleep(0.1)
here = [(Here(), socket_sampler.sources("here", ["tcp", "sctp"]))]
recorder = socket_sampler.start(here, Path("/cell"))
socket_sampler.take_sockets(recorder, time.monotonic_ns())
shown = subprocess.run(["ss", "-tO", "--sctp", "-inmH"], capture_output=True, check=True)
Path("/cell/ss.txt").write_bytes(shown.stdout)
socket_sampler.stop(recorder, time.monotonic_ns())
"""


@pytest.fixture
def seen(script: Script) -> tuple[pl.DataFrame, str]:
    """Return a sample's rows, and what ss showed."""
    folder = script(
        "ip link set lo up mtu 1500\n"
        "tc qdisc add dev lo root netem delay 50ms loss 2% limit 10000 seed 7\n"
        f"cat > /cell/program.py <<'END'\n{PROGRAM}\nEND\n"
        "exec python3 -S /cell/program.py\n"
    )
    samples = read_samples(folder / "sockets.bin.gz", folder / "sockets.json")
    rows = sockets_table(samples, wireless_cell().flows, 0)
    first = rows.filter(pl.col("t_s") == pl.col("t_s").min())
    return first, (folder / "ss.txt").read_text()


def test_tcp_is_as_ss_shows_it(seen: tuple[pl.DataFrame, str]) -> None:
    rows, text = seen
    (row,) = rows.filter(flow="T", side="sender").to_dicts()
    (line,) = [line for line in text.splitlines() if re.match(r"tcp .*:5001 +skmem", line)]
    assert row["retransmitted_pkts"] > 0
    shown = {
        "mss": row["mss_bytes"], "cwnd": row["cwnd_segments"], "ssthresh": row["ssthresh_segments"],
        "bytes_sent": row["sent_bytes"], "bytes_retrans": row["retransmitted_bytes"],
        "bytes_acked": row["acked_bytes"], "segs_out": row["sent_pkts"],
        "segs_in": row["received_pkts"], "data_segs_out": row["data_sent_pkts"],
        "unacked": row["unacked_pkts"], "delivered": row["delivered_segments"],
        "rcv_space": row["rcv_space_bytes"], "rcv_ssthresh": row["rcv_ssthresh_bytes"],
        "pmtu": row["mtu_bytes"], "snd_wnd": row["snd_wnd_bytes"],
        "notsent": row["unsent_bytes"],
    }  # fmt: skip
    assert {name: number(line, name) for name in shown} == shown
    times = re.search(r" rto:(\S+) rtt:([\d.]+)/([\d.]+)", line)
    assert times is not None
    assert [float(text) for text in times.groups()] == pytest.approx(
        [row["rto_s"] * 1000, row["srtt_s"] * 1000, row["rttvar_s"] * 1000]
    )
    assert float(found(line, r"minrtt:([\d.]+)")) == pytest.approx(row["min_rtt_s"] * 1000)
    assert int(found(line, r"busy:(\d+)ms")) == int(row["busy_s"] * 1000)
    assert int(found(line, r"retrans:\d+/(\d+)")) == row["retransmitted_pkts"]
    assert int(found(line, r"pacing_rate (\d+)bps")) == row["pacing_rate_bps"]
    assert int(found(line, r"delivery_rate (\d+)bps")) == row["delivery_rate_bps"]
    assert queues(line) == (row["receive_queue_bytes"], row["send_queue_bytes"])
    assert memory(line) == memory_of(row)


def test_sctp_is_as_ss_shows_it(seen: tuple[pl.DataFrame, str]) -> None:
    rows, text = seen
    (row,) = rows.filter(flow="S", side="sender").to_dicts()
    (line,) = [line for line in text.splitlines() if re.match(r" *`- .*:5002 +skmem", line)]
    assert row["retransmitted_pkts"] > 0
    assert found(line, r"state:(\w+)") == "ESTAB"
    assert row["state"] == "established"
    shown = {
        "rwnd": row["rcv_wnd_bytes"], "unackdata": row["unacked_pkts"],
        "instrms": row["streams_in"], "outstrms": row["streams_out"],
        "outqueue": row["unsent_chunks"], "maxseg": row["mss_bytes"],
        "prwnd": row["snd_wnd_bytes"],
    }  # fmt: skip
    assert {name: number(line, name) for name in shown} == shown
    assert queues(line) == (row["receive_queue_bytes"], row["send_queue_bytes"])
    assert memory(line) == memory_of(row)


def found(line: str, pattern: str) -> str:
    match = re.search(pattern, line)
    assert match is not None, f"{pattern} in {line}"
    return match[1]


def number(line: str, name: str) -> int:
    """Return a number ss shows; it leaves out what is 0."""
    match = re.search(rf" {name}:(\d+)", line)
    return int(match[1]) if match else 0


def queues(line: str) -> tuple[int, int]:
    match = re.match(r" *\S+ +ESTAB +(\d+) +(\d+)", line)
    assert match is not None
    return int(match[1]), int(match[2])


def memory(line: str) -> list[int]:
    return [int(text) for text in re.findall(r"[a-z]+(\d+)", found(line, r"skmem:\(([^)]*)\)"))]


def memory_of(row: dict[str, Any]) -> list[int]:
    names = (
        "rmem_alloc_bytes", "rcvbuf_bytes", "wmem_alloc_bytes", "sndbuf_bytes", "fwd_alloc_bytes",
        "wmem_queued_bytes", "optmem_bytes", "backlog_bytes", "socket_dropped_pkts",
    )  # fmt: skip
    return [row[name] for name in names]


@pytest.fixture(scope="module")
def folder(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Run 60 s of the wireless study with all telemetry once for the tests below."""
    place = tmp_path_factory.mktemp("sockets") / "cell"
    execute(_watched(wireless), place, lab, threading.Event())
    return place


def _watched(wireless: Callable[..., Cell], **changes: Any) -> Cell:
    cell = wireless(duration_s=60.0)
    collect = {"telemetry": True, "sockets_s": 0.5, "counters_s": 20.0} | changes
    return dataclasses.replace(cell, collect=dataclasses.replace(cell.collect, **collect))


def test_both_ends_of_every_flow_are_sampled_on_time(folder: Path) -> None:
    sockets = pl.read_parquet(folder / run_folder.SOCKETS_TABLE)
    ends = sockets.select("flow", "side", "node").unique().sort("flow", "side").rows()
    assert ends == [
        ("S", "receiver", "dst2"), ("S", "sender", "src2"),
        ("T", "receiver", "dst1"), ("T", "sender", "src1"),
    ]  # fmt: skip
    for flow in ("T", "S"):
        times_s = sockets.filter(flow=flow, side="sender")["t_s"].to_list()
        assert set(times_s) >= {step / 2 for step in range(4, 121)}
    protocol = pl.read_parquet(folder / run_folder.PROTOCOL_TABLE)
    assert protocol["t_s"].unique().sort().to_list()[:4] == [0.0, 20.0, 40.0, 60.0]


def test_samples_agree_with_every_other_count(folder: Path) -> None:
    checks = read_json(folder / run_folder.AUDIT)["checks"]
    names = [check["check"] for check in checks]
    assert names.count("window sampled") == 2
    assert names.count("socket counters grow to the totals") == 4
    assert {"read from the socket", "Tcp RetransSegs"} <= set(names)
    assert [check for check in checks if check["agrees"] is not True] == []


def test_samples_are_repeatable_to_the_byte(
    wireless: Callable[..., Cell], lab: VirtualLab, folder: Path, tmp_path: Path
) -> None:
    execute(_watched(wireless), tmp_path / "again", lab, threading.Event())
    first, second = digests.of_cell(folder), digests.of_cell(tmp_path / "again")
    assert {run_folder.SOCKET_SAMPLES, run_folder.SOCKETS_TABLE} <= set(first)
    assert digests.differences(first, second) == []


def test_no_address_of_the_kernel_is_kept(folder: Path) -> None:
    samples = read_samples(folder / run_folder.SOCKET_SAMPLES, folder / run_folder.SOCKET_SOURCES)
    lists = [a.content for a in samples.of(files=True) if a.source.what.endswith("/assocs")]
    listed = [line.split()[:2] for text in lists for line in text.splitlines()[1:]]
    assert {bytes(word) for words in listed for word in words} == {b"0"}


def test_sampling_can_be_left_out(
    wireless: Callable[..., Cell], lab: VirtualLab, tmp_path: Path
) -> None:
    cell = _watched(wireless, telemetry=False, sockets_s=0.0, counters_s=0.0)
    execute(cell, tmp_path / "off", lab, threading.Event())
    assert not (tmp_path / "off" / run_folder.SOCKET_SAMPLES).exists()
    assert not (tmp_path / "off" / run_folder.PROTOCOL_TABLE).exists()
