"""What a tree's digest covers, what it leaves out, and how a change is named."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from model.errors import ParseError
from testbed.machine import contents


def make(folder: Path) -> Path:
    (folder / "lib" / "empty").mkdir(parents=True)
    (folder / "init").write_bytes(b"program")
    (folder / "init").chmod(0o700)
    (folder / "lib" / "text").write_bytes(b"\0text")
    (folder / "lib" / "link").symlink_to("../init")
    (folder / "lib" / "odd\nname\t\\").touch()
    (folder / os.fsdecode(b"not\xfftext")).touch()
    (folder / "build.log").write_text("took 5 s")
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = make(tmp_path / "tree")
    contents.settle(folder)
    return folder


def test_a_settled_tree_has_plain_modes_and_one_time(tree: Path) -> None:
    found = {path.name: path.lstat() for path in tree.rglob("*") if path.name != contents.RECORD}
    assert {about.st_mtime_ns for about in found.values()} == {contents.TIME_NS}
    assert oct(found["init"].st_mode & 0o7777) == oct(found["lib"].st_mode & 0o7777) == "0o755"
    assert oct(found["text"].st_mode & 0o7777) == "0o644"


def test_a_settled_tree_has_no_hard_links(tmp_path: Path) -> None:
    folder = make(tmp_path / "tree")
    (folder / "lib" / "twin").hardlink_to(folder / "init")
    contents.settle(folder)
    assert (folder / "init").stat().st_nlink == (folder / "lib" / "twin").stat().st_nlink == 1
    assert (folder / "lib" / "twin").read_bytes() == b"program"
    assert os.access(folder / "lib" / "twin", os.X_OK)
    assert contents.changed(folder, thorough=True) == []


def test_a_copy_for_its_owner_alone_gets_the_modes_of_the_build(tree: Path) -> None:
    kept = [path for path in (tree, *tree.rglob("*")) if path.name not in contents.LOGS]
    before = {path: path.lstat().st_mode for path in kept}
    for path in before:
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() or path.name == "init" else 0o600)
    assert contents.changed(tree, thorough=False) == []
    assert {path: path.lstat().st_mode for path in before} == before


def test_the_record_says_what_each_name_is(tree: Path) -> None:
    lines = (tree / contents.RECORD).read_text(errors="surrogateescape").splitlines()
    assert [line.partition("\t")[2] for line in lines] == sorted(
        [
            "init",
            "lib",
            "lib/empty",
            "lib/link",
            "lib/odd\\nname\\t\\\\",
            "lib/text",
            "not\udcfftext",
        ]
    )
    assert "link ../init\tlib/link" in lines
    assert "folder\tlib/empty" in lines
    assert f"program {hashlib.sha256(b'program').hexdigest()}\tinit" in lines
    assert f"file {hashlib.sha256(bytes([0]) + b'text').hexdigest()}\tlib/text" in lines


def test_time_place_umask_order_and_logs_do_not_matter(tree: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        copy = make(tmp_path / "elsewhere")
    finally:
        os.umask(before)
    (copy / "build.log").write_text("took 6 s")
    shutil.copy(copy / "init", copy / "again")
    (copy / "again").replace(copy / "init")
    contents.settle(copy)
    assert contents.digest(copy) == contents.digest(tree)
    for path in copy.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o700 if path.stat().st_mode & 0o100 else 0o600)
            path.touch()
    assert contents.changed(copy, thorough=True) == contents.changed(copy, thorough=False) == []


def flip(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])


def relink(path: Path) -> None:
    path.unlink()
    path.symlink_to("../lib")


CHANGES: list[tuple[str, Callable[[Path], object], list[str]]] = [
    ("lib/text", flip, ["lib/text: changed"]),
    ("lib/text", Path.unlink, ["lib/text: missing"]),
    ("lib/new", Path.touch, ["lib/new: new"]),
    ("lib/empty", Path.rmdir, ["lib/empty: missing"]),
    ("lib/link", relink, ["lib/link: changed"]),
    ("lib/text", lambda path: path.chmod(0o744), ["lib/text: changed"]),
    ("lib/new", os.mkfifo, ["lib/new: new"]),
    ("lib/build.log", Path.touch, ["lib/build.log: new"]),
    ("built", Path.unlink, ["built: No such file or directory"]),
]


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize(("name", "change", "lines"), CHANGES)
def test_what_changed_is_named(
    tree: Path, name: str, change: Callable[[Path], object], lines: list[str], thorough: bool
) -> None:
    change(tree / name)
    assert contents.changed(tree, thorough=thorough) == lines


def test_only_a_thorough_look_finds_what_kept_its_time(tree: Path) -> None:
    flip(tree / "lib" / "text")
    os.utime(tree / "lib" / "text", ns=(contents.TIME_NS, contents.TIME_NS))
    assert contents.changed(tree, thorough=False) == []
    assert contents.changed(tree, thorough=True) == ["lib/text: changed"]


def test_each_such_change_gives_another_digest(tree: Path) -> None:
    seen = [contents.digest(tree)]
    for change in (flip, lambda path: path.chmod(0o755), lambda path: path.rename(tree / "moved")):
        change(tree / "lib" / "text")
        contents.settle(tree)
        seen.append(contents.digest(tree))
    assert len(set(seen)) == 4


def test_a_folder_that_was_not_built(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="no record of what was built"):
        contents.digest(tmp_path)


def test_a_few_are_named_and_the_others_counted() -> None:
    assert contents.named(["a", "b"]) == "a; b"
    assert contents.named(list("abcdefgh")) == "a; b; c; d; e; and 3 more"
