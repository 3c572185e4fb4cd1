"""Whom a sandbox runs as: never as root, and as nobody else who is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.errors import UnsupportedError
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.lab_user import (
    FIRST_OF_CONTAINER,
    FIRST_UNUSED,
    STARTER,
    choose,
    mapped,
)

HOST = "         0          0 4294967295\n"
CONTAINER = "0 100000 65536\n"
ROOTLESS = "         0       1000          1\n         1     100000      65536\n"
ONE_USER = "0 1000 1\n"
ONLY_ROOT = "0 0 1\n"


def test_on_a_host_each_thread_has_an_id_no_account_has() -> None:
    assert choose(mapped(HOST), 4242) == FIRST_UNUSED + 4242
    assert choose(mapped(HOST), 4243) != choose(mapped(HOST), 4242)
    highest = choose(mapped(HOST), (1 << 22) - 1)
    assert highest < 2**31


@pytest.mark.parametrize("text", [CONTAINER, ROOTLESS])
def test_in_a_container_the_id_exists_there(text: str) -> None:
    for thread in (1, 4095, 4096, 4_000_000):
        uid = choose(mapped(text), thread)
        assert FIRST_OF_CONTAINER <= uid < 65_520


def test_a_user_called_root_stays_that_user() -> None:
    assert choose(mapped(ONE_USER), 7) == STARTER


@pytest.mark.parametrize(("text", "got"), [(ONLY_ROOT, "1 from 0"), ("", "none")])
def test_root_that_can_be_nobody_else_is_told_at_once(text: str, got: str) -> None:
    with pytest.raises(UnsupportedError, match=f"no other user id to run a lab as.*got {got}"):
        choose(mapped(text), 7)


def test_an_ordinary_user_starts_as_that_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert lab_user.of_sandbox() == STARTER


def test_root_lends_a_tree_and_takes_it_back_without_following_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").touch()
    outside.touch()
    (folder / "link").symlink_to(outside)
    changed: list[tuple[str, int, bool]] = []

    def chown(path: Path, uid: int, gid: int, *, follow_symlinks: bool = True) -> None:
        assert uid == gid
        changed.append((str(path.relative_to(tmp_path)), uid, follow_symlinks))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", chown)
    monkeypatch.setattr(lab_user, "of_sandbox", lambda: 77)
    with lab_user.lent(folder) as uid:
        assert uid == 77
        names = {"folder", "folder/sub", "folder/sub/file", "folder/link"}
        assert {name for name, owner, _ in changed if owner == 77} == names
        assert not any(follow for name, _, follow in changed if name == "folder/link")
        changed.clear()
    assert {name for name, owner, _ in changed if owner == 0} == names


def test_a_user_changes_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "chown", lambda *_, **__: pytest.fail("changed an owner"))
    with lab_user.lent(tmp_path) as uid:
        assert uid == STARTER
