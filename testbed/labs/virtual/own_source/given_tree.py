"""A kernel that is given as FOLDER[@REVISION]: which tree, which commit, which version of Linux.

Invariant: the tree is looked at through its objects and refs alone; nothing in it is written, and
nothing that it configures is run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from model.errors import StudyError
from testbed.labs.virtual.own_source import git
from testbed.labs.virtual.own_source.git import GitError, Repository
from testbed.study import kernel_names
from testbed.study.vocabulary import SOURCE_VERSION

WHERE = "KERNEL"
#: Before it User-Mode Linux has no virtual time that ends nowhere (time-travel=inf-cpu), or no
#: event tells a congestion window; and the compiler of the lab's image does not take its source.
LEAST = (5, 19)
MOST_SHOWN = 300
WANTED = "a git tree of Linux, as FOLDER or FOLDER@REVISION"
#: For a tree that has an option of its own, and its revisions apart from it: where, and what.
OF_TREE = ("--tree", "a git tree of Linux")
_NUMBER = r"^{name}[ \t]*=[ \t]*([0-9]{{1,5}})[ \t]*$"


@dataclass(frozen=True, kw_only=True)
class GivenTree:
    """A tree of Linux: its folder, where git keeps it, a commit, and what that is of.

    ``release`` is what its release begins with, such as ``6.12.5`` or ``6.12.0-rc3``.
    ``checked_out`` says whether what is checked out there counts: no revision was asked for.
    """

    folder: Path
    git_dir: Path
    common_dir: Path
    object_format: str
    commit: str
    version: str
    release: str
    checked_out: bool

    @property
    def objects(self) -> Path:
        """Where its objects are."""
        return self.common_dir / "objects"

    @property
    def base(self) -> str:
        """The name of its commit's kernel."""
        short = self.commit[: kernel_names.COMMIT_DIGITS]
        return kernel_names.KernelName(version=self.version, commit=short).text

    def borrowed(self, folder: Path, settings: dict[str, str] | None = None) -> Repository:
        """Return a repository of our own that sees its objects, and its files if checked out."""
        return git.borrowing(
            folder, self.objects, object_format=self.object_format, settings=settings,
            worktree=self.folder if self.checked_out else None,
        )  # fmt: skip


def is_given(text: str) -> bool:
    """Return whether a kernel is asked for by a folder, not by a name."""
    if kernel_names.read(text) is not None:
        return False
    return text.startswith(("~", ".")) or "/" in text or "@" in text or _is_folder(Path(text))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long a name, or a null in it
        return False


def _what_is(path: Path) -> str:
    try:
        return "a file" if path.is_file() else "no such folder"
    except (OSError, ValueError):
        return "no such folder"


def split(text: str) -> tuple[Path, str]:
    """Return the folder and the revision, "" for none; a folder's name may have an ``@`` in it.

    Raises:
        StudyError: there is no such folder.
    """
    if _is_folder(whole := _expanded(text)):
        return whole, ""
    for at in sorted((found.start() for found in re.finditer("@", text)), reverse=True):
        folder, revision = _expanded(text[:at]), text[at + 1 :]
        if at and _is_folder(folder):
            return folder, _sound(revision, WHERE)
    raise StudyError(
        "no such kernel", where=WHERE, wanted=WANTED,
        got=f"{text[:MOST_SHOWN]}: {_what_is(whole)}",
    )  # fmt: skip


def _expanded(text: str) -> Path:
    """Return a path; ``~`` is one's home also where no shell has put it in."""
    try:
        return Path(text).expanduser().absolute() if text.startswith("~") else Path(text).absolute()
    except RuntimeError:  # no such user
        return Path(text).absolute()


def opened(text: str) -> GivenTree:
    """Return the tree and the commit that are asked for, as FOLDER or FOLDER@REVISION.

    Raises:
        StudyError: it is no git tree of Linux, there is no such revision, or it is too old.
    """
    return _opened(*split(text), (WHERE, WANTED))


def opened_at(folder: str, revision: str) -> GivenTree:
    """Return the tree and the commit that ``--tree`` and a revision ask for.

    Raises:
        StudyError: as :func:`opened`; there is no such folder, or this cannot be a revision.
    """
    path, (where, wanted) = _expanded(folder), OF_TREE
    if not _is_folder(path):
        raise StudyError(
            "no such tree", where=where, wanted=wanted,
            got=f"{folder[:MOST_SHOWN]}: {_what_is(path)}",
        )  # fmt: skip
    return _opened(path, _sound(revision, "GOOD and BAD"), OF_TREE)


