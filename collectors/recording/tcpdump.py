"""Packet captures of lab hosts with tcpdump, started and ended without losing a packet.

Invariants: :func:`start` returns only when tcpdump captures; :func:`stop` returns only when its
file is complete, and raises if the kernel dropped a packet or tcpdump did not write one.

tcpdump reads its ring block by block, not packet by packet (no immediate mode): one wake-up for a
block costs a fraction of one for each packet. A block that is not full is handed over when
``BLOCK_TIMEOUT_S`` is over, which is why :func:`stop` waits that long in the lab's own time. For
the same reason it writes through a large buffer: C's own is as small as a block of the file system.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from collectors.recording import compressing
from model.cell import Cell, Flow
from model.errors import RunError

if TYPE_CHECKING:
    from model.node import Node

#: The link header a capture of several interfaces has (LINKTYPE_LINUX_SLL2).
LINK_HEADER_BYTES = 20
#: Link and IP header, all TCP options, or an SCTP SACK with 22 gap blocks, which is the most a
#: window of 45 packets can have; of data no more than its headers.
SNAP_BYTES = 160
#: More than any packet has: for associations that bundle, whose chunk headers lie anywhere.
FULL_SNAP_BYTES = 2048
BUFFER_KIB = 8192
WRITE_KIB = 1024
#: tcpdump's read timeout, 1 s, and some more.
BLOCK_TIMEOUT_S = 1.5
TIMEOUT_S = 60.0

IP_PACKET_BYTES = 1500
IP_HEADER_BYTES = 20
SCTP_HEADER_BYTES = 12
DATA_HEADER_BYTES = 16


@dataclass(frozen=True, kw_only=True)
class Tap:
    """One interface of a host and the way packets pass it: what a capture records."""

    ifindex: int
    way: Literal["in", "out"]


@dataclass(frozen=True, kw_only=True)
class Capture:
    """A running tcpdump."""

    host: str
    child: subprocess.Popen[bytes]
    file: Path
    words: bytes


def snap_bytes(cell: Cell) -> int:
    """Return how much of each packet to keep: its headers, or all if chunks can be bundled."""
    limits = [
        int(knob.value)
        for entry in cell.hosts.entries
        for knob in entry.knobs
        if knob.kind == "sctp_socket" and knob.name == "maxseg_bytes"
    ]
    associations = [flow for flow in cell.flows if flow.protocol == "sctp"]
    if any(_may_bundle(flow, limits) for flow in associations):
        return FULL_SNAP_BYTES
    return SNAP_BYTES


def _may_bundle(flow: Flow, limits: Sequence[int]) -> bool:
    """Return whether two of the smallest chunks a flow's messages are cut into share a packet."""
    room_bytes = IP_PACKET_BYTES - IP_HEADER_BYTES - SCTP_HEADER_BYTES
    largest_bytes = min([room_bytes - DATA_HEADER_BYTES, *(limit for limit in limits if limit)])
    smallest_bytes = flow.message_bytes % largest_bytes or largest_bytes
    chunk_bytes = DATA_HEADER_BYTES + (smallest_bytes + 3) // 4 * 4
    return 2 * chunk_bytes <= room_bytes


def expression(taps: Sequence[Tap]) -> str:
    """Return the filter that lets IP packets through at these taps alone."""
    ways: dict[int, set[str]] = {}
    for tap in taps:
        ways.setdefault(tap.ifindex, set()).add(tap.way)
    places = []
    for ifindex, seen in sorted(ways.items()):
        only = "" if len(seen) == 2 else " and inbound" if seen == {"in"} else " and outbound"
        places.append(f"(ifindex {ifindex}{only})")
    return f"ip and ({' or '.join(places)})"


def argv(taps: Sequence[Tap], snap: int) -> list[str]:
    """Return tcpdump's command line for these taps; the capture goes to its standard output."""
    return [
        "stdbuf", "-o", f"{WRITE_KIB}K", "tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-n", "--nano",
        "-s", str(snap), "-B", str(BUFFER_KIB), "-Z", "root", "-w", "-", expression(taps),
    ]  # fmt: skip


def start(host: Node, taps: Sequence[Tap], snap: int, file: Path) -> Capture:
    """Start capturing and return once tcpdump says that it listens."""
    with host.entered(), file.open("wb") as out:
        child = subprocess.Popen(
            argv(taps, snap), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE
        )
    try:
        words = _read_until(child, b"listening on", host.name)
    except RunError:
        child.kill()
        child.communicate()
        raise
    return Capture(host=host.name, child=child, file=file, words=words)


def _read_until(child: subprocess.Popen[bytes], mark: bytes, host: str) -> bytes:
    assert child.stderr is not None
    words = b""
    poll = select.poll()
    poll.register(child.stderr, select.POLLIN | select.POLLHUP)
    while mark not in words:
        chunk = os.read(child.stderr.fileno(), 4096) if poll.poll(TIMEOUT_S * 1000) else b""
        if not chunk:
            raise RunError(
                "tcpdump does not capture", where=host, got=words.decode(errors="replace").strip()
            )
        words += chunk
    return words


def stop(captures: Sequence[Capture]) -> dict[str, dict[str, int]]:
    """End captures on a silent network, and compress them; return packet counts by file name.

    Raises:
        RunError: the kernel dropped packets, or some that it passed on are not in the file.
    """
    time.sleep(BLOCK_TIMEOUT_S)
    counts = [_stop(capture) for capture in captures]
    files = [compressing.replaced(capture.file) for capture in captures]
    return {file.name: one for file, one in zip(files, counts, strict=True)}


def _stop(capture: Capture) -> dict[str, int]:
    capture.child.send_signal(signal.SIGINT)
    _, words = capture.child.communicate(timeout=TIMEOUT_S)
    counts = parse_counts((capture.words + words).decode(errors="replace"))
    written, seen = counts.get("captured_pkts", -1), counts.get("received_pkts", -2)
    if capture.child.returncode != 0 or counts.get("dropped_pkts") != 0 or written != seen:
        raise RunError(
            "the capture is not complete",
            where=f"{capture.host}: {capture.file.name}",
            wanted="as many packets captured as received, 0 dropped by kernel, status 0",
            got=f"{counts}, status {capture.child.returncode}",
        )
    return counts


def parse_counts(words: str) -> dict[str, int]:
    """Return the counts tcpdump prints at its end."""
    names = {
        "captured_pkts": r"(\d+) packets? captured",
        "received_pkts": r"(\d+) packets? received by filter",
        "dropped_pkts": r"(\d+) packets? dropped by kernel",
    }
    found = {name: re.search(pattern, words) for name, pattern in names.items()}
    return {name: int(match.group(1)) for name, match in found.items() if match}
