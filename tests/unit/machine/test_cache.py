"""The cache: built once whatever happens, whole or not at all, never outside its folder."""

from __future__ import annotations

import collections
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from model.errors import RunError, UnsupportedError
from testbed.machine import cache, trees

Usage = collections.namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "groundtruth"


def entries(root: Path) -> list[str]:
    """Return what is in the cache but for its locks."""
    return sorted(path.name for path in root.iterdir())


def test_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache.root() == tmp_path / "groundtruth"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache.root() == Path("/home/someone/.cache/groundtruth")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache.root() == Path("/home/someone/.cache/groundtruth")


def test_digest_tells_parts_apart() -> None:
    # sha256("1:a2:bc"), its first 16 digits
    assert cache.digest_of("a", "bc") == cache.digest_of(b"a", b"bc") == "5310a58788781ab2"
    assert len({cache.digest_of(*parts) for parts in (("a", "bc"), ("ab", "c"), ("abc",))}) == 3


def test_files_digest_knows_names_and_contents_but_no_order(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("1")
    b.write_text("2")
    first = cache.files_digest([("a", a), ("b", b)])
    assert cache.files_digest([("b", b), ("a", a)]) == first
    assert cache.files_digest([("a", a), ("c", b)]) != first
    assert cache.files_digest([("b", a), ("a", b)]) != first
    b.write_text("3")
    assert cache.files_digest([("a", a), ("b", b)]) != first


def test_an_entry_is_built_once(root: Path) -> None:
    built: list[Path] = []

    def build(folder: Path) -> None:
        built.append(folder)
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o777 == 0o755
        (folder / "linux").write_text("kernel")

    place = cache.entry("kernel-7.3", "abc", build)
    assert place == root / "kernel-7.3-abc"
    assert (place / "linux").read_text() == "kernel"
    assert cache.entry("kernel-7.3", "abc", build) == place
    assert cache.entry("kernel-7.3", "xyz", build) != place
    assert len(built) == 2
    assert {folder.parent for folder in built} == {root}
    assert entries(root) == ["kernel-7.3-abc", "kernel-7.3-xyz"]


@pytest.mark.parametrize("error", [RunError("build failed"), KeyboardInterrupt(), ValueError("x")])
def test_a_failed_build_leaves_nothing(root: Path, error: BaseException) -> None:
    def build(folder: Path) -> None:
        (folder / "half").mkdir()
        raise error

    with pytest.raises(type(error)):
        cache.entry("code", "abc", build)
    assert entries(root) == []
    cache.entry("code", "abc", lambda folder: None)
    assert entries(root) == ["code-abc"]


def test_a_disk_that_fails_a_build_is_named(root: Path) -> None:
    def build(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(RunError, match=rf"^{root}/code-abc: cannot build code: got .*No space"):
        cache.entry("code", "abc", build)
    assert entries(root) == []


def test_left_overs_of_killed_builds_are_removed(root: Path) -> None:
    for name in (".building-x1", ".building-x2", ".build", "code-old"):
        (root / name / "deep").mkdir(parents=True)
        (root / name / "deep" / "file").touch()
    cache.entry("code", "abc", lambda folder: None)
    assert entries(root) == [".build", "code-abc", "code-old"]


def test_what_another_builds_is_left_alone(root: Path) -> None:
    def build(folder: Path) -> None:
        cache.entry("tool", "abc", lambda folder: None)
        assert folder.is_dir()

    cache.entry("image", "abc", build)
    assert entries(root) == ["image-abc", "tool-abc"]


def test_threads_build_an_entry_once(root: Path) -> None:
    built: list[int] = []
    all_here = threading.Barrier(8)

    def build(folder: Path) -> None:
        built.append(threading.get_ident())
        (folder / "f").touch()

    def ask(_: int) -> Path:
        all_here.wait(5)
        return cache.entry("image", "abc", build)

    with ThreadPoolExecutor(8) as pool:
        places = set(pool.map(ask, range(8)))
    assert (len(built), places) == (1, {root / "image-abc"})


BUILDER = """
import os, sys
from pathlib import Path
from testbed.machine import cache
def build(folder):
    with open(sys.argv[1], "a") as log:
        log.write(f"{os.getpid()}\\n")
    (folder / "f").write_text("whole")
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdin.readline()
print((cache.entry("image", "abc", build) / "f").read_text())
"""


def test_processes_build_an_entry_once(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    builders = [
        subprocess.Popen(
            [sys.executable, "-c", BUILDER, str(log)],
            cwd=Path(__file__).parents[3],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for builder in builders:
        assert builder.stdout is not None
        assert builder.stdout.readline() == "ready\n"
    ended = [builder.communicate("go\n", timeout=30)[0] for builder in builders]
    assert ended == ["whole\n"] * 3
    assert len(log.read_text().splitlines()) == 1


def test_a_lock_is_held_against_others_and_given_back(root: Path) -> None:
    waiting, got = threading.Event(), threading.Event()

    def other() -> None:
        waiting.set()
        with cache.locked("image"):
            got.set()

    with cache.locked("image"):
        thread = threading.Thread(target=other)
        thread.start()
        assert waiting.wait(5)
        with cache.locked("another"):
            assert not got.wait(0.05)
    assert got.wait(5)
    thread.join(5)


def test_who_waits_for_anothers_build_says_so_once(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    got = threading.Event()

    def other() -> None:
        with cache.locked("kernel-6.12"):
            got.set()

    thread, said, deadline_s = threading.Thread(target=other), "", time.monotonic() + 20
    with cache.locked("kernel-6.12"):
        assert capsys.readouterr().err == ""
        thread.start()
        while not said:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
            said = capsys.readouterr().err
        assert not got.is_set()
    thread.join(20)
    assert got.is_set()
    assert said + capsys.readouterr().err == (
        "waiting for another process, which builds kernel-6.12\n"
    )


def test_a_lock_leaves_no_file_and_lets_in_one_at_a_time(root: Path) -> None:
    inside, most, times = 0, 0, 0
    guard = threading.Lock()

    def enter() -> None:
        nonlocal inside, most, times
        for _ in range(50):
            with cache.locked("kernel-6.12"):
                with guard:
                    inside, times = inside + 1, times + 1
                    most = max(most, inside)
                with guard:
                    inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (most, times, inside) == (1, 400, 0)
    assert list(root.iterdir()) == []
    with pytest.raises(RunError), cache.locked("kernel-6.12"):
        raise RunError("the block failed")
    assert list(root.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(UnsupportedError) as caught:
        cache.entry("code", "abc", lambda folder: None)
    assert str(caught.value) == (
        f"{root}: cannot write to the cache: got [Errno 13] Permission denied: '{root}' "
        "(set XDG_CACHE_HOME to a folder of yours)"
    )
    assert caught.value.exit_status == 4


def test_a_file_in_the_place_of_the_cache_is_named(root: Path) -> None:
    root.write_text("in the way")
    with pytest.raises(UnsupportedError, match=r"cannot write to the cache: got .*File exists"):
        cache.entry("code", "abc", lambda folder: None)


def test_need_space(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[Path] = []

    def usage(place: Path) -> Usage:
        requested.append(place)
        return Usage(total=10_000_000_000, used=0, free=1_200_000_000)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    cache.need_space(root / "not" / "there", 1_200_000_000, "the kernel")
    assert requested == [root.parent]  # the nearest folder that exists
    with pytest.raises(UnsupportedError) as caught:
        cache.need_space(root, 1_500_000_000, "the lab's image")
    assert str(caught.value) == (
        f"{root}: no disk space for the lab's image: wanted 1.5 GB free, got 1.2 GB "
        "(free some space, or set XDG_CACHE_HOME to a larger disk)"
    )


def test_what_is_mounted_in_a_left_over_is_named_and_nothing_is_touched(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left = root / ".building-x1"
    left.mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"80 22 0:21 / {left}/dev/shm rw - tmpfs none rw\n")
    monkeypatch.setattr(trees, "MOUNTS", mounts)
    with pytest.raises(RunError, match=rf"^{left}: not removed, .*got {left}/dev/shm \(as root: "):
        cache.entry("image", "abc", lambda folder: None)
    assert left.is_dir()
