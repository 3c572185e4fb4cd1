"""One packet capture of a lab host with tcpdump, started and ended without losing a packet.

Invariants: :func:`start` returns only when tcpdump captures; :func:`stop` returns only when its
file is complete, and raises if the kernel dropped anything.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from testbed.errors import RunError

#: Headers with all options, SCTP chunk headers and a few SACK blocks, but no bulk data.
SNAP_BYTES = 160
BUFFER_KIB = 8192
TIMEOUT_S = 60.0


class Host(Protocol):
    """What a capture needs of a lab host."""

    @property
    def name(self) -> str:
        """The host's name."""

    def entered(self) -> AbstractContextManager[None]:
        """Enter the host's network namespace for the block."""


@dataclass(frozen=True, kw_only=True)
class Capture:
    """A running tcpdump."""

    host: str
    child: subprocess.Popen[bytes]
    file: Path
    words: bytes


def argv(interfaces: Sequence[int], file: Path) -> list[str]:
    """Return tcpdump's command line for the interfaces with these indexes."""
    chosen = " or ".join(f"ifindex {index}" for index in interfaces)
    return [
        "tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-n", "-U", "--immediate-mode",
        "--nano", "-s", str(SNAP_BYTES), "-B", str(BUFFER_KIB), "-Z", "root",
        "-w", str(file), f"({chosen}) and ip",
    ]  # fmt: skip


def start(host: Host, interfaces: Sequence[int], file: Path) -> Capture:
    """Start capturing and return once tcpdump says that it listens."""
    with host.entered():
        child = subprocess.Popen(
            argv(interfaces, file),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
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


def stop(capture: Capture) -> dict[str, int]:
    """End a capture; return tcpdump's packet counts; raise if the kernel dropped packets."""
    capture.child.send_signal(signal.SIGINT)
    _, words = capture.child.communicate(timeout=TIMEOUT_S)
    counts = parse_counts((capture.words + words).decode(errors="replace"))
    if counts.get("dropped_pkts", -1) != 0:
        raise RunError(
            "the capture is not complete",
            where=f"{capture.host}: {capture.file.name}",
            wanted="0 packets dropped by kernel",
            got=str(counts),
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
