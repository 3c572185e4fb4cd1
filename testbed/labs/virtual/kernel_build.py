"""Run a script that builds a kernel inside the lab's image, confined to a build folder.

The host needs no compiler. The finished entry holds ``linux``, ``config`` and ``version``, or what
else the script is to leave.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.labs.booted import debian
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, Watch, run_logged

BUILD_TIMEOUT_S = 3000.0
BUILD_BYTES = 4_000_000_000
KERNEL = ("linux", "config", "version")


@dataclass(frozen=True, kw_only=True)
class Script:
    """A script with its arguments, the files it finds in ``/cell``, and what it leaves there.

    ``tree`` is a folder it sees as ``/gt``; ``lines`` are about how many it prints.
    """

    words: Sequence[str]
    inputs: Iterable[Path]
    leaves: Sequence[str] = KERNEL
    tree: Path | None = None
    lines: int


def jobs() -> str:
    """Return how many compilers run at once."""
    return str(os.cpu_count() or 1)


def run(folder: Path, script: Script, what: str, root: Path, report: BuildReport) -> None:
    """Run a script in the image at ``root``; what it leaves is put into the folder.

    Raises:
        RunError: it failed, or took too long; the end of its log says why.
    """
    cache.need_space(folder, BUILD_BYTES, f"building {what}")
    work = folder / "work"
    work.mkdir()
    for source in script.inputs:
        shutil.copy(source, work)
    options = debian.apt_options(work).replace(f"{work}/", "/cell/")
    (work / "apt.conf").write_text(options)
    read_only = {"/etc/resolv.conf": Path("/etc/resolv.conf")}
    hosts = Path("/etc/hosts")
    if hosts.is_file():
        read_only["/etc/hosts"] = hosts
    if script.tree:
        read_only["/gt"] = script.tree
    scratch = dict.fromkeys(("/tmp", "/run", "/var/lib/apt/lists", "/var/cache/apt"), 0)
    with lab_user.lent(work) as uid:
        sandbox = Sandbox(
            image=root, uid=uid, read_only=read_only, writable={"/cell": work}, scratch=scratch,
            network=script.tree is None,
        )  # fmt: skip
        run_logged(
            sandbox.argv(["bash", *script.words]),
            log=folder / "build.log",
            what=f"building {what}",
            timeout_s=BUILD_TIMEOUT_S,
            watch=Watch(what=what, expected_lines=script.lines, report=report),
        )
    for name in script.leaves:
        (work / name).rename(folder / name)
    cache.remove_left(work)
    contents.settle(folder)
