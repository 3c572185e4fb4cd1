"""What a build may take of the disk: what counts, when it is looked at, what is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testbed.labs.confinement import build_room, supervise
from testbed.labs.confinement.build_room import Room, TooMuchError

MB = 1_000_000


@pytest.fixture
def room(tmp_path: Path) -> Room:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "build.log").write_text("CC a.o\n")
    return Room(what="kernel x", folder=folder, log=folder / "build.log", disk_bytes=2 * MB)


def test_what_is_within_it(room: Room) -> None:
    (room.folder / "small").write_bytes(bytes(MB))
    room.check(os.getpid())
    os.truncate(room.folder / "small", 1 << 40)  # of which the disk has a few blocks
    Room(what="x", folder=room.folder, log=room.log, disk_bytes=2 * MB).check(os.getpid())


def test_files_and_what_has_no_name_any_more_count_together(room: Room) -> None:
    (room.folder / "named").write_bytes(bytes(MB))
    with (room.folder / "unnamed").open("wb") as file:
        file.write(bytes(MB + MB // 2))
        file.flush()
        (room.folder / "unnamed").unlink()
        with pytest.raises(TooMuchError) as caught:
            room.check(os.getpid())
    assert str(caught.value).startswith(
        "cannot build kernel x: it takes too much of the disk: wanted at most 2 MB, got "
    )
    assert caught.value.exit_status == 3
    room.check(os.getpid())  # it is closed: the disk has it no more


def test_files_and_folders_are_counted(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_room, "FILES", 10)
    for number in range(10):
        (room.folder / str(number)).touch()
    with pytest.raises(
        TooMuchError, match=r"files or folders: wanted at most 10 files, 16 folders"
    ):
        room.check(os.getpid())
    monkeypatch.setattr(build_room, "FILES", 1000)
    (room.folder / "/".join("d" * (supervise.MOST_DEPTH + 1))).mkdir(parents=True)
    with pytest.raises(TooMuchError, match=r", got \d+ or more, 17 deep$"):
        room.check(os.getpid())


def test_its_words_are_bounded(room: Room) -> None:
    os.truncate(room.log, build_room.LOG_BYTES + 1)
    with pytest.raises(TooMuchError, match=r"of its log: wanted at most 268 MB, got more$"):
        room.check(os.getpid())


def test_what_cannot_be_looked_into_is_too_much(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "closed")

    monkeypatch.setattr(supervise, "usage", refused)
    with pytest.raises(TooMuchError, match=r"wanted at most what can be read.*'closed'"):
        room.check(os.getpid())


def test_it_is_walked_when_the_disk_has_less_by_what_is_left(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[Path] = []
    usage, free_bytes, now_s = supervise.usage, [100 * MB], [1000.0]

    def walked(folder: Path, most_files: int) -> supervise.Usage:
        walks.append(folder)
        return usage(folder, most_files)

    monkeypatch.setattr(supervise, "usage", walked)
    monkeypatch.setattr(build_room, "_free_bytes", lambda _: free_bytes[0])
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    for free, now, walks_then in (
        (100, 1000, 1), (99, 1001, 1), (97, 1002, 2), (96, 1003, 2), (94, 1004, 3),
        (200, 1005, 3), (200, 1003 + build_room.LOOK_S, 3), (200, 1005 + build_room.LOOK_S, 4),
    ):  # fmt: skip
        free_bytes[0], now_s[0] = free * MB, now
        room.check(os.getpid())
        assert len(walks) == walks_then, free
