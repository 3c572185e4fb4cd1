"""A commit of a tree with patches, as files: what differs from the files that were built last.

Invariants: blobs come as they are in the tree, past every filter and attribute; patches are
applied in an index of our own, all of a patch or nothing; nothing is written but into ``folder``.
"""

from __future__ import annotations

import fnmatch
import functools
import re
import subprocess
import tarfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import BuildError, ParseError, RunError, StudyError
from testbed.labs.virtual.own_source import git, patch_text
from testbed.labs.virtual.own_source.git import GitError, Repository

TIMEOUT_S = 900.0
#: What the lab's kernels are built without: what User-Mode Linux has no use for, and texts. As tar
#: and fnmatch have patterns: a star is also what has slashes in it.
LEFT_OUT = Path(__file__).parents[1] / "left-out.patterns"
_MODES = {"100644": 0o644, "100664": 0o644, "100755": 0o755}
LINK, _MODULE = "120000", "160000"
#: Of them packetdrill's scripts are asked for with some kernels.
SCRIPTS = "tools/testing/selftests/net/packetdrill/"
_TESTS = "tools/testing/"
#: By path: a file's mode and the name of its content.
Listing = Mapping[bytes, tuple[str, str]]


@dataclass(frozen=True)
class Patch:
    """A patch's name and text."""

    name: str
    text: bytes


def left_out(path: str, *, scripts: bool = False) -> bool:
    """Return whether the lab's kernels are built without that file, or with scripts besides."""
    if path.startswith(_TESTS):
        return not (scripts and path.startswith(SCRIPTS))
    return _left_out().fullmatch(path) is not None


@functools.cache
def _left_out() -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, LEFT_OUT.read_text().splitlines())))


def patched(
    ours: Repository, commit: str, patches: Sequence[Patch], *, scripts: bool = False
) -> dict[bytes, tuple[str, str]]:
    """Return every file of a commit with patches that kernels are built from, or with scripts.

    Raises:
        BuildError: a patch does not apply.
        StudyError: objects are missing, or there is in it what no file can be.
    """
    try:
        ours.read("read-tree", commit)
        for one in patches:
            _apply(ours, one)
        found = read_listing(ours.read("ls-files", "--stage", "-z"))
    except GitError as error:
        raise _unreadable(error.said) from error
    return {
        path: what for path, what in found.items()
        if not left_out(path.decode("latin-1"), scripts=scripts)
    }  # fmt: skip


def _apply(ours: Repository, patch: Patch) -> None:
    """Apply a patch to the index, in sight of the files alone that it is about."""
    names = [name.encode() for name in patch_text.names(patch.text)]
    listed = read_listing(ours.read("ls-files", "--stage", "-z"))
    for name in names:
        if name in listed and listed[name][0] != _MODULE:
            content = ours.read("cat-file", "blob", listed[name][1])
            ours.write("hash-object", "-w", "--stdin", "--no-filters", given=content)
    try:
        ours.write("apply", "--cached", "--whitespace=nowarn", "-", given=patch.text)
    except GitError as error:
        raise does_not_apply(patch, error.said) from error


def does_not_apply(patch: Patch, said: str) -> BuildError:
    """Return the error for a patch, made of what git says: file, hunk and line; pure."""
    files = {one.path: one for one in patch_text.file_patches(patch.text)}
    got = []
    for line in said.splitlines():
        failed = re.fullmatch(r"error: patch failed: (.+):(\d+)", line)
        if failed:
            file = files.get(failed[1])
            number = file.number_of(int(failed[2])) if file else 0
            got.append(f"{failed[1]}:{failed[2]}" + (f", hunk {number}" if number else ""))
        elif line.startswith("error: ") and not line.endswith("patch does not apply"):
            got.append(line.removeprefix("error: "))
    return BuildError(
        "a patch does not apply", where=patch.name, got="; ".join(got[:5]) or said[-500:],
        wanted="every hunk where its lines are",
    )  # fmt: skip


