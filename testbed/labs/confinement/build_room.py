"""What a build may take of the host's disk and memory; looked at while it writes.

No disk of its own can be given to it without root, so its folder is measured. A walk through a
kernel's tree takes some tenths of a second; between walks the free space of the whole disk tells
when the next is due, within a poll, whatever others write there meanwhile.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from model.errors import BuildError
from testbed.labs.confinement import supervise
from testbed.labs.confinement.unnamed_files import unnamed_bytes

#: A whole kernel, its source with it, takes 1 GB and 72,000 files.
DISK_BYTES, FILES = 4_000_000_000, 500_000
#: The largest file, and all that it says.
FILE_BYTES, LOG_BYTES = 512 << 20, 256 << 20
#: Folders in memory.
SCRATCH_BYTES = {"/tmp": 1 << 30, "/run": 16 << 20}
#: How often a build is measured at least.
LOOK_S = 30.0
LIMITED = ("prlimit", f"--fsize={FILE_BYTES}", "--core=0")


class TooMuchError(BuildError):
    """A build took more of the disk than it may (exit status 3)."""


@dataclass(kw_only=True)
class Room:
    """The room that a build has in its folder; ``log`` is where its words go."""

    what: str
    folder: Path
    log: Path
    disk_bytes: int
    _until_s: float = 0.0
    _least_free_bytes: int = 0

    def check(self, process: int) -> None:
        """Look at what a build has taken, if that may be too much.

        Args:
            process: it and all that it started may hold files that have no name.

        Raises:
            TooMuchError: it is too much.
        """
        if self.log.stat().st_size > LOG_BYTES:
            raise self._too_much("its log", _mb(LOG_BYTES), "more")
        free_bytes = _free_bytes(self.folder)
        if time.monotonic() < self._until_s and free_bytes > self._least_free_bytes:
            return
        try:
            found = supervise.usage(self.folder, FILES)
        except PermissionError as error:  # that nobody can look into
            raise self._too_much("its folder", "what can be read", str(error)) from error
        taken_bytes = found.disk_bytes + unnamed_bytes(process, self.folder)
        if taken_bytes > self.disk_bytes:
            raise self._too_much("the disk", _mb(self.disk_bytes), _mb(taken_bytes))
        if found.files > FILES or found.depth > supervise.MOST_DEPTH:
            raise self._too_much(
                "files or folders", f"{FILES} files, {supervise.MOST_DEPTH} folders deep",
                f"{found.files} or more, {found.depth} deep",
            )  # fmt: skip
        self._least_free_bytes = free_bytes - (self.disk_bytes - taken_bytes)
        self._until_s = time.monotonic() + LOOK_S

    def _too_much(self, of: str, wanted: str, got: str) -> TooMuchError:
        return TooMuchError(
            f"cannot build {self.what}: it takes too much of {of}", wanted=f"at most {wanted}",
            got=got,
        )  # fmt: skip


def _free_bytes(folder: Path) -> int:
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize


def _mb(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
