"""A small git tree that calls itself Linux, and a cache of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 5\nEXTRAVERSION = -rc3\nNAME = Baby\n"
#: So that every commit has the same name everywhere.
DATES = {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
NAMES = {f"GIT_{who}_{what}": "one@example.org" for who in ("AUTHOR", "COMMITTER")
         for what in ("NAME", "EMAIL")}  # fmt: skip

Git = Callable[..., str]


def git_in(folder: Path, *words: str) -> str:
    """Return what git prints in a folder, as its owner would start it."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **DATES, **NAMES}
    return subprocess.run(
        ["git", "-C", str(folder), *words], env=env, capture_output=True, text=True, check=True,
        timeout=30,
    ).stdout.strip()  # fmt: skip


def commit_all(folder: Path) -> str:
    """Commit all that is in a tree; return the commit."""
    git_in(folder, "add", "--all")
    git_in(folder, "commit", "--quiet", "--message", "x")
    return git_in(folder, "rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is nobody else's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "groundtruth"


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    """A tree with one commit."""
    folder = tmp_path / "linux"
    (folder / "net").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / ".gitignore").write_text("*.o\n")
    (folder / "net" / "a.c").write_text("".join(f"int a{n};\n" for n in range(20)))
    (folder / "net" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "net" / "run.sh").chmod(0o755)
    (folder / "net" / "link").symlink_to("a.c")
    git_in(folder.parent, "init", "--quiet", "--initial-branch=main", str(folder))
    commit_all(folder)
    return folder
