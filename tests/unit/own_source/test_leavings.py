"""Whether a copy is as it was laid, whatever a makefile has put there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.labs.virtual.own_source import export, leavings
from testbed.labs.virtual.own_source.given_tree import opened
from tests.unit.own_source.conftest import linux, own_cache

__all__ = ["linux", "own_cache"]
ERROR = "net/a.c:1:1: error: wrong\n"


@pytest.fixture
def files(linux: Path, tmp_path: Path) -> export.Listing:
    tree = opened(str(linux))
    return export.patched(tree.borrowed(tmp_path / "ours"), tree.commit, [])


def to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def to_link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved").name)


def folder_to_link(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to("moved")


@pytest.mark.parametrize(
    "leave",
    [lambda path: path.write_text("x"), Path.unlink, to_fifo, to_link, folder_to_link,
     lambda path: (path.with_name("link").unlink(), path.with_name("link").symlink_to("b.c"))],
)  # fmt: skip
def test_a_copy_that_is_not_as_laid(
    leave: Callable[[Path], object], linux: Path, files: export.Listing
) -> None:
    shutil.rmtree(linux / ".git")
    (linux / "net" / "a.o").touch()  # what a build makes is no part of it
    assert list(leavings.differing(linux, files)) == []
    assert not leavings.may_be_why(ERROR, linux, files)
    leave(linux / "net" / "a.c")
    assert leavings.may_be_why(ERROR, linux, files)


def test_what_is_told_of_other_files_may_come_of_them(linux: Path, files: export.Listing) -> None:
    assert leavings.may_be_why("net/made.h:1:1: error: wrong\n" + ERROR, linux, files)
    assert leavings.may_be_why("ld: multiple definition of `x'\n", linux, files)
    assert not leavings.may_be_why(
        "this kernel did not take: CONFIG_X=y (in no Kconfig file)\n", linux, files
    )


def test_what_the_lab_itself_edits_does_not_count(linux: Path, files: export.Listing) -> None:
    (path,) = leavings.EDITED
    assert not leavings.may_be_why(ERROR, linux, {**files, path: ("100644", "0" * 40)})
