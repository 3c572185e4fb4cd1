"""Room on this machine: what says that a disk is full, how much it has free, how much memory."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path

from model.errors import RunError
from model.words import size_text
from testbed.machine.causes import with_causes

#: With less left than this, a lab that failed is taken to have failed for want of room: its guest
#: does not say so.
LEAST_FREE_BYTES, LEAST_FREE_FILES = 64 << 20, 64
#: A full disk, one without free inodes, and a user's share of it used up.
FULL = (errno.ENOSPC, errno.EDQUOT)
MEMINFO, OWN_GROUP, GROUPS = (
    Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"),
)  # fmt: skip


def is_full(error: BaseException) -> bool:
    """Return whether something failed, or what it came of did, because a disk is full."""
    return any(isinstance(one, OSError) and one.errno in FULL for one in with_causes(error))


class FullDiskError(RunError):
    """A disk has no room left for what is to be written there."""


def has_little(place: Path) -> bool:
    """Return whether hardly a byte or a file can be added where a folder is; ``OSError`` as is."""
    disk = os.statvfs(existing(place))
    if disk.f_bavail * disk.f_frsize < LEAST_FREE_BYTES:
        return True
    return disk.f_files > 0 and disk.f_favail < LEAST_FREE_FILES


def full_disk(error: Exception, *places: Path) -> FullDiskError | None:
    """Return the error for a disk of which something failed because it is full, if it did.

    It is the one of the file that could not be written, or of the first of ``places`` with little
    room: a lab's guest does not say why it could write no more.
    """
    certain = is_full(error)
    if not certain and not isinstance(error, RunError):
        return None
    names = (getattr(one, "filename", None) for one in with_causes(error))
    every = [*(Path(name) for name in names if isinstance(name, str)), *places]
    little = [place for place in every if has_little(place)]
    if not certain and not little:
        return None
    where = existing((little or every)[0])
    disk = os.statvfs(where)
    got = f"{size_text(disk.f_bavail * disk.f_frsize)}"
    if disk.f_files > 0:
        got += f" and {disk.f_favail} files"
    return FullDiskError(
        "the disk is full", where=str(where), got=f"{got} free; {error}",
        hint="finished cells are kept; free some space, then go on with: groundtruth resume",
    )  # fmt: skip


def existing(place: Path) -> Path:
    """Return the folder that is there of one that need not be: it, or the nearest above."""
    place = place.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return place


def free_bytes(place: Path) -> int:
    """Return what this user may still write where a folder is, or will be; raise ``OSError``."""
    return shutil.disk_usage(existing(place)).free


def available_memory_bytes() -> int | None:
    """Return what programs can still take: of the machine, or of a control group's limit if less.

    None where the kernel does not say. What a group holds of files' contents can be had again.
    """
    known = [_meminfo()]
    with contextlib.suppress(OSError, ValueError):
        lines = OWN_GROUP.read_text().splitlines()
        name = next((line[3:] for line in lines if line.startswith("0::")), "/").lstrip("/")
        group = GROUPS / name
        known += [_left_in(one) for one in (group, *group.parents) if one.is_relative_to(GROUPS)]
    return min((one for one in known if one is not None), default=None)


def _meminfo() -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _left_in(group: Path) -> int | None:
    """Return what a control group (version 2) may still take; None if it has no limit."""
    with contextlib.suppress(OSError, ValueError):
        limit_bytes = int((group / "memory.max").read_text())  # "max" is none
        held_bytes = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return limit_bytes - held_bytes + int(stat["inactive_file"])
    return None
