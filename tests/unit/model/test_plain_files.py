"""Files of a run are plain ones: anything else is named, and nothing is followed or waited for."""

from __future__ import annotations

import errno
import hashlib
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from model import plain_files
from testbed.machine import trees
from tests.unit.labs.test_accept import nested


@pytest.mark.timeout(20)
def test_only_plain_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("abc")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "socket"))
    assert plain_files.read_text(tmp_path / "file") == "abc"
    for name, got in (("link", "a link"), ("fifo", "a FIFO"), ("folder", "a folder"),
                      ("socket", "a socket")):  # fmt: skip
        with pytest.raises(OSError, match=f"wanted a plain file, got {got}") as caught:
            plain_files.read_bytes(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
        assert not plain_files.is_file(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        plain_files.read_bytes(tmp_path / "nothing")
    with pytest.raises(OSError, match="wanted a plain file, got a device"):
        plain_files.read_bytes(Path("/dev/zero"))


def test_a_large_file_is_hashed_in_pieces_and_holes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(512 << 20)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with path.open("rb") as file:
        assert plain_files.sha256(path) == hashlib.file_digest(file, "sha256").hexdigest()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 50 << 10
    with pytest.raises(OSError, match="wanted at most 1000 bytes, got 536870912"):
        plain_files.read_bytes(path, 1000)
    os.truncate(path, 2 << 30)
    with pytest.raises(OSError, match="wanted a file without holes, got 0 of 2147483648 bytes"):
        plain_files.sha256(path)
    os.truncate(path, 4 << 40)
    with pytest.raises(OSError, match="wanted at most 17179869184 bytes, got 4398046511104"):
        plain_files.sha256(path)


def test_what_is_no_file_or_folder_is_found_below(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").touch()
    (tmp_path / "a" / "d").touch()
    (tmp_path / ".guest").mkdir()
    (tmp_path / ".guest" / "link").symlink_to("/")
    assert [name for name, _ in plain_files.files(tmp_path, (".guest",))] == ["a/d", "a/b/c"]
    with pytest.raises(OSError, match=r"wanted a plain file or a folder, got a link.*guest/link"):
        list(plain_files.files(tmp_path))


@pytest.mark.timeout(60)
def test_a_tree_of_any_depth_is_refused_and_removed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "locked").mkdir(parents=True)
    (tree / "locked" / "file").touch()
    (tree / "locked").chmod(0)
    nested(tree, tmp_path)
    (tmp_path / "kept").write_text("kept")
    (tree / "link").symlink_to(tmp_path / "kept")
    (tree / "folder link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="wanted"):
        list(plain_files.files(tree))
    trees.remove(tree)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    trees.remove(tmp_path / "link")
    trees.remove(tmp_path / "nothing")
    assert (tmp_path / "kept").read_text() == "kept"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("untouched")
    for name in ("timing.json", ".timing.json"):
        (tmp_path / name).symlink_to("outside/file")
    (tmp_path / "report").symlink_to("outside")
    plain_files.write(tmp_path / "timing.json", b"new")
    assert (tmp_path / "timing.json").read_text() == "new"
    with pytest.raises(OSError, match="wanted a folder, got a link"):
        plain_files.write(tmp_path / "report" / "index.html", b"new", unlocked=True)
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["file"]
    assert (tmp_path / "outside" / "file").read_text() == "untouched"
    assert (tmp_path / "timing.json").stat().st_mode & 0o777 == plain_files.MODE


def test_what_could_not_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    plain_files.write(tmp_path / "x", b"old")

    def pieces() -> object:
        yield b"new"
        raise OSError(errno.ENOSPC, "full")

    for unlocked in (False, True):
        with pytest.raises(OSError, match="full"):
            plain_files.write_pieces(tmp_path / "x", pieces(), unlocked=unlocked)  # type: ignore[arg-type]
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"old"


WRITER = """
import sys, time
from pathlib import Path
from model import plain_files
def pieces():
    yield b"half"
    print("half", flush=True)
    time.sleep(60)
plain_files.write_pieces(Path(sys.argv[1]), pieces(), unlocked=True)
"""


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    argv = [sys.executable, "-c", WRITER, str(tmp_path / "x")]
    plain_files.write(tmp_path / "x", b"old", unlocked=True)
    with subprocess.Popen(argv, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        plain_files.write(tmp_path / "x", b"new", unlocked=True)
        assert len(list(tmp_path.iterdir())) == 2
        writer.kill()
    assert (tmp_path / "x").read_text() == "new"
    (tmp_path / ".x.y").symlink_to("x")  # whose else that may be
    plain_files.write(tmp_path / "x", b"newer", unlocked=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".x.y", "x"]
