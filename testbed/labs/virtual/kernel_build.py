"""Run a script that builds a kernel inside the lab's image, confined to a build folder.

The host needs no compiler. Invariants: a source's makefiles are programs, and have no network;
packages are fetched before, by this machine's apt. What one takes of the disk is bounded. The
finished entry holds ``linux``, ``config``
and ``version``, or what else the script is to leave; of one that failed the whole log is kept.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from model import plain_files
from model.errors import RunError
from testbed.labs.booted import debian
from testbed.labs.confinement import build_room, lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.labs.virtual.own_source import build_failure
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, StatusError, Watch, ending, run_logged
from testbed.study import kernel_names

BUILD_TIMEOUT_S = 3000.0
#: Free before a build begins; more it may not take.
BUILD_BYTES = build_room.DISK_BYTES
KERNEL = ("linux", "config", "version")
#: In the cache: the logs of builds that failed.
FAILED = "failed-builds"
LOG, WORK = "build.log", "work"
MOST_LOG_BYTES = 8 << 20


@dataclass(frozen=True, kw_only=True)
class Script:
    """A script with its arguments, the files it finds in ``/cell``, and what it leaves there.

    ``texts`` are more such files; ``packages`` are fetched for it; ``tree`` is a folder it sees as
    ``/gt``. ``moved`` are files that become its own, ``borrowed`` a folder that is meanwhile.
    ``sources`` are those of its packages, if not the image's; ``lines`` about how many it prints.
    """

    words: Sequence[str]
    inputs: Iterable[Path]
    leaves: Sequence[str] = KERNEL
    texts: Mapping[str, bytes] = field(default_factory=dict)
    packages: Sequence[str] = ()
    tree: Path | None = None
    sources: Sequence[str] = ()
    moved: Iterable[Path] = ()
    borrowed: Path | None = None
    lines: int


def jobs() -> str:
    """Return how many compilers run at once."""
    return str(os.cpu_count() or 1)


def run(folder: Path, script: Script, what: str, root: Path, report: BuildReport) -> None:
    """Run a script in the image at ``root``; what it leaves is put into the folder.

    Raises:
        BuildError: the source is not to be built; its places are named.
        TooMuchError: it took more of the disk than it may.
        StatusError: it failed for a reason that nobody understands; the end of its log says why.
        RunError: the machine failed, or it took too long.
    """
    cache.need_space(folder, BUILD_BYTES, f"building {what}")
    work = folder / WORK
    work.mkdir()
    for source in script.inputs:
        shutil.copy(source, work)
    for source in script.moved:
        source.rename(work / source.name)
    for name, text in script.texts.items():
        (work / name).write_bytes(text)
    if script.packages:
        report(what, 0.0)
        with debian.lists(script.sources) as apt:
            for package in script.packages:
                apt.download(package, work)
    if script.borrowed:
        script.borrowed.rename(work / script.borrowed.name)
    try:
        _run(folder, work, script, what, root, report)
    finally:
        if script.borrowed:
            (work / script.borrowed.name).rename(script.borrowed)
    for name in script.leaves:
        if not plain_files.is_file(work / name):  # a makefile can leave anything
            raise RunError(f"building {what} left no plain file", where=name)
        (work / name).rename(folder / name)
    cache.remove_left(work)
    contents.settle(folder)


def said(folder: Path) -> str:
    """Return what the build in that folder said, of much the end."""
    return ending(folder / LOG, MOST_LOG_BYTES).decode(errors="replace")


def begin_again(folder: Path) -> None:
    """Remove what a build that failed has left, so that another can run in the folder."""
    cache.remove_left(folder / WORK)
    (folder / LOG).unlink(missing_ok=True)


def _run(
    folder: Path, work: Path, script: Script, what: str, root: Path, report: BuildReport
) -> None:
    log = folder / LOG
    room = build_room.Room(what=what, folder=folder, log=log, disk_bytes=BUILD_BYTES)
    with lab_user.lent(work) as uid:
        sandbox = Sandbox(
            image=root, uid=uid, read_only={"/gt": script.tree} if script.tree else {},
            writable={"/cell": work}, scratch=build_room.SCRATCH_BYTES,
        )  # fmt: skip
        try:
            run_logged(
                sandbox.argv([*build_room.LIMITED, "bash", *script.words]),
                log=log,
                what=f"building {what}",
                timeout_s=BUILD_TIMEOUT_S,
                watch=Watch(what=what, expected_lines=script.lines, report=report),
                check=room.check,
            )
        except StatusError as error:
            hint = kept_log(what, log)
            raise build_failure.judged(what, said(folder), hint, error) from error
        except RunError as error:
            raise type(error)(
                error.what, wanted=error.wanted, got=error.got, hint=kept_log(what, log)
            ) from error


def kept_log(what: str, log: Path) -> str:
    """Keep the log of a build that failed, one for each kernel; return where it is, in words."""
    name = kernel_names.in_files(re.sub(r"[^0-9A-Za-z.+-]+", "-", what))
    place = cache.root() / FAILED / f"{name}.log"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, place)
    except OSError as error:  # a full disk: what went wrong must be told all the same
        return f"its log could not be kept: {error.strerror}"
    return f"its log: {place}"
