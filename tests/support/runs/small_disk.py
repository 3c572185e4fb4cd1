"""A file system that holds little, and a program that is alone in seeing it.

Root mounts it in a mount namespace of its own; a user becomes root of a user namespace for that,
and itself again inside, so that the program has no right that it would not have had.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
#: The shell's $1 is the place and $2 how large; the rest is what is run.
MOUNT = 'mount -t tmpfs -o "size=$2,mode=700" disk "$1" && shift 2 && exec "$@"'


def argv(place: Path, size_bytes: int, words: Sequence[str]) -> list[str]:
    """Return the words that run a program where ``place``, a folder, is such a file system."""
    own, back = ["unshare", "--mount", "--propagation", "private"], []
    if os.geteuid() != 0:
        own += ["--user", "--map-root-user"]
        user, group = f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}"
        back = ["unshare", "--user", user, group, "--"]
    shell = ["sh", "-c", MOUNT, "sh", str(place), str(size_bytes)]
    return [*own, "--", *shell, *back, *words]


def run(place: Path, size_bytes: int, words: Sequence[str], timeout_s: float) -> str:
    """Run a program so to its end; return what it printed, and fail if it did."""
    done = subprocess.run(
        argv(place, size_bytes, words), cwd=PROJECT, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def left_bytes(place: Path) -> int:
    """Return how much of a file system is free."""
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize


def fill(place: Path, but_bytes: int) -> Path:
    """Fill a file system but for so much; return the file that does."""
    ballast = place / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, left_bytes(place) - but_bytes)
    return ballast
