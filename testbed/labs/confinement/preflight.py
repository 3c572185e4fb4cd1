"""Whether this machine lets a lab be confined; found out before anything is built.

bubblewrap's own words name the call that failed. The error names what refuses it, and the commands
that allow it. Nothing less than namespaces is taken: Landlock, which needs none, leaves a process
the times, modes and names of all files that are its user's.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from model.errors import GroundtruthError, UnsupportedError
from testbed.labs.confinement import host_tools
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine.process import output_of

SETTINGS = Path("/proc/sys")
MOUNTS = Path("/proc/self/mountinfo")
#: What containers' programs leave inside to be known by.
MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"), Path("/run/systemd/container"))
SYS_LANDLOCK_CREATE_RULESET, ASK_VERSION = 444, 1

CHROOT = (
    "this is a plain chroot, where the kernel refuses namespaces; enter it with systemd-nspawn -D "
    "ROOT, or with bwrap --bind ROOT / --dev /dev --proc /proc --tmpfs /tmp COMMAND"
)
CONTAINER = (
    "containers refuse namespaces unless told otherwise: docker run --cap-add SYS_ADMIN "
    "--cap-add NET_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined; with podman the last is --security-opt unmask=ALL"
)
APPARMOR = (
    "AppArmor refuses user namespaces to programs it does not know; as root: apt-get install "
    "bubblewrap apparmor-profiles; ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
    "/etc/apparmor.d/; systemctl reload apparmor. Or, for all programs: "
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
)
#: A setting of the kernel, the value with which users get no namespace, and what to do then.
SYSCTL = "as root: sysctl -w"
REFUSALS = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", APPARMOR),
    ("kernel/unprivileged_userns_clone", "0", f"{SYSCTL} kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", f"{SYSCTL} user.max_user_namespaces=10000"),
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What is known of a machine that refuses."""

    root: bool
    chroot: bool
    container: bool
    settings: Mapping[str, str]

    def hint(self) -> str:
        """Return what to allow, and how."""
        if self.chroot:
            return CHROOT
        if not self.root:
            for name, value, what_to_do in REFUSALS:
                if self.settings.get(name) == value:
                    return what_to_do
        if self.container:
            return CONTAINER
        return "run it as another user, or on another machine"


def this_machine() -> Machine:
    """Look at this machine."""
    mounted = [line.split()[4] for line in _text(MOUNTS).splitlines()]
    return Machine(
        root=os.geteuid() == 0,
        chroot="/" not in mounted,  # its root is a folder that nothing is mounted on
        container=any(mark.exists() for mark in MARKS) or "container" in os.environ,
        settings={name: _text(SETTINGS / name).strip() for name, _, _ in REFUSALS},
    )


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def problem() -> UnsupportedError | None:
    """Make a sandbox of this machine's own files, and end it; return why that failed."""
    bubblewrap = str(host_tools.find(host_tools.BUBBLEWRAP))
    try:
        sandbox = Sandbox(image=Path("/"))
        view = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        view += ["--perms", "1777", "--size", "4096", "--tmpfs", "/tmp"]
        # A lab's kernel also needs its addresses where they are, which some system-call filters
        # of containers refuse.
        fixed = ["setarch", "--addr-no-randomize"] if shutil.which("setarch") else []
        command = ["--", *sandbox.first_program(), *fixed, "true"]
        output_of([bubblewrap, *sandbox.namespaces(), *view, *command])
    except GroundtruthError as error:
        return UnsupportedError(
            "this machine does not let a lab be confined",
            wanted=error.wanted or "namespaces of mounts, processes and users",
            got=error.got or error.what,
            hint=error.hint or this_machine().hint(),
        )
    return None


@functools.cache
def check() -> None:
    """Raise :class:`UnsupportedError` where a lab cannot be confined."""
    found = problem()
    if found:
        raise found


def landlock_version() -> int:
    """Return the version of this kernel's Landlock, 0 where it has none or does not use it."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    return max(0, int(call(SYS_LANDLOCK_CREATE_RULESET, None, 0, ASK_VERSION)))
