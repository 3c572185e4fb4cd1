"""The virtual lab: a cell runs on a User-Mode Linux kernel whose clock stands still while
anything computes and jumps when all is idle.

Invariants: the guest sees its image (read-only), its code (read-only) and its own cell folder;
the kernel's command line, which is mixed into the random pool, depends on the cell alone and
never on this machine; so what a cell yields is a function of ``cell.json``.
"""

from __future__ import annotations

import re
import resource
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from model import run_folder
from model.cell import Cell, Limits
from model.errors import RunError, UnsupportedError
from testbed.labs.contract import accept
from testbed.labs.contract.lab import Check, Properties, Tolerances, accept_any
from testbed.labs.virtual import allowance, image, kernel, lab_code, lab_user, preflight
from testbed.labs.virtual.allowance import Allowance
from testbed.labs.virtual.sandbox import Sandbox, Walls
from testbed.labs.virtual.supervise import Ending, supervise
from testbed.machine import contents
from testbed.machine.process import BuildReport, tail

#: Of the tolerances: netem's clock ticks are 64 ns, and a path is a few stages each way.
PROPERTIES = Properties(
    name="virtual",
    clock="virtual",
    repeatable=True,
    tolerances=Tolerances(delay_s=20e-6, rate_frac=0.001),
)
#: 2026-01-01T00:00:00Z, the date every capture starts at.
START_NS = 1_767_225_600 * 1_000_000_000
#: Folders in memory: the kernel's memory is a file in the first, its pid one in the second.
SHM_SLACK_BYTES, TMP_BYTES = 16 << 20, 1 << 20
#: What init and walls say of how a lab ended.
ENDS = r"^lab: (virtual-time limit .+?|agent .+?|init: .+?|walls: .+?)\r?$"
RUNS_WILD = "a cell of this size needs far less; a program in the lab runs wild"
#: What is said where the host gives it no more (EAGAIN, EMFILE), of what, by which limit.
REFUSALS = (
    ("namespace failed: Resource temporarily unavailable", "processes", resource.RLIMIT_NPROC),
    ("clone failed, errno = 11", "processes", resource.RLIMIT_NPROC),
    ("failed, errno = 24", "open files", resource.RLIMIT_NOFILE),
)
#: Without the site module, which only costs time here: init names the two folders needed.
AGENT = ("/usr/bin/python3", "-S", "-m", "testbed.guest.agent")


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One boot: the seed of all randomness, when to give up, what to take, and what to run."""

    seed: int
    limits: Limits
    allowed: Allowance = allowance.LEAST
    program: tuple[str, ...] = AGENT


@dataclass(frozen=True, kw_only=True)
class VirtualLab:
    """An image, a kernel and the code that runs on them, all built."""

    image: Path
    kernel: Path
    code: Path
    kernel_version: str
    properties: Properties = PROPERTIES

    def describe(self, kernel_version: str = "") -> dict[str, str]:
        """Return what a cell's identity must hold of its lab: digests of what was built.

        A lab of one kernel describes itself whether or not that is named.
        """
        if kernel_version not in ("", self.kernel_version):
            raise UnsupportedError(
                "this lab has another kernel", wanted=kernel_version, got=self.kernel_version
            )
        return {
            "name": self.properties.name,
            "kernel": self.kernel_version,
            "kernel_package": (self.kernel / "version").read_text().strip(),
            "kernel_digest": contents.digest(self.kernel),
            **_built_first(self.image, self.code),
        }

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return image.installed(self.image)

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""
        return (self.image.parent, self.kernel, self.code)

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        check_parts(self.parts(), thorough=thorough)

    def command(self, folder: Path, boot: Boot) -> list[str]:
        """Return the command line that boots the lab; only paths, seed and limit differ."""
        allowed = boot.allowed
        sandbox = Sandbox(
            image=self.image,
            read_only={"/gt/kernel": self.kernel, "/gt/code": self.code},
            writable={"/cell": folder},
            scratch={"/dev/shm": allowed.memory_bytes + SHM_SLACK_BYTES, "/tmp": TMP_BYTES},
            env={"LD_PRELOAD": "/gt/code/preload.so", "LAB_SEED": str(boot.seed)},
            walls=Walls(
                program="/gt/code/walls",
                open_files=allowed.open_files,
                processes=allowed.processes,
                file_bytes=allowed.file_bytes,
                may_trace=not self._has_seccomp(),
            ),
        )
        line = [
            "/gt/kernel/linux",
            f"mem={allowed.memory_bytes >> 20}M",
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
        allowed = allowance.of_cell(cell)
        return self.boot(
            Boot(seed=cell.seed, limits=cell.limits, allowed=allowed), folder, cancelled
        )

    def boot(self, boot: Boot, folder: Path, cancelled: threading.Event) -> float:
        """Boot the lab with ``folder`` as its cell and wait; return the wall time in seconds.

        Raises:
            RunError: the guest panicked, hung, spun, was killed, or its program failed. The
                message names the phase and the console's last lines, which are also kept.
        """
        console = folder.parent / run_folder.CONSOLE  # a guest cannot reach it
        began_s = time.monotonic()
        lab_user.lend(folder, lab_user.of_sandbox())
        ending = supervise(
            self.command(folder, boot),
            folder=folder,
            console=console,
            allowed=boot.allowed,
            deadline_s=began_s + boot.limits.wall_s,
            cancelled=cancelled,
        )
        wall_s = time.monotonic() - began_s
        problem = _problem(folder, console, boot, ending, cancelled.is_set())
        if problem:
            raise problem
        return wall_s


def check_parts(parts: Iterable[Path], *, thorough: bool) -> None:
    """Raise :class:`UnsupportedError` naming files in the cache that are not as they were built."""
    found = [
        (part.parent, f"{part.name}/{line}")
        for part in parts
        for line in contents.changed(part, thorough=thorough)
    ]
    if found:
        raise UnsupportedError(
            "the cached lab is not as it was built",
            where=str(found[0][0]),
            got=contents.named([line for _, line in found]),
            hint="make clean-cache removes it; the next run builds it again",
        )


def _problem(
    folder: Path, console: Path, boot: Boot, ending: Ending, cancelled: bool
) -> RunError | None:
    text = console.read_text(errors="replace")
    phases = re.findall(r"^lab: phase (.+?)\r?$", text, re.MULTILINE)
    phase = phases[-1] if phases else "boot"
    where = f"cell {folder.parent.name}, phase {phase}"
    if cancelled:
        return RunError("interrupted", where=where)
    if ending.excess:
        return RunError(
            ending.excess.what,
            where=where,
            wanted=ending.excess.wanted,
            got=ending.excess.got,
            hint=RUNS_WILD,
        )
    if not ending.by_itself:
        return RunError(
            "the lab did not end",
            where=where,
            wanted=f"within {boot.limits.wall_s:.0f} s of wall-clock time",
            got=tail(console),
            hint="a program that polls without sleeping stops the virtual clock",
        )
    if re.search(r"^lab: agent exited 0\r?$", text, re.MULTILINE):
        return None
    for words, what, limit in REFUSALS:
        if words in text:
            return _ran_out_of(what, limit, boot.allowed, where, tail(console))
    message = accept.error_message(folder)
    if message:
        return RunError(message, where=where)
    found = re.search(ENDS, text, re.MULTILINE)
    if "Kernel panic" in text:
        what = "the lab's kernel panicked"
    else:
        what = found.group(1) if found else "the lab's kernel ended before its agent"
    return RunError(what, where=where, got=tail(console))


def _ran_out_of(what: str, limit: int, allowed: Allowance, where: str, last_words: str) -> RunError:
    may = {"processes": allowed.processes, "open files": allowed.open_files}[what]
    granted = resource.getrlimit(limit)[1]
    hint = RUNS_WILD
    if granted != resource.RLIM_INFINITY and granted < may:
        hint = f"this machine grants {granted} (ulimit -H), a cell of this size may need {may}"
        may = granted
    return RunError(
        f"the lab ran out of {what}",
        where=where,
        wanted=f"at most {may} on the host",
        got=last_words,
        hint=hint,
    )


def _built_first(root: Path, code: Path) -> dict[str, str]:
    return {"image_digest": contents.digest(root.parent), "code_digest": contents.digest(code)}


def ensure(kernel_version: str, report: BuildReport, check: Check = accept_any) -> VirtualLab:
    """Return the lab of one kernel; see :func:`ensure_each`."""
    (lab,) = ensure_each([kernel_version], report, check)
    return lab


def ensure_each(
    kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
) -> tuple[VirtualLab, ...]:
    """Return a lab per kernel, building image, code and kernels that are not in the cache yet.

    Raises:
        UnsupportedError: this machine cannot confine a lab, or Debian has no such kernel, both seen
            before anything is built; or a file in the cache was edited, removed or added since.

    ``check`` may refuse what it is told of the labs, and the image's packages, before a kernel is
    built, which takes minutes.
    """
    for version in kernel_versions:
        kernel.check_version(version)
    preflight.check()
    missing = [version for version in kernel_versions if not is_built(version)]
    if missing:
        kernel.check_offered(missing)
    root = image.ensure(report)
    image_digest = contents.digest(root.parent)
    code = lab_code.ensure(root, image_digest)
    check(_built_first(root, code), image.installed(root))
    labs = tuple(
        VirtualLab(
            image=root,
            kernel=kernel.ensure(version, root, image_digest, report),
            code=code,
            kernel_version=version,
        )
        for version in kernel_versions
    )
    check_parts(dict.fromkeys(part for lab in labs for part in lab.parts()), thorough=False)
    return labs


def is_built(kernel_version: str) -> bool:
    """Return whether image and kernel are in the cache."""
    root = image.built()
    return (
        root is not None and kernel.built(kernel_version, contents.digest(root.parent)) is not None
    )
