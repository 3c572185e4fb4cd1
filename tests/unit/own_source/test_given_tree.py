"""Which tree, commit and version FOLDER[@REVISION] is; and what is said of what is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from model.errors import StudyError
from testbed.labs.virtual.own_source import git, given_tree
from testbed.labs.virtual.own_source.given_tree import opened, split
from tests.unit.own_source.conftest import MAKEFILE, commit_all, git_in


@pytest.mark.parametrize("text", ["6.12", "7.3+sctp-4th-duplicate", "6.12-g2aed543258ce", "old"])
def test_names_are_no_folders(text: str) -> None:
    assert not given_tree.is_given(text)


@pytest.mark.parametrize("text", ["~/linux", "./6.12", "../linux@v6.12", "/a/b", "linux@v6.12"])
def test_folders_are_told_from_names(text: str) -> None:
    assert given_tree.is_given(text)


def test_a_word_is_a_folder_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linux").mkdir()
    (tmp_path / "6.12").mkdir()
    assert given_tree.is_given("linux")
    assert not given_tree.is_given("6.12")
    assert given_tree.is_given("./6.12")


def test_a_folder_and_a_revision_may_both_have_an_at(tmp_path: Path) -> None:
    plain, at = tmp_path / "linux", tmp_path / "linux@home"
    plain.mkdir()
    at.mkdir()
    assert split(str(plain)) == (plain, "")
    assert split(f"{plain}@v6.12") == (plain, "v6.12")
    assert split(f"{plain}@HEAD@{{1}}") == (plain, "HEAD@{1}")
    assert split(str(at)) == (at, "")
    assert split(f"{at}@v6.12") == (at, "v6.12")


def test_home_is_found_where_no_shell_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "linux").mkdir()
    assert split("~/linux@v6") == (tmp_path / "linux", "v6")


def test_what_a_tree_is(linux: Path) -> None:
    commit = git_in(linux, "rev-parse", "HEAD")
    tree = opened(str(linux))
    assert (tree.commit, tree.version, tree.release) == (commit, "6.12", "6.12.5-rc3")
    assert tree.base == f"6.12-g{commit[:12]}"
    assert tree.checked_out
    assert not opened(f"{linux}@HEAD").checked_out


def test_revisions_are_gits(linux: Path) -> None:
    first = git_in(linux, "rev-parse", "HEAD")
    git_in(linux, "tag", "--annotate", "--message", "x", "v6.12.5")
    (linux / "Makefile").write_text(MAKEFILE.replace("12", "13", 1))
    second = commit_all(linux)
    for revision in ("v6.12.5", "HEAD~1", first, first[:9], "HEAD@{1}"):
        assert opened(f"{linux}@{revision}").commit == first
    assert opened(f"{linux}@main").commit == second
    assert opened(f"{linux}@main").version == "6.13"


def test_bare_trees_linked_worktrees_and_shallow_clones(linux: Path, tmp_path: Path) -> None:
    (linux / "net" / "a.c").write_text("int b;\n")
    commit = commit_all(linux)
    git_in(linux, "clone", "--quiet", "--bare", str(linux), str(tmp_path / "bare.git"))
    git_in(linux, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    git_in(linux, "clone", "--quiet", "--depth=1", f"file://{linux}", str(tmp_path / "shallow"))
    assert opened(str(tmp_path / "bare.git")).checked_out is False
    assert opened(str(linux / ".git")).checked_out is False
    linked = opened(str(tmp_path / "linked"))
    assert linked.checked_out
    assert linked.objects == linux / ".git" / "objects"
    for name in ("bare.git", "linked", "shallow"):
        assert opened(str(tmp_path / name)).commit == commit
    with pytest.raises(StudyError, match=r"no such revision.*the tree is shallow: git fetch --"):
        opened(f"{tmp_path / 'shallow'}@HEAD~1")


def test_a_tree_of_another_user_is_read(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git_in(linux, "rev-parse", "HEAD")
    if os.geteuid() == 0:
        for place, folders, files in os.walk(linux):
            for name in (*folders, *files, "."):
                os.chown(Path(place, name), 12345, 12345, follow_symlinks=False)
    # With this git takes every tree for another's, and refuses it unless told that it is safe.
    foreign, plain = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}, git.environment
    asked = ["git", "-C", str(linux), "rev-parse", "HEAD"]
    refused = subprocess.run(asked, env={**os.environ, **foreign}, capture_output=True, timeout=30)
    assert b"dubious ownership" in refused.stderr
    monkeypatch.setattr(git, "environment", lambda more=None: {**plain(more), **foreign})
    assert opened(str(linux)).commit == commit


@pytest.mark.parametrize("revision", ["", "-x", "--output=/x", "a b", "a\nb"])
def test_what_cannot_be_a_revision(linux: Path, revision: str) -> None:
    with pytest.raises(
        StudyError, match=r"^KERNEL: not a revision: wanted a commit, tag or branch"
    ):
        opened(f"{linux}@{revision}")


def test_what_is_no_tree(linux: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "to-net").symlink_to(linux / "net")
    at_colon = tmp_path / "a:b"
    linux_there = at_colon / "linux"
    at_colon.mkdir()
    git_in(tmp_path, "clone", "--quiet", str(linux), str(linux_there))
    for text, said in (
        (f"{tmp_path}/nowhere", "no such folder"),
        (f"{tmp_path}/nowhere@v6.12", "no such folder"),
        (f"{tmp_path}/file", "a file"),
        (f"{tmp_path}/empty", "not a git repository"),
        (f"{linux}/net", "not a git repository"),
        (f"{tmp_path}/to-net", "not a git repository"),
        (f"{linux_there}/net", "inside a git tree, and not its top folder"),
        ("x" * 5000, "no such folder"),
        ("/x\0y", "no such folder"),
    ):
        with pytest.raises(StudyError, match=rf"wanted a git tree of Linux, as FOLDER.*{said}"):
            opened(text)
    with pytest.raises(StudyError, match=r"no such revision: wanted .*, got v99: "):
        opened(f"{linux}@v99")


def test_a_tree_without_a_commit(tmp_path: Path) -> None:
    git_in(tmp_path, "init", "--quiet", "new")
    with pytest.raises(StudyError, match=r"no such revision: wanted .*, got HEAD: "):
        opened(str(tmp_path / "new"))


@pytest.mark.parametrize(
    ("makefile", "said"),
    [
        (None, "not Linux: .* has no Makefile that can be read"),
        ("all:\n\techo\n", "not Linux: .* says no VERSION"),
        ("VERSION = 6\n", "not Linux: .* says no PATCHLEVEL"),
        ("VERSION = $(shell id)\nPATCHLEVEL = 1\n", "not Linux: .* says no VERSION"),
        ("VERSION = 2\nPATCHLEVEL = 6\n", r"too old .*: wanted Linux 5.19 or newer, got 2\.6"),
        ("VERSION = 600\nPATCHLEVEL = 1\n", r"not a version of Linux: got 600\.1"),
    ],
)
def test_what_is_not_linux(linux: Path, makefile: str | None, said: str) -> None:
    (linux / "Makefile").unlink()
    if makefile is not None:
        (linux / "Makefile").write_text(makefile)
    commit_all(linux)
    with pytest.raises(StudyError, match=said):
        opened(str(linux))


def test_nothing_that_a_tree_configures_is_run(linux: Path, tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external",
                "filter.x.clean", "filter.x.smudge", "diff.x.textconv", "alias.log"):  # fmt: skip
        git_in(linux, "config", key, str(script))
    git_in(linux, "config", "extensions.partialClone", "origin")
    git_in(linux, "config", "remote.origin.url", f"ext::{script}")
    git_in(linux, "config", "remote.origin.promisor", "true")
    (linux / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    opened(str(linux))
    with pytest.raises(StudyError):
        opened(f"{linux}@{'1' * 40}")
    assert not mark.exists()


def test_a_copy_of_a_tree_is_the_same_kernel(linux: Path, tmp_path: Path) -> None:
    shutil.copytree(linux, tmp_path / "copy", symlinks=True)
    assert opened(str(tmp_path / "copy")).base == opened(str(linux)).base


def test_a_folder_with_a_line_end_in_its_name_is_told(linux: Path) -> None:
    linux = linux.rename(linux.with_name("li\nnux"))
    with pytest.raises(StudyError, match=r"(?s)not a git tree.*a line end in the folder's name"):
        opened(str(linux))
