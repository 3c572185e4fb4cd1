"""The host lab: a cell runs on this machine's own kernel, in real time, in networks of its own.

The agent runs as root in the image's files: the same tools as in every lab, and no other programs
than these. Invariants: processes, mounts, networks and names of a cell are in namespaces that end
with its first process, which ends with its starter; what all networks of the machine share is set
before the first cell and taken back after the last (:mod:`testbed.labs.host.undo`). Of the
machine's settings the agent sees its networks' alone as writable, and of root's rights it has those
that it needs; as mounting is among them, this is against accidents and no wall.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from model.cell import Cell
from model.errors import LateError, RunError, UnsupportedError
from model.tolerances import Tolerances
from testbed.guest.build_network import MEMORY_LIMITS, OF_A_NETWORK
from testbed.labs.booted import booting, image
from testbed.labs.booted.booting import Boot
from testbed.labs.confinement import allowance, host_tools
from testbed.labs.contract.lab import Properties, Ran
from testbed.labs.host import machine_facts, undo
from testbed.labs.host.punctuality import Watch
from testbed.labs.host.undo import Journal, Places
from testbed.machine.console import words

PROPERTIES = Properties(
    name="host",
    kernels="this machine's own kernel, as root",
    clock="real",
    tick_hz=machine_facts.tick_hz(),
    repeatable=False,
    tolerances=Tolerances(
        delay_s=2e-3,
        event_s=2e-3,
        rate_frac=0.02,
        start_s=10e-3,
        start_per_flow_s=1e-3,
        late_frac=0.05,
    ),
)
#: Programs are started in real time.
HEAD_START_S = "3"
#: Measuring what a cell has written, all its processes' files, takes time of the same processors.
LOOK_S = 2.0
#: What all networks of a machine share.
SHARED_LIMITS = {
    f"net/{name}": value for name, value in MEMORY_LIMITS.items() if name not in OF_A_NETWORK
}
#: All that root may do inside: networks, mounts and namespaces, raw packets, limits. Not modules,
#: devices, the date, a restart, others' memory and files.
CAPABILITIES = (
    "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_SYS_RESOURCE",
)  # fmt: skip
#: Not every kernel has these.
IPC = Path("/proc/self/ns/ipc")
#: The first program inside: lets the starter go on once its own end is tied to it, has of the
#: machine's settings those of networks, and says how the agent ended.
FIRST_PROGRAM = """
try() { "$@" || { echo "lab: init: failed: $*"; exit 1; }; }
printf r >&0
[ "$(head -c 1)" = g ] || exit 1
exec </dev/null
try mkdir /tmp/proc
try mount -t proc proc /tmp/proc
try mount --bind /proc/sys /proc/sys
try mount -o remount,bind,ro /proc/sys
try mount --bind /tmp/proc/sys/net /proc/sys/net
try umount --lazy /tmp/proc
try rmdir /tmp/proc
try mount -t sysfs -o ro sysfs /sys
try mount -t tracefs tracefs /sys/kernel/tracing
"$@"
echo "lab: agent exited $?"
"""


@dataclass(frozen=True, kw_only=True)
class HostLab:
    """The image and the code that run on this machine's kernel."""

    image: Path
    code: Path
    properties: Properties = PROPERTIES
    places: Places = field(default_factory=Places)

    def describe(self, kernel_version: str) -> dict[str, str]:
        """Return what the identity of a cell must hold of its lab: image, code and machine."""
        if not machine_facts.is_asked(kernel_version):
            raise UnsupportedError(
                "this machine runs another kernel", wanted=kernel_version,
                got=machine_facts.kernel_version(),
            )  # fmt: skip
        return {
            "name": self.properties.name,
            "clock": self.properties.clock,
            "tick_hz": str(self.properties.tick_hz),
            "head_start_s": HEAD_START_S,
            **machine_facts.describe(),
            **booting.built_first(self.image, self.code),
        }

    def packages(self) -> dict[str, str]:
        """Return the version of each package in the image, by name."""
        return image.installed(self.image)

    def kernel_config(self, _kernel_version: str) -> str:
        """Return what the running kernel was configured with, where its package says so."""
        return machine_facts.kernel_config()

    def parts(self) -> tuple[Path, ...]:
        """Return the folders in the cache it is made of."""
        return (self.image.parent, self.code)

    def check_whole(self, *, thorough: bool) -> None:
        """Raise :class:`UnsupportedError` naming files that are not as they were built."""
        booting.check_parts(self.parts(), thorough=thorough)

    @contextlib.contextmanager
    def prepared(self) -> Iterator[None]:
        """Load modules and set limits for the block, and take both back after it.

        Raises:
            UnsupportedError: another run has the machine, or a module or a setting is refused.
            RunError: something could not be taken back; it is in the journal.
        """
        with undo.alone(self.places):
            undo.undo(self.places, _say)  # what a killed run left
            journal = Journal()
            try:
                undo.load_modules(journal, self.places)
                undo.set_sysctls(SHARED_LIMITS, journal, self.places)
                yield
            finally:
                undo.undo(self.places, lambda _line: None)

    def command(self, folder: Path, boot: Boot) -> list[str]:
        """Return the command line that runs a boot's program as an agent on ``folder``."""
        args = [
            str(host_tools.find(host_tools.BUBBLEWRAP)), "--unshare-pid", "--unshare-net",
            "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent", "--new-session",
            "--hostname", "lab", *(["--unshare-ipc"] if IPC.exists() else []),
            "--ro-bind", str(self.image), "/", "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/gt", "--tmpfs", "/tmp", "--tmpfs", "/run",
            "--ro-bind", str(self.code), "/gt/code", "--remount-ro", "/gt",
            "--bind", str(folder), "/cell", "--clearenv",
        ]  # fmt: skip
        args += ["--cap-drop", "ALL"]
        for capability in CAPABILITIES:
            args += ["--cap-add", capability]
        for name, value in booting.ENVIRONMENT.items():
            args += ["--setenv", name, value]
        return [*args, "--", "sh", "-c", FIRST_PROGRAM, "lab", *boot.program]

    def run(self, cell: Cell, folder: Path, cancelled: threading.Event) -> Ran:
        """Run a prepared folder to its end; say how long it took, and whether that was punctual.

        Raises:
            LateError: it did not end well, on a machine that did not keep up.
            RunError: as for :func:`testbed.labs.booted.booting.run_to_end`.
        """
        boot = Boot(seed=cell.seed, limits=cell.limits, allowed=allowance.of_cell(cell))
        watch = Watch()
        try:
            with undo.cell_runs(self.places) as held, watch:
                ran = booting.run_to_end(
                    self.command(folder, boot), boot, folder, cancelled, as_root=True,
                    held=[held], look_s=LOOK_S,
                )  # fmt: skip
        except RunError as error:
            late = [one for one in watch.checks(cell) if one.agrees is False]
            if cancelled.is_set() or not late:
                raise
            raise LateError(
                f"{error.what}; the machine did not keep up: {late[0].check} is not as asked",
                where=error.where, wanted=late[0].wanted, got=late[0].got, hint=error.hint,
            ) from error  # fmt: skip
        return replace(ran, checks=tuple(watch.checks(cell)))


def _say(line: str) -> None:
    words().print(f"left by a killed run: {line}", soft_wrap=True)
