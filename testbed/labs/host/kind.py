"""The host lab as every lab is known: what it promises, what it takes, how it is made ready."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from model.cell import Cell, Limits
from model.errors import UnsupportedError
from testbed.guest import calibration
from testbed.labs.booted import booting, image, lab_code, time_limits
from testbed.labs.contract import paths_and_events, seeded_loss
from testbed.labs.contract.lab import BuildsNoKernel, Check, Finding, Lab, Properties, accept_any
from testbed.labs.host import host_lab, kernel_modules, machine_facts, undo
from testbed.labs.host.host_lab import HostLab
from testbed.machine import contents
from testbed.machine.process import BuildReport

#: Building a network and reading everything back, waiting for silence, and tables.
SETUP_S = 20.0
NO_ROOT = (
    "sudo make experiment LAB=host; without root: LAB=virtual, the kernel of which is a process"
)
OLD_KERNEL = (
    "on Debian 12 install linux-image-amd64 of bookworm-backports and restart; or LAB=virtual"
)


@dataclass(frozen=True)
class HostKind(BuildsNoKernel):
    """See :class:`testbed.labs.contract.lab.LabKind`."""

    properties: Properties = host_lab.PROPERTIES

    def slots(self) -> int:
        """Return one: what runs beside a cell may make it late."""
        return 1

    def limits(self, cell: Cell) -> Limits:
        """Return after which times a cell is given up: its clock is the wall's.

        Raises:
            UnsupportedError: it has radios, it draws losses, which the running kernel cannot from a
                seed, or something happens to links.
        """
        paths_and_events.check_links(cell, self.properties.name)
        paths_and_events.check_queues(cell, self.properties.name)
        paths_and_events.check_rates(cell, self.properties.name)
        paths_and_events.check_events(cell, self.properties.name)
        seeded_loss.check(cell, self.least_release(), OLD_KERNEL)
        usual = time_limits.limits(cell)
        return replace(usual, wall_s=usual.virtual_s + usual.wall_s)

    def least_release(self) -> str:
        """Return the running kernel's release."""
        return os.uname().release

    def cell_wall_s(self, cell: Cell) -> float:
        """Return how long a cell takes, tables included."""
        if cell.purpose == "calibrate":
            return SETUP_S + calibration.virtual_s(cell.wired, cell.seed)
        return SETUP_S + cell.duration_s

    def check_kernel(self, version: str) -> str:
        """Return a version of the running kernel; raise :class:`UnsupportedError` for others."""
        if not machine_facts.is_asked(version):
            raise UnsupportedError(
                "the host lab has this machine's kernel and no other",
                where="KERNEL",
                wanted=version,
                got=os.uname().release,
                hint=f"leave KERNEL out, boot that kernel, or LAB=stock KERNEL={version}",
            )
        return version

    def kernel_instead(self, asked: str) -> str:
        """Return the running kernel's version: it stands for all that studies name."""
        self.refuse_folder(asked)
        return self.check_kernel(asked) if asked else machine_facts.kernel_version()

    def check_offered(self, _kernel_versions: Sequence[str]) -> None:
        """Ask nobody: its kernel is there."""

    def built_first(self, _kernel_versions: Sequence[str]) -> str:
        """Return what is built before the first cell, and how long that takes; "" for nothing."""
        return "" if image.built() else "first built, once, about 3 min: lab image"

    def doctor(self, _kernel_versions: Sequence[str]) -> list[Finding]:
        """Look at what it needs of this machine; change nothing."""
        from testbed.labs.booted import doctor  # when needed: no other command looks

        return [*_findings(), *doctor.examine(
            [], kernels_bytes=0, processor_hint="the lab's image is made of packages for x86_64"
        )]  # fmt: skip

    def ready(
        self, kernel_versions: Sequence[str], report: BuildReport, check: Check = accept_any
    ) -> Lab:
        """Return the lab, its image built if needed; the machine is not changed yet."""
        for version in kernel_versions:
            self.check_kernel(version)
        _require_root()
        kernel_modules.check()
        root = image.ensure(report)
        code = lab_code.ensure(root, contents.digest(root.parent))
        check(booting.built_first(root, code), image.installed(root))
        lab = HostLab(image=root, code=code)
        lab.check_whole(thorough=False)
        return lab

    def clean(self, say: Callable[[str], None]) -> None:
        """Undo what a killed run left, and only that; say each."""
        _require_root()
        places = undo.Places()
        if places.folder.is_dir():
            with undo.alone(places):
                undo.undo(places, say)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise UnsupportedError(
            "the host lab makes networks on this machine", wanted="root",
            got=f"user {os.geteuid()}", hint=NO_ROOT,
        )  # fmt: skip


def _findings() -> list[Finding]:
    try:
        missing = kernel_modules.missing()
    except UnsupportedError as error:
        missing = {"modprobe": error.got}
    why = next(iter(missing.values()), "")
    locked = kernel_modules.lockdown()
    return [
        Finding(
            name="root", state="yes" if os.geteuid() == 0 else "no", well=os.geteuid() == 0,
            needed=True, hint=NO_ROOT,
        ),
        Finding(
            name="kernel", state=os.uname().release, needed=False,
            well=seeded_loss.takes_seed(os.uname().release),
            hint=f"its netem takes no seed, so no study with random loss runs: {OLD_KERNEL}",
        ),
        Finding(
            name="modules of the kernel",
            state=f"missing: {' '.join(missing)} ({why})" if missing else "all there",
            well=not missing, needed=True, hint=kernel_modules.advice(why),
        ),
        Finding(
            name="kernel lockdown", state=locked, well=locked != "confidentiality", needed=True,
            hint="it refuses eBPF and tracing: switch Secure Boot's lockdown to integrity or off",
        ),
    ]  # fmt: skip


HOST = HostKind()
