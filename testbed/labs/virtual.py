"""The virtual lab: a cell runs on a User-Mode Linux kernel whose clock stands still while
anything computes and jumps when all is idle.

Invariants: the guest sees its image (read-only), its code (read-only) and its own cell folder;
the kernel's command line, which is mixed into the random pool, depends on the cell alone and
never on this machine; so what a cell yields is a function of ``cell.json``.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed import accept, runfolder
from testbed.cell import Cell, Limits
from testbed.errors import RunError, UnsupportedError
from testbed.labs import bundle, contents, image, kernel
from testbed.labs.process import BuildReport, end_group, tail
from testbed.labs.sandbox import Sandbox

NAME = "virtual"
#: 2026-01-01T00:00:00Z, the date every capture starts at.
START_NS = 1_767_225_600 * 1_000_000_000
MEMORY = "256M"
POLL_S = 0.2
#: Without the site module, which only costs time here: init names the two folders needed.
AGENT = ("/usr/bin/python3", "-S", "-m", "testbed.agent")


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One boot: the seed of all randomness, when to give up, and what to run."""

    seed: int
    limits: Limits
    program: tuple[str, ...] = AGENT


@dataclass(frozen=True, kw_only=True)
class VirtualLab:
    """An image, a kernel and the code that runs on them, all built."""

    image: Path
    kernel: Path
    code: Path
    kernel_version: str

    def describe(self) -> dict[str, str]:
        """Return what a cell's identity must hold of its lab: digests of what was built."""
        return {
            "name": NAME,
            "kernel": self.kernel_version,
            "kernel_package": (self.kernel / "version").read_text().strip(),
            "kernel_digest": contents.digest(self.kernel),
            **_built_first(self.image, self.code),
        }

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return image.installed(self.image)

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        found = [
            f"{part.name}/{line}"
            for part in (self.image.parent, self.kernel, self.code)
            for line in contents.changed(part, thorough=thorough)
        ]
        if found:
            raise UnsupportedError(
                "the cached lab is not as it was built",
                where=str(self.image.parent.parent),
                got=contents.named(found),
                hint="make clean-cache removes it; the next run builds it again",
            )

    def command(self, folder: Path, boot: Boot) -> list[str]:
        """Return the command line that boots the lab; only paths, seed and limit differ."""
        sandbox = Sandbox(
            image=self.image,
            read_only={"/gt/kernel": self.kernel, "/gt/code": self.code},
            writable={"/cell": folder},
            scratch=("/tmp",),
            env={"LD_PRELOAD": "/gt/code/preload.so", "LAB_SEED": str(boot.seed)},
        )
        line = [
            "/gt/kernel/linux",
            f"mem={MEMORY}",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",  # init mounts the cell's folder, which can be written
            "umid=lab",
            "time-travel=inf-cpu",
            f"time-travel-start={START_NS}",
            "con=null",
            "con0=fd:0,fd:1",
            "quiet",
            "panic=-1",
            "init=/gt/code/init",
        ]
        if self._has_seccomp():
            line.append("seccomp=on")
        return sandbox.argv([*line, "--", str(round(boot.limits.virtual_s)), *boot.program])

    def _has_seccomp(self) -> bool:
        major, minor = (int(part) for part in self.kernel_version.split("."))
        return (major, minor) >= (6, 16)

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> float:
        """Run a prepared folder to its end; return the wall time in seconds.

        Raises:
            RunError: as for :meth:`boot`.
        """
        return self.boot(Boot(seed=cell.seed, limits=cell.limits), folder, cancelled)

    def boot(self, boot: Boot, folder: Path, cancelled: threading.Event) -> float:
        """Boot the lab with ``folder`` as its cell and wait; return the wall time in seconds.

        Raises:
            RunError: the guest panicked, hung, spun, was killed, or its program failed. The
                message names the phase and the console's last lines, which are also kept.
        """
        console = folder.parent / runfolder.CONSOLE  # a guest cannot reach it
        began_s = time.monotonic()
        with console.open("wb") as out:
            child = subprocess.Popen(
                self.command(folder, boot),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                ended = _wait(child, began_s + boot.limits.wall_s, cancelled)
            finally:
                if child.poll() is None:
                    end_group(child)
        wall_s = time.monotonic() - began_s
        problem = _problem(folder, console, boot.limits, ended, cancelled.is_set())
        if problem:
            raise problem
        return wall_s


def _wait(child: subprocess.Popen[bytes], deadline_s: float, cancelled: threading.Event) -> bool:
    """Return whether the child ended by itself before the deadline and before a cancellation."""
    handle = os.pidfd_open(child.pid)  # waiting with a time limit by other means polls
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        while not cancelled.is_set() and (left_s := deadline_s - time.monotonic()) > 0:
            if poll.poll(min(left_s, POLL_S) * 1000):
                child.wait()
                return True
        return False
    finally:
        os.close(handle)


def _problem(
    folder: Path, console: Path, limits: Limits, ended: bool, cancelled: bool
) -> RunError | None:
    text = console.read_text(errors="replace")
    phases = re.findall(r"^lab: phase (.+?)\r?$", text, re.MULTILINE)
    phase = phases[-1] if phases else "boot"
    where = f"cell {folder.parent.name}, phase {phase}"
    if cancelled:
        return RunError("interrupted", where=where)
    if not ended:
        return RunError(
            "the lab did not end",
            where=where,
            wanted=f"within {limits.wall_s:.0f} s of wall-clock time",
            got=tail(console),
            hint="a program that polls without sleeping stops the virtual clock",
        )
    if re.search(r"^lab: agent exited 0\r?$", text, re.MULTILINE):
        return None
    message = accept.error_message(folder)
    if message:
        return RunError(message, where=where)
    found = re.search(r"^lab: (virtual-time limit .+?|agent .+?|init: .+?)\r?$", text, re.MULTILINE)
    if "Kernel panic" in text:
        what = "the lab's kernel panicked"
    else:
        what = found.group(1) if found else "the lab's kernel ended before its agent"
    return RunError(what, where=where, got=tail(console))


def _built_first(root: Path, code: Path) -> dict[str, str]:
    return {"image_digest": contents.digest(root.parent), "code_digest": contents.digest(code)}


def _any(_found: Mapping[str, str], _packages: Mapping[str, str]) -> None:
    pass


def ensure(
    kernel_version: str,
    report: BuildReport,
    check: Callable[[Mapping[str, str], Mapping[str, str]], None] = _any,
) -> VirtualLab:
    """Return the lab, building image, code and kernel that are not in the cache yet.

    Raises:
        UnsupportedError: Debian has no such kernel, which is seen before anything is built; or a
            file in the cache was edited, removed or added since.

    ``check`` may refuse what it is told of the lab, and the image's packages, before the kernel is
    built, which takes minutes.
    """
    kernel.check_version(kernel_version)
    if not is_built(kernel_version):
        kernel.check_offered(kernel_version)
    root = image.ensure(report)
    image_digest = contents.digest(root.parent)
    code = bundle.ensure(root, image_digest)
    check(_built_first(root, code), image.installed(root))
    lab = VirtualLab(
        image=root,
        kernel=kernel.ensure(kernel_version, root, image_digest, report),
        code=code,
        kernel_version=kernel_version,
    )
    lab.check_whole(thorough=False)
    return lab


def is_built(kernel_version: str) -> bool:
    """Return whether image and kernel are in the cache."""
    root = image.built()
    return (
        root is not None and kernel.built(kernel_version, contents.digest(root.parent)) is not None
    )
