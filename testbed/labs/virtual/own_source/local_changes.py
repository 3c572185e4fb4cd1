"""What is changed in a tree since its commit: the text of a patch, with new files in it.

Invariants: the tree, its index and its repository are only read; a file that git ignores there is
none; the same changes give the same text.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from model.errors import StudyError
from testbed.labs.virtual.own_source import git
from testbed.labs.virtual.own_source.git import GitError, Repository
from testbed.labs.virtual.own_source.given_tree import WHERE, GivenTree
from testbed.machine import cache, scratch

READING = ".reading-"
#: The changes of one's own work on a kernel are text; what is larger is something else.
MOST_BYTES = 16 << 20
#: Of the tree's configuration, what says how files compare; none of them can run anything.
_COMPARING = ("core.fileMode", "core.autocrlf", "core.eol", "core.ignoreCase", "core.symlinks")
_DIFF = (
    "diff", "--cached", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
    "--no-textconv", "--no-color", "--unified=3", "--inter-hunk-context=0",
    "--diff-algorithm=myers", "--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/",
    "--ignore-submodules=all",
)  # fmt: skip


def text(tree: GivenTree) -> bytes:
    """Return the patch from a tree's commit to what is checked out there; empty for no change.

    Raises:
        StudyError: they cannot be read, or are too much.
    """
    index = tree.git_dir / "index"
    if not tree.checked_out or not index.is_file():
        return b""
    cache.root().mkdir(parents=True, exist_ok=True)
    with scratch.scratch(cache.root(), READING) as folder:
        ours = tree.borrowed(folder / "git", _settings(tree))
        shutil.copyfile(index, ours.index)
        for shared in tree.git_dir.glob("sharedindex.*"):
            shutil.copyfile(shared, ours.folder / shared.name)
        try:
            return _patch(tree, ours)
        except GitError as error:
            raise StudyError(
                "cannot read the local changes", where=f"{WHERE} {tree.folder}", got=error.said,
                hint=f"{tree.folder}@HEAD is the commit without them",
            ) from error  # fmt: skip


def _patch(tree: GivenTree, ours: Repository) -> bytes:
    # Files whose times alone differ are told by their content, once, in our copy of the index.
    with contextlib.suppress(GitError):  # it says so of files that differ
        ours.read("update-index", "-q", "--refresh")
    listed = ours.read("ls-files", "--others", "--exclude-standard", *_excluded(tree), "-z")
    new = listed.split(b"\0")
    changed = ours.read("diff-files", "--name-only", "--diff-filter=AMT", "-z").split(b"\0")
    _refuse_large(tree, [name for name in (*new, *changed) if name])
    for options, names in ((("--remove",), _changed(ours)), ((), new)):
        paths = b"\0".join(name for name in names if name and not name.endswith(b"/"))
        if paths:
            ours.write("update-index", "--add", *options, "-z", "--stdin", given=paths + b"\0")
    return ours.read(*_DIFF, tree.commit)


def _changed(ours: Repository) -> list[bytes]:
    """Return the names of tracked files that are not as in the index, those gone too."""
    return ours.read("diff-files", "--name-only", "--ignore-submodules=all", "-z").split(b"\0")


def _excluded(tree: GivenTree) -> list[str]:
    """Return options for what the tree's and the user's own lists ignore."""
    places = [tree.common_dir / "info" / "exclude", *_users_list(tree)]
    return [f"--exclude-from={place}" for place in places if place.is_file()]


def _users_list(tree: GivenTree) -> list[Path]:
    """Return the user's list of ignored files, read as git would find it."""
    home = os.environ.get("HOME", "")
    env = {"HOME": home, "GIT_CONFIG_GLOBAL": f"{home}/.gitconfig"}
    words = ["-C", str(tree.folder), "config", "--type=path", "--get", "core.excludesFile"]
    try:
        return [Path(git.run(words, env=env).decode().strip())]
    except (GitError, UnicodeDecodeError):
        base = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
        return [Path(base) / "git" / "ignore"]


def _settings(tree: GivenTree) -> dict[str, str]:
    found = {}
    for name in _COMPARING:
        try:
            value = git.run(["-C", str(tree.folder), "config", "--get", name])
        except GitError:
            continue
        found[name] = value.decode(errors="replace").strip()
    return found


def _refuse_large(tree: GivenTree, names: Sequence[bytes]) -> None:
    sizes = {}
    for name in names:
        try:
            sizes[name] = os.lstat(os.fsencode(tree.folder) + b"/" + name).st_size
        except OSError:
            continue
    if sum(sizes.values()) > MOST_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        raise StudyError(
            "the local changes are too large", where=f"{WHERE} {tree.folder}",
            wanted=f"at most {MOST_BYTES >> 20} MiB",
            got=f"{sum(sizes.values()) >> 20} MiB in {len(sizes)} files, the largest "
            f"{os.fsdecode(largest)}",
            hint="let git ignore what is no source, commit it, or name a revision: "
            f"{tree.folder}@HEAD",
        )  # fmt: skip
