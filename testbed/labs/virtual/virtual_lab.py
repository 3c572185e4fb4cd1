"""The virtual lab: a cell runs on a User-Mode Linux kernel whose clock stands still while
anything computes and jumps when all is idle.

Invariants: the guest sees its image (read-only), its code (read-only) and its own cell folder;
the kernel's command line, which is mixed into the random pool, depends on the cell alone and
never on this machine; so what a cell yields is a function of ``cell.json``.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from model.cell import Cell
from model.errors import UnsupportedError
from model.tolerances import EXACT
from testbed.labs.booted import booting, image, lab_code
from testbed.labs.booted.booting import Boot
from testbed.labs.booted.per_kernel import LabPerKernel, OwnMachine
from testbed.labs.confinement import allowance, preflight
from testbed.labs.confinement.sandbox import Sandbox, Walls
from testbed.labs.contract.lab import Check, Properties, Ran, accept_any
from testbed.labs.virtual import kernel, patched_kernel
from testbed.labs.virtual.kernel import USUAL, Config
from testbed.machine import contents
from testbed.machine.process import BuildReport
from testbed.study import kernel_names

PROPERTIES = Properties(
    name="virtual",
    kernels="User-Mode Linux of Debian's source, a process of any user",
    clock="virtual",
    tick_hz=kernel.TICK_HZ,
    repeatable=True,
    builds=True,
    tolerances=EXACT,
)
#: 2026-01-01T00:00:00Z, the date every capture starts at.
START_NS = 1_767_225_600 * 1_000_000_000
#: Folders in memory: the kernel's memory is a file in the first, its pid one in the second.
SHM_SLACK_BYTES, TMP_BYTES = 16 << 20, 1 << 20


@dataclass(frozen=True, kw_only=True)
class VirtualLab(OwnMachine):
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
            "clock": self.properties.clock,
            "tick_hz": str(self.properties.tick_hz),
            "kernel": self.kernel_version,
            "kernel_package": self._package(),
            "kernel_digest": contents.digest(self.kernel),
            **booting.built_first(self.image, self.code),
        }

    def _package(self) -> str:
        """Return the version of the kernel's package, and which patches were applied to it."""
        _, patches = patched_kernel.parts(self.kernel_version)
        package = (self.kernel / "version").read_text().strip()
        return " +".join([package, *patches])

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return image.installed(self.image)

    def kernel_config(self, kernel_version: str = "") -> str:
        """Return what its kernel was configured with."""
        return (self.kernel / "config").read_text()

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""
        return (self.image.parent, self.kernel, self.code)

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        booting.check_parts(self.parts(), thorough=thorough)

    def command(self, folder: Path, boot: Boot) -> list[str]:
        """Return the command line that boots the lab; only paths, seed and limit differ."""
        allowed = boot.allowed
        sandbox = Sandbox(
            image=self.image,
            read_only={"/gt/kernel": self.kernel, "/gt/code": self.code, **boot.shown},
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
        if kernel_names.IPV6 in kernel_names.options(self.kernel_version):
            # Of every interface, until it is asked for: IPv6 sends packets of its own.
            line.append("ipv6.disable_ipv6=1")
        return sandbox.argv([*line, "--", str(round(boot.limits.virtual_s)), *boot.program])

    def _has_seccomp(self) -> bool:
        version, _ = patched_kernel.parts(self.kernel_version)
        return kernel_names.numbers(version) >= (6, 16)

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder to its end; return how long that took.

        Raises:
            RunError: as for :meth:`boot`.
        """
        boot = Boot(
            seed=cell.seed,
            limits=cell.limits,
            allowed=allowance.of_cell(cell),
            program=booting.AGENT_AT_ONCE,
        )
        return self.boot(boot, folder, cancelled)

    def boot(self, boot: Boot, folder: Path, cancelled: threading.Event) -> Ran:
        """Boot the lab with ``folder`` as its cell and wait; return what that took.

        Raises:
            RunError: as for :func:`testbed.labs.booted.booting.run_to_end`.
        """
        return booting.run_to_end(self.command(folder, boot), boot, folder, cancelled)


def ensure(
    kernel_version: str, report: BuildReport, check: Check = accept_any, config: Config = USUAL
) -> VirtualLab:
    """Return the lab of one kernel; see :func:`ensure_each`."""
    (lab,) = ensure_each([kernel_version], report, check, config)
    return lab


def ensure_each(
    kernel_versions: Sequence[str],
    report: BuildReport,
    check: Check = accept_any,
    config: Config = USUAL,
) -> tuple[VirtualLab, ...]:
    """Return a lab per kernel, building image, code and kernels that are not in the cache yet.

    Raises:
        UnsupportedError: this machine cannot confine a lab, or Debian has no such kernel, both seen
            before anything is built; or a file in the cache was edited, removed or added since.

    ``check`` may refuse what it is told of the labs, and the image's packages, before a kernel is
    built, which takes minutes. Every kernel is built with ``config``.
    """
    check_offered(kernel_versions, config)
    preflight.check()
    root = image.ensure(report)
    image_digest = contents.digest(root.parent)
    code = lab_code.ensure(root, image_digest)
    check(booting.built_first(root, code), image.installed(root))
    labs = tuple(
        VirtualLab(
            image=root,
            kernel=patched_kernel.ensure(version, root, image_digest, report, config),
            code=code,
            kernel_version=version,
            properties=replace(PROPERTIES, tick_hz=config.tick_hz),
        )
        for version in kernel_versions
    )
    booting.check_parts(dict.fromkeys(part for lab in labs for part in lab.parts()), thorough=False)
    return labs


def check_offered(kernel_versions: Sequence[str], config: Config = USUAL) -> None:
    """Raise unless each of these kernels is in the cache or to be had; see :mod:`kernel`."""
    names = [patched_kernel.checked(name) for name in kernel_versions]
    for name in kernel_versions:
        patched_kernel.check_complete(name)
    if missing := [name for name in names if not is_built(name, config)]:
        patched_kernel.check_offered(missing)


def ensure_per_kernel(
    kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
) -> LabPerKernel:
    """Return the labs of these kernels as one, each once; see :func:`ensure_each`."""
    versions = tuple(dict.fromkeys(kernel_versions))
    labs = ensure_each(versions, report, check)
    return LabPerKernel(by_kernel=dict(zip(versions, labs, strict=True)), properties=PROPERTIES)


def is_built(kernel_version: str, config: Config = USUAL) -> bool:
    """Return whether image and kernel are in the cache."""
    root = image.built()
    if root is None:
        return False
    return patched_kernel.built(kernel_version, contents.digest(root.parent), config) is not None
