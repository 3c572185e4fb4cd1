"""The commits between two, of a real git repository, and which git itself would try next."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from model.errors import RunError, StudyError
from testbed.labs.virtual.own_source import history
from testbed.planning.bisection import History, Try, next_step

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Repository:
    """A git repository whose commits are made without files checked out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.git("hash-object", "-t", "tree", "-w", "/dev/null")

    def git(self, *words: str, given: str = "") -> str:
        who = ("-c", "user.name=n", "-c", "user.email=n@example.org")
        done = subprocess.run(
            ["git", "-C", str(self.folder), *who, *words], check=True, capture_output=True,
            text=True, input=given, timeout=60,
        )  # fmt: skip
        return done.stdout.strip()

    def commit(self, message: str, *parents: str, files: tuple[str, ...] = ()) -> str:
        """Make a commit, with just these files."""
        blob = self.git("hash-object", "-w", "--stdin", given=message)
        listed = "".join(f"100644 blob {blob}\t{name}\n" for name in sorted(files))
        tree = self.git("mktree", given=listed) if files else EMPTY_TREE
        words = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", tree, *words, given=message)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_parents_come_first_and_those_outside_are_left_out(repository: Repository) -> None:
    old = repository.commit("old")
    good = repository.commit("good", old)
    left = repository.commit("left", good)
    side = repository.commit("side", old)  # begins before the good one
    merge = repository.commit("merge", left, side)
    bad = repository.commit("bad", merge)
    found = history.parents_between(repository.folder, good, bad)
    assert found == {left: (), side: (), merge: (left, side), bad: (merge,)}
    assert list(found)[-2:] == [merge, bad]
    assert History(found).bad == bad


def test_who_is_no_ancestor_is_told_what_is_wrong(repository: Repository) -> None:
    one = repository.commit("one")
    two, three = repository.commit("two", one), repository.commit("three", one)
    with pytest.raises(StudyError, match=r"GOOD is not an ancestor.*the other way round"):
        history.parents_between(repository.folder, two, one)
    with pytest.raises(StudyError, match=f"git merge-base {two[:12]} {three[:12]} gives one"):
        history.parents_between(repository.folder, two, three)
    with pytest.raises(RunError, match="cannot read the tree"):
        history.parents_between(repository.folder, "0" * 40, three)


def test_what_git_tells_of_a_commit(repository: Repository) -> None:
    one = repository.commit("one", files=("Makefile",))
    left = repository.commit("left\n\nLong.", one, files=("Makefile", "a b.c", "ü.c"))
    right = repository.commit("right", one, files=("Makefile", "r.c"))
    merge = repository.commit("Merge", left, right, files=("Makefile", "a b.c", "ü.c", "r.c"))
    found = history.described(repository.folder, left)
    assert (found.parents, found.subject) == ((one,), "left")
    assert re.match(r"20\d\d-\d\d-\d\dT", found.author_date)
    assert (found.files, found.files_touched) == (("Makefile", "a b.c", "ü.c"), 3)
    merged = history.described(repository.folder, merge)
    assert merged.parents == (left, right)
    assert "r.c" in merged.files
    first = history.described(repository.folder, one)
    assert (first.parents, first.files) == ((), ("Makefile",))
    nothing = repository.commit("\x1b[31mred", merge, files=("Makefile", "a b.c", "ü.c", "r.c"))
    assert history.described(repository.folder, nothing).subject == "\x1b[31mred"


def test_nothing_that_a_tree_configures_is_run(repository: Repository) -> None:
    told = repository.folder / "told"
    program = repository.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {told}\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program"):
        repository.git("config", name, str(program))
    repository.git("config", "log.showSignature", "true")
    good = repository.commit("good")
    bad = repository.commit("bad", good, files=("x.c",))
    history.parents_between(repository.folder, good, bad)
    history.described(repository.folder, bad)
    assert not told.exists()


@pytest.mark.parametrize("seed", range(4))
def test_what_is_tried_next_is_as_good_as_what_git_would_try(
    repository: Repository, seed: int
) -> None:
    rng = random.Random(seed)
    good = repository.commit("good")
    made = [good]
    for number in range(24):
        most = min(len(made), rng.choice((1, 1, 2, 3)))
        made.append(repository.commit(str(number), *rng.sample(made[-6:], most)))
    tips = set(made) - {parent for one in made for parent in parents(repository, one)}
    bad = repository.commit("bad", *sorted(tips))
    found = History(history.parents_between(repository.folder, good, bad))
    listed = repository.git("rev-list", "--bisect-all", bad, f"^{good}").splitlines()
    distances = {
        line.split()[0]: int(found_[1]) for line in listed
        if (found_ := re.search(r"dist=(\d+)", line))
    }  # fmt: skip
    step = next_step(found, {})
    assert isinstance(step, Try)
    assert len(distances) == step.suspects == len(found.parents)
    assert distances[step.commit] == max(distances.values())


def parents(repository: Repository, commit: str) -> list[str]:
    return repository.git("show", "-s", "--format=%P", commit).split()
