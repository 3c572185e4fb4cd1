"""Receivers that cannot be reached at first, or never: senders ask again while there is time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

LOOPBACK = "127.0.0.1"
#: Starts a receiver and a sender, whose command lines it is given; the loopback comes up after the
#: sender's first attempt, which the kernel counts. Prints what the sender prints.
LATE_LOOPBACK = """
import fcntl, json, socket, struct, subprocess, sys, time
receiver, sender = (
    subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for argv in json.loads(sys.argv[1])
)
def unrouted():
    head, values = (l.split() for l in open("/proc/net/snmp") if l.startswith("Ip:"))
    return int(values[head.index("OutNoRoutes")])
while not unrouted():
    time.sleep(0.01)
asked = struct.pack("16sH14x", b"lo", 1)  # IFF_UP
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, asked)  # SIOCSIFFLAGS
print(sender.communicate()[0], end="")
receiver.communicate()
sys.exit(sender.returncode or receiver.returncode)
"""
#: A network namespace of its own, whose loopback is down; what takes too long ends with all it
#: has started.
NAMESPACE = (
    "timeout", "60",
    "unshare", "--net", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")),
)  # fmt: skip


def test_a_receiver_that_cannot_be_reached_is_asked_again(probes: Any) -> None:
    """In a namespace whose loopback comes up once the kernel has said that there is no way."""
    to = ("--host", LOOPBACK, "--port", 5001, "--duration-s", 30, "--bytes", 5000)
    senders = [
        probes.argv("tcp_recv", "--port", 5001), probes.argv("tcp_send", *to, "--drain-s", 20)
    ]  # fmt: skip
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-c", LATE_LOOPBACK, json.dumps(senders)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    records = [json.loads(line) for line in done.stdout.splitlines()]
    (totals,) = (one for one in records if one["event"] == "totals")
    (connected,) = (one for one in records if one["event"] == "connected")
    assert (totals["end"], totals["sent_bytes"]) == ("drained", 5000)
    assert totals["failed_connects"] >= 1
    took_s = (connected["connected_t_ns"] - connected["connect_start_t_ns"]) / 1e9
    assert took_s == pytest.approx(totals["connect_s"])
    assert took_s > 1


def test_what_cannot_be_reached_until_the_end_is_unconnected(probes: Any) -> None:
    to = ("--host", LOOPBACK, "--port", 5001)
    for limit, least in (("--duration-s", 2.5), 2), (("--count", 1), 1):
        argv = [*NAMESPACE, *probes.argv("tcp_send", *to, *limit)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        totals = json.loads(done.stdout.splitlines()[-1])
        assert (totals["end"], totals["connect_s"]) == ("unconnected", None)
        assert totals["failed_connects"] >= least
