"""Run one packetdrill script inside the lab and leave what it said, how it ended and its packets.

Needs nothing but Python's own library: it is shown to the lab beside packetdrill, not compiled into
the lab's code. Reads ``/cell/case.json``; writes ``result.json``, ``stdout``, ``stderr`` and
``capture.pcap`` beside it. Invariants: a script's network namespace is its own; however much it
says, no more than ``KEPT_BYTES`` of each stream is kept, the beginning and the end.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

CELL = Path("/cell")
TOOLS = "/gt/packetdrill"
PATH = f"{TOOLS}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Of each stream, half from its beginning and half from its end.
KEPT_BYTES = 256 << 10
READ_BYTES = 1 << 16
#: tcpdump hands over a block that is not full after a second of the lab's time.
BLOCK_S = 1.5
#: How long output is waited for that only a process left behind could still write.
LEFT_BEHIND_S = 0.1
READY_S = END_S = 60.0
SNAP_BYTES = 2048
CAPTURE = (
    "tcpdump", "-i", "any", "-y", "LINUX_SLL2", "-n", "--nano", "-s", str(SNAP_BYTES), "-Z", "root",
    "-w", str(CELL / "capture.pcap"),
)  # fmt: skip


class Kept:
    """The beginning and the end of what a stream said."""

    def __init__(self) -> None:
        self.first, self.last, self.total_bytes = b"", b"", 0

    def add(self, words: bytes) -> None:
        """Take what was read."""
        self.total_bytes += len(words)
        room = KEPT_BYTES // 2 - len(self.first)
        self.first += words[:room]
        self.last = (self.last + words[room:])[-(KEPT_BYTES // 2) :]

    def text(self) -> bytes:
        """Return what is kept, and how much is not."""
        left_out = self.total_bytes - len(self.first) - len(self.last)
        between = b"\n[%d bytes left out]\n" % left_out if left_out else b""
        return self.first + between + self.last


def say_phase(phase: str) -> None:
    """Tell the host which phase begins."""
    os.write(1, f"lab: phase {phase}\n".encode())


def start_capture() -> subprocess.Popen[bytes]:
    """Start tcpdump and return once it captures."""
    child = subprocess.Popen(CAPTURE, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    words = b""
    while b"listening on" not in words:
        ready, _, _ = select.select([child.stderr], [], [], READY_S)
        read = os.read(child.stderr.fileno(), READ_BYTES) if ready else b""
        if not read:
            raise OSError(f"tcpdump does not capture: {words.decode(errors='replace').strip()}")
        words += read
    return child


def end_capture(child: subprocess.Popen[bytes]) -> None:
    """End tcpdump once it has been handed all packets."""
    time.sleep(BLOCK_S)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=END_S)


def run(words: list[str], folder: str, limit_s: float) -> tuple[dict[str, object], list[Kept]]:
    """Run a program to its end or its limit; return how it ended, and what it said."""
    env = {**os.environ, "PATH": PATH, "LD_PRELOAD": f"{TOOLS}/sleeping_times.so"}
    began_s = time.monotonic()
    child = subprocess.Popen(
        words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stderr is not None
    kept = {child.stdout.fileno(): Kept(), child.stderr.fileno(): Kept()}
    late = not _read_until_end(child, kept, began_s + limit_s)
    if late:
        os.killpg(child.pid, signal.SIGKILL)
    status = child.wait()
    ended: dict[str, object] = {"status": status, "late": late}
    ended |= {"virtual_s": round(time.monotonic() - began_s, 6)}
    return ended, list(kept.values())


def _read_until_end(
    child: subprocess.Popen[bytes], kept: dict[int, Kept], deadline_s: float
) -> bool:
    """Read a program's words until it ends; return whether that was before the deadline."""
    end = os.pidfd_open(child.pid)
    poll = select.poll()
    for handle in (end, *kept):
        poll.register(handle, select.POLLIN)
    left = {end, *kept}
    while left and (left_s := deadline_s - time.monotonic()) > 0:
        for handle, _ in poll.poll(left_s * 1000):
            words = os.read(handle, READ_BYTES) if handle != end else b""
            if words:
                kept[handle].add(words)
                continue
            poll.unregister(handle)
            left.discard(handle)
            if handle == end:
                deadline_s = min(deadline_s, time.monotonic() + LEFT_BEHIND_S)
    return end not in left


def main() -> int:
    """Run the case; return the exit status."""
    asked = json.loads((CELL / "case.json").read_text())
    say_phase("prepare")
    os.unshare(os.CLONE_NEWNET)  # type: ignore[attr-defined]  # from Python 3.12 on
    capture = start_capture()
    say_phase("script")
    ended, kept = run(asked["words"], asked["folder"], asked["limit_s"])
    say_phase("end the capture")
    end_capture(capture)
    for name, one in zip(("stdout", "stderr"), kept, strict=True):
        (CELL / name).write_bytes(one.text())
    (CELL / "result.json").write_text(json.dumps(ended, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
