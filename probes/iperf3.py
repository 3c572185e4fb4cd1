"""Drive iperf3 as a second, independent generator.

It differs from the probes in ways no option removes: it opens a TCP control connection through
the same path, begins to count when that is set up, cannot set most SCTP socket options, and
stops by time on the sender. Its results therefore check goodput and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from model.cell import Flow
from model.errors import RunError
from probes.driver import decimal
from probes.process import Running, start

if TYPE_CHECKING:
    from model.node import Node

IPERF3 = "/usr/bin/iperf3"
READY_TIMEOUT_S = 30.0
POLL_S = 0.01
TCP_LISTEN = "0A"
#: What it takes for a time: whole seconds; 0 is no end (MAX_TIME of its iperf.h).
TIMES_S = range(1, 86_401)
#: Socket options iperf3 can set, and its word for each.
OPTIONS = {
    "tcp": {
        "congestion_control": "--congestion",
        "maxseg_bytes": "--set-mss",
        "rcvbuf_bytes": "--window",
        "nodelay": "--no-delay",
    },
    "sctp": {"rcvbuf_bytes": "--window", "nodelay": "--no-delay", "maxseg_bytes": "--set-mss"},
    "udp": {},
}


def server_argv(flow: Flow, address: str, interval_s: float) -> list[str]:
    """Return the server's command line: one test, JSON, then it ends."""
    return [
        IPERF3, "--server", "--one-off", "--json", "--interval", decimal(interval_s),
        "--bind", address, "--port", str(flow.port),
    ]  # fmt: skip


def client_argv(flow: Flow, to: str, options: Mapping[str, str], interval_s: float) -> list[str]:
    """Return the client's command line."""
    argv = [
        IPERF3, "--client", to, "--port", str(flow.port), "--json",
        "--interval", decimal(interval_s), "--time", str(whole_seconds(flow)),
        "--length", str(flow.message_bytes),
    ]  # fmt: skip
    if flow.protocol == "sctp":
        argv += ["--sctp"]
        argv += ["--nstreams", str(flow.streams)] if flow.streams > 1 else []
    if flow.protocol == "udp":
        argv += ["--udp"]
    # Said outright, and after --nstreams: iperf3 3.18 takes that option's number for a bit rate.
    argv += ["--bitrate", str(flow.rate_bps)]
    for name, value in options.items():
        word = OPTIONS[flow.protocol].get(name)
        if word == "--no-delay":
            argv += [word] if value not in ("0", "false") else []
        elif word:
            argv += [word, value]
    return argv


def whole_seconds(flow: Flow) -> int:
    """Return how long a flow sends; iperf3 takes whole seconds alone, and 0 for no end.

    Raises:
        RunError: it is no such time; a study with it is refused before.
    """
    lasts_s = round(flow.stop_s - flow.start_s, 9)
    if lasts_s not in TIMES_S:
        raise RunError(
            "iperf3 cannot send so long", where=f"flow {flow.id}", got=f"{decimal(lasts_s)} s",
            wanted=f"whole seconds, {TIMES_S[0]} to {TIMES_S[-1]}",
        )  # fmt: skip
    return round(lasts_s)


def start_server(
    host: Node, argv: list[str], stem: Path, read_proc: Callable[[str], str], port: int
) -> Running:
    """Start a server and return once its control port listens."""
    running = start(host, argv, stem)
    deadline_s = time.monotonic() + READY_TIMEOUT_S
    while not listens(read_proc("/proc/net/tcp"), port):
        if running.child.poll() is not None or time.monotonic() > deadline_s:
            raise RunError(
                "does not listen",
                where=running.label(),
                wanted=f"port {port} within {READY_TIMEOUT_S:.0f} s",
                got=running.words() or "no message",
            )
        time.sleep(POLL_S)
    return running


def listens(proc_net_tcp: str, port: int) -> bool:
    """Return whether /proc/net/tcp shows a listening socket on that port."""
    for line in proc_net_tcp.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 3 and fields[1].endswith(f":{port:04X}") and fields[3] == TCP_LISTEN:
            return True
    return False
