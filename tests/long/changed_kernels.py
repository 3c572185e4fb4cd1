"""Commits of a git tree, built one after the other, are to the byte those built in a new copy.

    python -m pytest tests/long/changed_kernels.py

Some ten minutes: it builds two whole kernels. The tree is made of Debian's source.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from model.errors import BuildError
from testbed.labs.booted import debian
from testbed.labs.virtual import kernel, patched_kernel, tree_kernel, virtual_lab
from testbed.machine import cache, trees
from tests.lab.kernels.mechanism_facts import BY_PATCH, PLAIN, facts

pytestmark = pytest.mark.timeout(7200)
PATCH = "sctp-4th-duplicate"
#: Of the kernel's, 16 duplicates fit in a report; User-Mode Linux looks for it elsewhere first.
HEADER = "net/sctp/constants.h"
#: What a commit takes that differs in one file; a whole build takes minutes.
INCREMENTAL_S = 90.0
UNPACK = (
    'dpkg-deb --fsys-tarfile "$1" | tar -xO "./usr/src/linux-source-$2.tar.xz" | '
    'tar -xJ -C "$3" --strip-components=1'
)


@dataclass(frozen=True)
class Tree:
    """A git tree of Linux and what is done with it."""

    folder: Path

    def git(self, *words: str) -> str:
        """Return what git prints in it."""
        named = ("-c", "user.name=one", "-c", "user.email=one@example.org", "-c", "gc.auto=0")
        return subprocess.run(
            ["git", "-C", str(self.folder), *named, *words], capture_output=True, text=True,
            check=True, timeout=600,
        ).stdout.strip()  # fmt: skip

    def commit(self, what: str) -> str:
        """Commit all; return the name of that kernel."""
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--message", what)
        return tree_kernel.named(f"{self.folder}@HEAD")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    place = tmp_path_factory.mktemp("tree")
    with debian.lists() as apt:
        package = apt.download(kernel.package("6.12"), place)
    folder = place / "linux"
    folder.mkdir()
    words = ["bash", "-euo", "pipefail", "-c", UNPACK, "bash", str(package), "6.12", str(folder)]
    subprocess.run(words, check=True, timeout=1800)
    made = Tree(folder)
    made.git("init", "--quiet", "--initial-branch=main", ".")
    before = set(cache.root().iterdir())
    yield made
    for left in set(cache.root().iterdir()) - before:
        if left.name.startswith(("kernel-6.12-g", "kept-tree-6.12-")):
            trees.remove(left)


def built(name: str) -> tuple[str, float]:
    """Build a kernel that is not there; return its digest, and how long that took."""
    began_s = time.monotonic()
    lab = virtual_lab.ensure(name, lambda _what, _done: None)
    return digest(lab), time.monotonic() - began_s


def digest(lab: virtual_lab.VirtualLab) -> str:
    with (lab.kernel / "linux").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def forget(name: str, *, copies: bool) -> None:
    """Remove a kernel, and what it could be built in."""
    names = [f"kernel-{name}-*"] + ["kept-tree-6.12-*"] * copies
    for place in (one for pattern in names for one in cache.root().glob(pattern)):
        with contextlib.suppress(FileNotFoundError):
            trees.remove(place)


def test_commits_one_after_the_other(tree: Tree, tmp_path: Path) -> None:
    plain = tree.commit("as Debian has it")
    first, _ = built(plain)
    patch = patched_kernel.PATCHES / f"{PATCH}.patch"
    tree.git("apply", str(patch))
    changed = tree.commit(PATCH)
    second, took_s = built(changed)
    assert second != first
    assert took_s < INCREMENTAL_S

    lab = virtual_lab.ensure(changed, lambda _what, _done: None)
    assert facts(lab, tmp_path) == PLAIN | BY_PATCH[PATCH]

    before = tree.folder / "arch" / "um" / "include" / HEADER
    before.parent.mkdir(parents=True)
    before.write_text(f"#include_next <{HEADER}>\n#define SCTP_MAX_DUP_TSNS 8\n")
    shadowed = tree.commit("a header that is found before another of its name")
    third, _ = built(shadowed)
    assert third != second

    (tree.folder / "net" / "sctp" / "tsnmap.c").write_text("#error x\n")
    with pytest.raises(BuildError, match=r"net/sctp/tsnmap.c:1:2: error: #error x"):
        built(tree.commit("broken"))

    # From the copy in which all that was built, back to where it began.
    forget(plain, copies=False)
    assert built(plain)[0] == first
    # The last one in a copy that nothing was built in before, and the one before it after that.
    forget(shadowed, copies=True)
    assert built(shadowed)[0] == third
    forget(changed, copies=False)
    assert built(changed)[0] == second