def _sound(revision: str, where: str) -> str:
    """Return what can be a revision; git would take some words for its options."""
    if not revision or revision.startswith("-") or re.search(r"[\x00-\x20\x7f]", revision):
        raise StudyError(
            "not a revision", where=where, wanted="a commit, tag or branch behind the @"
            if where == WHERE else "a commit, tag or branch", got=repr(revision),
        )  # fmt: skip
    return revision


def _opened(folder: Path, revision: str, told: tuple[str, str]) -> GivenTree:
    """Return the tree and the commit; ``told`` is how messages name where and what is wanted."""
    where, wanted = told
    env = {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent)}

    def ask(*words: str) -> str:
        return git.run(["-C", str(folder), *words], env=env).decode(errors="replace").strip()

    try:
        about = ask(
            "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
            "--show-object-format", "--is-bare-repository", "--is-inside-git-dir",
        ).splitlines()  # fmt: skip
        if len(about) != 5:
            raise GitError("a line end in the folder's name")
        if ask("rev-parse", "--show-prefix"):
            raise GitError("inside a git tree, and not its top folder")
    except GitError as error:
        raise StudyError(
            "not a git tree", where=where, wanted=wanted, got=f"{folder}: {_last(error)}",
            hint="a folder without git: git init, git add -A and git commit make one of it",
        ) from error  # fmt: skip
    git_dir, common_dir, object_format, bare, inside = about
    checked_out = bare == inside == "false" and not revision
    try:
        commit = ask(
            "rev-parse", "--verify", "--end-of-options", f"{revision or 'HEAD'}^{{commit}}"
        )
    except GitError as error:
        shallow = (Path(common_dir) / "shallow").exists()
        raise StudyError(
            "no such revision", where=f"{where} {folder}", wanted="a commit, tag or branch",
            got=f"{revision or 'HEAD'}: {_last(error)}",
            hint="the tree is shallow: git fetch --unshallow there gets the rest" if shallow
            else "",
        ) from error  # fmt: skip
    makefile = _makefile(folder, commit, told)
    version, release = _version(f"{where} {folder}", commit, makefile, wanted)
    return GivenTree(
        folder=folder, git_dir=Path(git_dir), common_dir=Path(common_dir),
        object_format=object_format, commit=commit, version=version, release=release,
        checked_out=checked_out,
    )  # fmt: skip


def _last(error: GitError) -> str:
    """Return the last line of what git said, without its prefix."""
    line = (error.said.splitlines() or ["git failed"])[-1]
    return re.sub(r"^(fatal|error): ", "", line)


def _makefile(folder: Path, commit: str, told: tuple[str, str]) -> str:
    try:
        found = git.run(["-C", str(folder), "cat-file", "blob", f"{commit}:Makefile"])
    except GitError as error:
        raise StudyError(
            "not Linux", where=f"{told[0]} {folder}", wanted=told[1],
            got=f"commit {commit[:12]} has no Makefile that can be read: {_last(error)}",
        ) from error  # fmt: skip
    return found[:65536].decode(errors="replace")


def _version(where: str, commit: str, makefile: str, wanted: str) -> tuple[str, str]:
    """Return the version that a Makefile says, and what the kernel's release begins with."""
    numbers = []
    for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"):
        found = re.search(_NUMBER.format(name=name), makefile, re.MULTILINE)
        if found is None and name != "SUBLEVEL":
            raise StudyError(
                "not Linux", where=where, wanted=wanted,
                got=f"the Makefile of commit {commit[:12]} says no {name}",
            )  # fmt: skip
        numbers.append(int(found[1]) if found else 0)
    version = f"{numbers[0]}.{numbers[1]}"
    if not SOURCE_VERSION.fullmatch(version):
        raise StudyError("not a version of Linux", where=where, got=version)
    if (numbers[0], numbers[1]) < LEAST:
        raise StudyError(
            "too old for the virtual lab", where=where,
            wanted=f"Linux {'.'.join(map(str, LEAST))} or newer", got=version,
            hint="docs/kernels.md says which versions were tried",
        )  # fmt: skip
    extra = re.search(r"^EXTRAVERSION[ \t]*=[ \t]*(\S{0,40})[ \t]*$", makefile, re.MULTILINE)
    return version, f"{version}.{numbers[2]}{extra[1] if extra else ''}"
