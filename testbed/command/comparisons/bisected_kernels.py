"""What is bisected: the commits of a git tree, or the versions that Debian offers.

Invariant: a tree is only read, and its commits are called by their whole ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model import run_folder
from model.errors import GroundtruthError, ParseError, StudyError
from model.run_files.comparing.bisection import Asked, Commit
from testbed.labs.booted import debian
from testbed.labs.virtual import kernel
from testbed.labs.virtual.own_source import given_tree, history
from testbed.machine.console import words
from testbed.planning.bisection import History, chain
from testbed.study.vocabulary import SOURCE_VERSION


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """Two ends, what lies between them, and how each is asked for; no ``tree``: versions."""

    ends: tuple[str, str]
    history: History
    tree: Path | None

    def asked_for(self, commit: str) -> str:
        """Return what names a commit's kernel to the lab; its own changes count, no local ones."""
        return f"{self.tree}@{commit}" if self.tree else commit

    def check_there(self) -> None:
        """Raise :class:`StudyError` if the tree is gone: no fault of one of its commits."""
        if self.tree:
            given_tree.opened_at(str(self.tree), self.ends[0])

    def described(self, commits: Sequence[str]) -> tuple[Commit, ...]:
        """Return what git tells of commits; nothing of versions."""
        return tuple(history.described(self.tree, one) for one in commits) if self.tree else ()

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions, the good one first; none of a tree."""
        return () if self.tree else (self.ends[0], *self.history.parents)


def of_tree(folder: str, good: str, bad: str) -> Kernels:
    """Return the commits of a git tree of Linux from one revision to another.

    Raises:
        StudyError: it is none, has no such revisions, or the one does not come after the other.
    """
    opened = [given_tree.opened_at(folder, revision) for revision in (good, bad)]
    first, last = (one.commit for one in opened)
    if first == last:
        raise StudyError(
            "GOOD and BAD are one commit", where=folder, wanted="two",
            got=f"{good} and {bad}: {first[:12]}",
        )  # fmt: skip
    tree = opened[0].folder
    return Kernels(
        ends=(first, last), history=History(history.parents_between(tree, first, last)), tree=tree
    )


def check_versions(good: str, bad: str) -> None:
    """Raise :class:`StudyError` unless these are versions, the first older than the other."""
    for version in (good, bad):
        if not SOURCE_VERSION.fullmatch(version):
            raise StudyError(
                "not a version", where="GOOD and BAD", wanted="such as 6.12", got=version,
                hint="revisions are of a git tree: --tree FOLDER",
            )  # fmt: skip
    if debian.number(good) >= debian.number(bad):
        what = "the same version twice" if good == bad else "GOOD is not older than BAD"
        raise StudyError(what, where="GOOD and BAD", wanted="such as 6.12 7.3", got=f"{good} {bad}")


def of_versions(good: str, bad: str) -> Kernels:
    """Return the versions that Debian offers from one to another, these in any case."""
    return versions_of((good, *_between(good, bad), bad))


def versions_of(versions: Sequence[str]) -> Kernels:
    """Return these versions, the good one first."""
    return Kernels(ends=(versions[0], versions[-1]), history=chain(versions[1:]), tree=None)


def _between(good: str, bad: str) -> list[str]:
    """Return the versions that can be had between two, in order; none where nobody can say."""
    try:
        offered = kernel.offered()
    except GroundtruthError as error:
        words().print(f"not known which versions lie between: {error}", soft_wrap=True)
        return []
    low, high = debian.number(good), debian.number(bad)
    between = [one for one in offered if low < debian.number(one) < high]
    return sorted(between, key=debian.number)


def as_asked(asked: Asked) -> Kernels:
    """Return what an earlier command bisected: the same commits, whatever branches are now.

    What is asked for may be somebody else's file: its words become names of folders.

    Raises:
        StudyError: the tree is not there any more, or has not these commits.
        ParseError: these are no versions, or no whole commits.
    """
    if asked.tree is None:
        sound = all(SOURCE_VERSION.fullmatch(one) for one in asked.versions)
        sound = sound and asked.versions[:1] + asked.versions[-1:] == asked.ends
        found = versions_of(asked.versions) if sound else None
    else:
        found = of_tree(asked.tree, *asked.ends)
    if found is None or found.ends != asked.ends:
        raise ParseError(
            "not what a bisection is between", where=run_folder.BISECTION_JSON,
            wanted="versions in order with the ends first and last, or whole commits",
            got=", ".join(asked.ends),
        )  # fmt: skip
    return found