def read_listing(text: bytes) -> dict[bytes, tuple[str, str]]:
    """Return what ``git ls-files --stage -z`` says, each file with its mode and blob; pure."""
    found = {}
    for line in text.split(b"\0"):
        if not line:
            continue
        about, _, path = line.partition(b"\t")
        words = about.decode("latin-1").split(" ")
        if len(words) != 3:
            raise ParseError("not a list of files", where="KERNEL", got=repr(line[:100]))
        mode, blob, _ = words
        name = path.decode(errors="backslashreplace")
        if any(part in ("", ".", "..", ".git") for part in name.split("/")):
            raise StudyError("not a file's name", where="KERNEL", got=name)
        if mode == _MODULE:
            raise StudyError(
                "a submodule is in the tree", where="KERNEL", got=name,
                wanted="all of the source in one tree", hint="Linux has none: is it another's?",
            )  # fmt: skip
        found[path] = (mode, blob)
    return found


def write_changes(ours: Repository, before: Listing, now: Listing, folder: Path) -> int:
    """Write ``changed.tar`` and ``removed`` into a folder; return how many files those are of."""
    gone = sorted(path for path in before if path not in now)
    new = sorted(path for path, what in now.items() if before.get(path) != what)
    (folder / "removed").write_bytes(b"".join(path + b"\0" for path in gone))
    with tarfile.open(folder / "changed.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        if new:
            _add(ours, [(path, *now[path]) for path in new], archive)
    return len(gone) + len(new)


def _add(
    ours: Repository, files: Sequence[tuple[bytes, str, str]], archive: tarfile.TarFile
) -> None:
    """Put files into an archive, as a git that gives out their contents comes to them."""
    asked = "".join(f"{blob}\n" for _, _, blob in files).encode()
    try:
        child = subprocess.Popen(
            ["git", *ours.words(["cat-file", "--batch", "--buffer"])],
            env=git.environment(ours.env()), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        raise git.no_git(error) from error
    late = threading.Timer(TIMEOUT_S, child.kill)
    late.start()
    # Git reads names and writes contents at once, and each would wait for the other.
    asking = threading.Thread(target=_ask, args=(child, asked), daemon=True)
    asking.start()
    try:
        for path, mode, blob in files:
            _add_one(child, path, mode, blob, archive)
    finally:
        late.cancel()
        child.kill()
        child.wait()
        asking.join()
        assert child.stdout is not None
        child.stdout.close()


def _ask(child: subprocess.Popen[bytes], asked: bytes) -> None:
    assert child.stdin is not None
    try:
        with child.stdin as stdin:
            stdin.write(asked)
    except OSError:  # it ended before: who reads sees that
        return


def _add_one(
    child: subprocess.Popen[bytes], path: bytes, mode: str, blob: str, archive: tarfile.TarFile
) -> None:
    assert child.stdout is not None
    words = child.stdout.readline().split()
    if len(words) != 3 or words[1] != b"blob":
        raise _unreadable(f"{path.decode(errors='replace')}: {b' '.join(words).decode()}")
    info = tarfile.TarInfo(path.decode("utf-8", "surrogateescape"))
    size = int(words[2])
    if mode == LINK:
        info.type = tarfile.SYMTYPE
        info.linkname = child.stdout.read(size).decode("utf-8", "surrogateescape")
        archive.addfile(info)
    else:
        info.size, info.mode = size, _MODES.get(mode, 0o644)
        try:
            archive.addfile(info, child.stdout)
        except OSError as error:
            if child.poll() is None:
                raise  # the disk, not git
            raise RunError("git ended before all was read", got=f"{blob}: {error}") from error
    child.stdout.read(1)


def _unreadable(said: str) -> StudyError:
    return StudyError(
        "cannot read the tree's objects", where="KERNEL", got=said[-500:],
        wanted="all of a commit's files in the tree's own repository",
        hint="where it was cloned with a filter, git backfill or a clone without it gets them",
    )  # fmt: skip
