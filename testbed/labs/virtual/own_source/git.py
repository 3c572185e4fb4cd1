"""Git, started so that nothing of a tree's or a user's configuration can run, fetch or write.

Invariants: no hook, filter, monitor, pager or external diff is started, no lock is taken and no
remote is asked. That is why a tree that belongs to another user is read, too. Whatever needs an
index or new objects has a repository of our own, which borrows the tree's objects; and what writes
objects does not see those, because git gives an object that it finds there a new time.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from model.errors import GroundtruthError, RunError, UnsupportedError

TIMEOUT_S = 300.0
#: Of any configuration, the tree's too; what they name is not read from files.
_SETTINGS = {
    "safe.directory": "*",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.attributesFile": "/dev/null",
    "core.quotePath": "true",
    "core.untrackedCache": "false",
    "advice.addEmbeddedRepo": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}


class GitError(Exception):
    """Git said no; ``said`` is what it said."""

    def __init__(self, said: str) -> None:
        self.said = said
        super().__init__(said)


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment that git is started with."""
    settings = list(_SETTINGS.items())
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**env, **(more or {})}


def run(
    words: Sequence[str], *, env: dict[str, str] | None = None, given: bytes = b"",
    timeout_s: float = TIMEOUT_S,
) -> bytes:  # fmt: skip
    """Return what a git command prints.

    Raises:
        GitError: it failed.
        UnsupportedError: there is no git.
        RunError: it did not end.
    """
    try:
        done = subprocess.run(
            ["git", *words], env=environment(env), input=given, capture_output=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
    except OSError as error:
        raise no_git(error) from error
    except subprocess.TimeoutExpired as error:
        raise RunError(f"git {words[0]} did not end", wanted=f"within {timeout_s:.0f} s") from error
    if done.returncode != 0:
        raise GitError(done.stderr.decode(errors="replace").strip()[-2000:])
    return done.stdout


def no_git(error: OSError) -> GroundtruthError:
    """Return the error for a machine without git."""
    return UnsupportedError(
        "cannot start git", where="KERNEL", got=str(error), hint="install the package git"
    )


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository of our own in ``folder`` that can borrow the objects of another.

    ``worktree`` is a tree that is only read, with ``index`` in place of its own index.
    """

    folder: Path
    borrowed: Path
    worktree: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def index(self) -> Path:
        """Where its index is."""
        return self.folder / "index"

    def env(self, *, borrowing: bool = True) -> dict[str, str]:
        """Return what names it to git, with the objects that it borrows or with its own alone."""
        env = {"GIT_DIR": str(self.folder), "GIT_INDEX_FILE": str(self.index)}
        if self.worktree:
            env |= {"GIT_WORK_TREE": str(self.worktree)}
        if borrowing:
            escaped = str(self.borrowed).replace("\\", "\\\\").replace('"', '\\"')
            env |= {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{escaped}"'}
        return env

    def words(self, words: Sequence[str]) -> list[str]:
        """Return a command's words with the settings before them."""
        given = [w for key, value in self.settings.items() for w in ("-c", f"{key}={value}")]
        return [*given, *(["-C", str(self.worktree)] if self.worktree else []), *words]

    def read(self, *words: str, given: bytes = b"") -> bytes:
        """Return what a command prints that writes no object; raises as :func:`run`."""
        return run(self.words(words), env=self.env(), given=given)

    def write(self, *words: str, given: bytes = b"") -> bytes:
        """Return what a command prints that sees our own objects alone; raises as :func:`run`."""
        return run(self.words(words), env=self.env(borrowing=False), given=given)


def borrowing(
    folder: Path, objects: Path, *, object_format: str = "sha1", worktree: Path | None = None,
    settings: dict[str, str] | None = None,
) -> Repository:  # fmt: skip
    """Make a repository in an empty folder that can borrow objects."""
    words = ["init", "--quiet", "--bare", "--template=", f"--object-format={object_format}"]
    run([*words, str(folder)])
    return Repository(folder=folder, borrowed=objects, worktree=worktree, settings=settings or {})
