"""Room on the machine: full disks told from other failures, memory of it or of a control group."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from model.errors import MachineError, ParseError, RunError
from testbed.machine import room

GIB = 1 << 30


@pytest.mark.parametrize("number", room.FULL)
def test_a_full_disk_is_seen_behind_other_errors(number: int) -> None:
    first, last = OSError(number, "full"), MachineError("the lab ended")
    between = RunError("cannot write")
    between.__cause__, last.__cause__ = first, between
    assert room.is_full(first)
    assert room.is_full(last)


def test_other_failures_are_no_full_disk() -> None:
    assert not room.is_full(OSError(errno.EIO, "broken"))
    assert not room.is_full(MachineError("killed"))


@pytest.mark.parametrize(
    ("free", "files", "free_files", "little"),
    [(1 << 30, 1000, 500, False), (1 << 20, 1000, 500, True), (1 << 30, 1000, 3, True),
     (1 << 30, 0, 0, False)],
    ids=["room", "no bytes", "no inodes", "a file system without inodes"],
)  # fmt: skip
def test_a_disk_has_little_left_of_bytes_or_of_inodes(
    free: int, files: int, free_files: int, little: bool, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    disk = SimpleNamespace(f_bavail=free, f_frsize=1, f_files=files, f_favail=free_files)
    monkeypatch.setattr(os, "statvfs", lambda _: disk)
    assert room.has_little(tmp_path) == little
    found = room.full_disk(RunError("the agent failed"), tmp_path)
    assert (found is not None) == little
    assert room.full_disk(ParseError("not JSON"), tmp_path) is None


def test_the_disk_that_is_full_is_that_of_the_file_that_could_not_be_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    error = OSError(errno.ENOSPC, "No space left", str(tmp_path / "a" / "file"))
    found = room.full_disk(error, tmp_path / "b")
    assert found is not None
    assert found.where == str(tmp_path / "a")


def test_it_is_also_that_of_the_file_an_error_came_of(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    error = RunError("cannot write")
    error.__cause__ = OSError(errno.EDQUOT, "quota", str(tmp_path / "a" / "file"))
    error.__cause__.__cause__ = error  # Python lets errors be of each other
    found = room.full_disk(error, tmp_path / "b")
    assert found is not None
    assert found.where == str(tmp_path / "a")
    assert room.is_full(error)


def test_a_folder_that_is_not_there_has_the_room_of_the_one_above(tmp_path: Path) -> None:
    assert room.existing(tmp_path / "a" / "b") == tmp_path
    assert room.free_bytes(tmp_path / "a" / "b") > 0


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of control groups of a machine with 8 GiB, this process in a/b."""
    meminfo, own, groups = (tmp_path / name for name in ("meminfo", "cgroup", "groups"))
    meminfo.write_text("MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n")
    own.write_text("0::/a/b\n")
    (groups / "a" / "b").mkdir(parents=True)
    for name, path in (("MEMINFO", meminfo), ("OWN_GROUP", own), ("GROUPS", groups)):
        monkeypatch.setattr(room, name, path)
    return groups


def limit(group: Path, most: str, held: int, of_files: int) -> None:
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{held}\n")
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {of_files}\n")


def test_memory_is_what_the_machine_has_left(machine: Path) -> None:
    assert room.available_memory_bytes() == 8 * GIB


def test_memory_is_what_the_narrowest_group_has_left(machine: Path) -> None:
    limit(machine / "a" / "b", "max", 3 * GIB, 0)
    assert room.available_memory_bytes() == 8 * GIB
    limit(machine / "a", str(4 * GIB), 3 * GIB, GIB // 2)
    assert room.available_memory_bytes() == 4 * GIB - 3 * GIB + GIB // 2
    limit(machine / "a" / "b", str(GIB), GIB // 4, 0)
    assert room.available_memory_bytes() == GIB - GIB // 4


def test_memory_that_nothing_tells_of_is_unknown(machine: Path) -> None:
    room.MEMINFO.unlink()
    room.OWN_GROUP.unlink()
    assert room.available_memory_bytes() is None
