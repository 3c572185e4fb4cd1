"""What a lab keeps on the disk without a name: files it removed and holds open.

Invariant: all descriptors of all its processes are looked through, which costs more than anything
else of watching a lab of a hundred processes; so only when the disk has less room than at the last
look by as much as would matter, and now and then in case that others made room meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

#: A look after this time, whatever the disk's room says; later, if the last took a fiftieth of it,
#: but not so late that a lab which makes looks dear would be unwatched.
LOOK_S, REST, LONGEST_REST_S = 5.0, 50.0, 20.0


def unnamed_bytes(process: int, folder: Path) -> int:
    """Return what a process and all it started keep open, without a name, on a folder's disk."""
    device = folder.stat().st_dev
    found: dict[int, int] = {}
    left = [process]
    while left:
        place = Path("/proc", str(left.pop()))
        with contextlib.suppress(OSError):  # it has ended
            for task in (place / "task").iterdir():
                left += map(int, (task / "children").read_text().split())
            for handle in (place / "fd").iterdir():
                with contextlib.suppress(OSError):
                    about = handle.stat()
                    if not about.st_nlink and about.st_dev == device and S_ISREG(about.st_mode):
                        found[about.st_ino] = about.st_blocks * 512
    return sum(found.values())


@dataclass(kw_only=True)
class UnnamedFiles:
    """Those of ``process`` on ``folder``'s disk; growth of less than ``matters_bytes`` may wait."""

    process: int
    folder: Path
    matters_bytes: int
    _bytes: int = 0
    _room_bytes: int = 0
    _next_s: float = 0.0

    def bytes(self) -> int:
        """Return what they took at the last look that was due, this one perhaps."""
        disk = os.statvfs(self.folder)
        room_bytes = disk.f_bfree * disk.f_frsize
        now_s = time.monotonic()
        if now_s >= self._next_s or room_bytes < self._room_bytes - self.matters_bytes:
            self._bytes = unnamed_bytes(self.process, self.folder)
            took_s = time.monotonic() - now_s
            rest_s = max(LOOK_S, min(REST * took_s, LONGEST_REST_S))
            self._room_bytes, self._next_s = room_bytes, now_s + rest_s
        return self._bytes
