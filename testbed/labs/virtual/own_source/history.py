"""The commits of a git tree between two of them, and what git tells of one; nothing is written."""

from __future__ import annotations

from pathlib import Path

from model.errors import RunError, StudyError
from model.run_files.comparing.bisection import Commit
from testbed.labs.virtual.own_source import git
from testbed.labs.virtual.own_source.git import GitError

#: Of a commit's files so many are kept by name.
MOST_FILES = 200
#: Ten versions of Linux have fewer; from here on ranking them takes gigabytes.
MOST_COMMITS = 200_000


def parents_between(tree: Path, good: str, bad: str) -> dict[str, tuple[str, ...]]:
    """Return the commits of ``bad`` that are not of ``good``, with their parents among them.

    Parents come first; the last is ``bad``.

    Raises:
        StudyError: ``good`` is not an ancestor of ``bad``, or they are too many.
    """
    if _asked(tree, "rev-list", "-1", good, f"^{bad}", "--"):
        raise StudyError(
            "GOOD is not an ancestor of BAD", where=str(tree), got=f"{good[:12]} and {bad[:12]}",
            wanted="a commit that BAD comes after", hint=_why_no_ancestor(tree, good, bad),
        )  # fmt: skip
    words = ("rev-list", "--topo-order", "--reverse", "--parents", bad, f"^{good}", "--")
    listed = [line.split() for line in _asked(tree, *words).splitlines()]
    if len(listed) > MOST_COMMITS:
        raise StudyError(
            "too many commits between them", where=str(tree), wanted=f"at most {MOST_COMMITS}",
            got=str(len(listed)), hint="nearer ends",
        )  # fmt: skip
    there = {commit for commit, *_ in listed}
    return {commit: tuple(one for one in those if one in there) for commit, *those in listed}


def _why_no_ancestor(tree: Path, good: str, bad: str) -> str:
    if not _asked(tree, "rev-list", "-1", bad, f"^{good}", "--"):
        return "they are the other way round"
    if _asked(tree, "rev-parse", "--is-shallow-repository") == "true":
        return "the tree is shallow: git fetch --unshallow there gets the rest"
    return f"git merge-base {good[:12]} {bad[:12]} gives one"


def described(tree: Path, commit: str) -> Commit:
    """Return what git tells of a commit; of a merge, how it differs from its first parent."""
    said = _asked(tree, "log", "-1", "--no-show-signature", "--format=%P%n%aI%n%s", commit, "--")
    parents, date, subject = (*said.split("\n"), "", "")[:3]
    names = _asked(
        tree, "log", "-1", "--no-show-signature", "--format=", "--name-only", "-z",
        "--no-renames", "--no-ext-diff", "--no-textconv", "--diff-merges=first-parent", commit,
        "--",
    )  # fmt: skip
    files = [name for name in names.strip("\n").split("\0") if name]
    return Commit(
        commit=commit, parents=tuple(parents.split()), subject=subject, author_date=date,
        files=tuple(files[:MOST_FILES]), files_touched=len(files),
    )  # fmt: skip


def _asked(tree: Path, *words: str) -> str:
    """Return what git says of a tree, in which nothing that is named is an option."""
    try:
        return git.run(["-C", str(tree), *words]).decode(errors="replace").rstrip("\n")
    except GitError as error:
        raise RunError("cannot read the tree", where=str(tree), got=error.said) from error
