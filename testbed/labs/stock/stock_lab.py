"""The stock lab: a cell runs on Debian's own signed kernel in QEMU, without any virtualisation of
the host's: QEMU counts the guest's instructions, and its clock is that count, or jumps to the next
timer where the guest is idle.

Invariants: the guest sees the image and the code (read-only) and its own cell folder; time passes
as the guest computes and jumps while it waits for a file, so while flows run, when no file is
waited for, a busy host changes nothing; but what a cell leaves is not the same to the byte: when
QEMU's own threads hand over a file's blocks is the host's affair.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from model.cell import Cell
from model.tolerances import Tolerances
from testbed.labs.booted import booting, image, lab_code
from testbed.labs.booted.booting import Boot
from testbed.labs.booted.per_kernel import LabPerKernel
from testbed.labs.confinement import allowance, preflight
from testbed.labs.confinement.sandbox import Sandbox, Walls
from testbed.labs.contract.lab import Check, Properties, Ran, accept_any
from testbed.labs.stock import emulator, kernel_package, modules
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport

PROPERTIES = Properties(
    name="stock",
    kernels="Debian's or Ubuntu's own kernel in QEMU, as any user",
    clock="virtual",
    tick_hz=250,  # of Debian's kernels; that of a package is what its configuration says
    repeatable=False,
    tolerances=Tolerances(
        delay_s=1e-3, event_s=1e-3, rate_frac=0.01, start_s=10e-3, start_per_flow_s=1e-3
    ),
)
#: 2 ** this nanoseconds of the guest's time pass with each of its instructions: a processor that
#: does 10^9 of them a second.
TIME_SHIFT = 0
#: While the guest waits for a file of this machine's it is idle, and its clock jumps to its next
#: timer: a program is loaded in none of its time or in half a second of it, as busy as this is.
HEAD_START_S = "20"
#: The guest's memory beyond what User-Mode Linux needs for the same cell: a kernel for any machine.
MORE_MEMORY_BYTES = 512 << 20
#: QEMU's threads: for the processor, files and timers.
EMULATOR_THREADS = 128
#: 9P keeps a file open on the host for each one that the guest has open or remembers.
OPEN_FILES = 8192
KERNEL_WORDS = (
    "console=ttyS0", "quiet", "panic=-1", "rdinit=/init", "tsc=reliable", "no_timer_check",
    "mitigations=off", "random.trust_cpu=off", "ipv6.disable=1",
)  # fmt: skip
SHARED = {"image": "/image", "code": "/gt/code", "cell": "/cell"}


@dataclass(frozen=True, kw_only=True)
class StockLab:
    """An emulator, a kernel of Debian's, and the image and code that run on it."""

    emulator: Path
    kernel: Path
    first_root: Path
    image: Path
    code: Path
    kernel_version: str
    properties: Properties = PROPERTIES

    def describe(self) -> dict[str, str]:
        """Return what a cell's identity must hold of its lab: digests of what was built."""
        return {
            "name": self.properties.name,
            "clock": self.properties.clock,
            "tick_hz": str(self.properties.tick_hz),
            "head_start_s": HEAD_START_S,
            "kernel": self.kernel_version,
            "kernel_package": (self.kernel / "version").read_text().strip(),
            "kernel_digest": contents.digest(self.kernel),
            "emulator_digest": contents.digest(self.emulator.parent),
            **booting.built_first(self.image, self.code),
        }

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return image.installed(self.image)

    def kernel_config(self) -> str:
        """Return what its kernel was configured with."""
        return (self.kernel / "config").read_text()

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""
        return (
            self.image.parent, self.kernel, self.code, self.emulator.parent, self.first_root,
        )  # fmt: skip

    def command(self, folder: Path, boot: Boot) -> list[str]:
        """Return the command line that boots the lab; only paths, memory and limit differ."""
        allowed = boot.allowed
        memory_bytes = allowed.memory_bytes + MORE_MEMORY_BYTES
        sandbox = Sandbox(
            image=self.emulator,
            read_only={
                "/kernel": self.kernel, "/image": self.image, "/gt/code": self.code,
                "/gt/first_root": self.first_root,
            },
            writable={"/cell": folder},
            scratch={"/tmp": 1 << 20, "/dev/shm": 1 << 20},
            walls=Walls(
                program="/gt/code/walls",
                open_files=max(OPEN_FILES, allowed.open_files),
                processes=allowed.processes + EMULATOR_THREADS,
                file_bytes=allowed.file_bytes,
                emulator=True,
                own_processes=True,  # by whose names QEMU gives files their modes
            ),
        )  # fmt: skip
        words = [*KERNEL_WORDS, "--", str(round(boot.limits.virtual_s)), *boot.program]
        return sandbox.argv([*machine(memory_bytes), "-append", " ".join(words)])

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder to its end; return how long that took.

        Raises:
            RunError: as for :func:`testbed.labs.booted.booting.run_to_end`.
        """
        boot = Boot(seed=cell.seed, limits=cell.limits, allowed=allowance.of_cell(cell))
        return booting.run_to_end(self.command(folder, boot), boot, folder, cancelled)


def machine(memory_bytes: int) -> list[str]:
    """Return QEMU's command line but for what the kernel is told."""
    args = [
        emulator.PROGRAM, "-nodefaults", "-no-user-config", "-no-reboot",
        "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "1",
        "-m", f"{memory_bytes >> 20}M",
        "-icount", f"shift={TIME_SHIFT},sleep=off",
        "-rtc", "base=2026-01-01T00:00:00,clock=vm",
        "-display", "none", "-serial", "stdio",
        "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-kernel", "/kernel/vmlinuz", "-initrd", "/gt/first_root/archive",
    ]  # fmt: skip
    for name, place in SHARED.items():
        rights = "" if name == "cell" else ",readonly=on"
        args += ["-fsdev", f"local,id={name},path={place},security_model=none{rights}"]
        args += ["-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
    return args


def ensure_per_kernel(
    kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
) -> LabPerKernel:
    """Return the labs of these kernels as one, fetching or building what is not in the cache.

    Raises:
        UnsupportedError: this machine cannot confine a lab, or there is no such kernel, both seen
            before anything is built; or a file in the cache was edited, removed or added since.
    """
    versions = tuple(dict.fromkeys(kernel_versions))
    check_offered(versions)
    preflight.check()
    root = image.ensure(report)
    code = lab_code.ensure(root, contents.digest(root.parent))
    check(booting.built_first(root, code), image.installed(root))
    qemu = emulator.ensure(report)
    labs = {version: _lab(version, qemu, root, code, report) for version in versions}
    booting.check_parts(
        dict.fromkeys(part for lab in labs.values() for part in lab.parts()), thorough=False
    )
    return LabPerKernel(by_kernel=labs, properties=PROPERTIES)


def check_offered(kernel_versions: Sequence[str]) -> None:
    """Raise unless each of these kernels is in the cache or to be had."""
    for version in kernel_versions:
        kernel_package.check_version(version)
    kernel_package.check_offered([one for one in kernel_versions if not kernel_package.built(one)])


def _lab(version: str, qemu: Path, root: Path, code: Path, report: BuildReport) -> StockLab:
    kernel = kernel_package.ensure(version, report)
    digest = cache.digest_of(contents.digest(kernel), contents.digest(code))

    def join(folder: Path) -> None:
        program = modules.archive_of_program((code / "early").read_bytes())
        (folder / "archive").write_bytes(program + (kernel / "modules").read_bytes())
        contents.settle(folder)

    return StockLab(
        emulator=qemu, kernel=kernel, image=root, code=code, kernel_version=version,
        first_root=cache.entry("stock-first-root", digest, join),
        properties=replace(PROPERTIES, tick_hz=kernel_package.tick_hz(kernel)),
    )  # fmt: skip


def is_built(kernel_version: str) -> bool:
    """Return whether all but the code is in the cache."""
    return bool(image.built() and emulator.built() and kernel_package.built(kernel_version))
