"""A file at two places: however it is shared, neither place can spoil the other."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from testbed.store import share


def refused(*_: object, **_more: object) -> int:
    raise OSError(errno.EOPNOTSUPP, "no such thing here")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "pages.bin"
    path.parent.mkdir()
    path.write_bytes(b"what a lab left")
    return path


def test_where_no_blocks_can_be_shared_a_file_gets_a_second_name(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "ioctl", refused)
    target = tmp_path / "store" / "raw" / "pages.bin"
    assert share.share(source, target) == "link"
    assert target.samefile(source)
    assert stat.S_IMODE(target.stat().st_mode) == share.MODE
    assert [path.name for path in target.parent.iterdir()] == ["pages.bin"]


def test_where_there_are_no_links_it_is_copied(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "ioctl", refused)
    monkeypatch.setattr(os, "link", refused)
    target = tmp_path / "store" / "pages.bin"
    assert share.share(source, target) == "copy"
    assert not target.samefile(source)
    assert target.read_bytes() == b"what a lab left"


def test_on_another_file_system_it_is_copied_and_stays_as_it_was(source: Path) -> None:
    """``/dev/shm`` is one wherever tests run."""
    target = Path("/dev/shm") / f"groundtruth-{os.getpid()}-share"
    try:
        assert share.share(source, target) == "copy"
        assert target.read_bytes() == b"what a lab left"
        assert stat.S_IMODE(source.stat().st_mode) & stat.S_IWUSR
    finally:
        target.unlink()


def test_where_blocks_can_be_shared_each_is_a_file_of_its_own(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cloned(target: int, request: int, handle: int) -> int:
        assert request == 0x40049409  # FICLONE: _IOW(0x94, 9, int)
        os.write(target, os.pread(handle, 99, 0))
        return 0

    monkeypatch.setattr(fcntl, "ioctl", cloned)
    target = tmp_path / "store" / "pages.bin"
    assert share.share(source, target) == "clone"
    assert not target.samefile(source)
    assert target.read_bytes() == b"what a lab left"
    assert stat.S_IMODE(source.stat().st_mode) & stat.S_IWUSR


def test_nothing_is_written_over_and_no_link_is_followed(source: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(FileExistsError):
        share.share(source, taken)
    assert taken.read_text() == "mine"
    link = tmp_path / "link"
    link.symlink_to(source)
    with pytest.raises(OSError, match="wanted a plain file, got a link"):
        share.share(link, tmp_path / "target")
    with pytest.raises(FileNotFoundError):
        share.share(tmp_path / "none", tmp_path / "target")
    assert not (tmp_path / "target").exists()
