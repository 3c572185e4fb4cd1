"""Confine a program to the lab's image and named folders with bubblewrap.

The image is the program's read-only root, so the program also gets the image's C library and
compiler, whatever the host has. The kernel of a lab runs like this: a guest that is root inside
can mount any folder its own process can see, so the process must see nothing else. No network,
no host processes, no privileges, and everything ends when the parent does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.labs import host_tools
from testbed.labs.process import output_of

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Where the image offers empty folders to mount on (made when the image is built).
MOUNT_POINTS = ("/cell", "/gt")


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """What a confined program sees: the image, and these folders or files."""

    image: Path
    read_only: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    scratch: tuple[str, ...] = ("/tmp", "/run")
    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs ``command`` inside."""
        args = [str(host_tools.find(host_tools.BUBBLEWRAP)), "--unshare-all", "--die-with-parent"]
        args += ["--new-session", "--cap-drop", "ALL", "--hostname", "lab"]
        if os.geteuid() == 0:
            # Root needs no user namespace to build the sandbox, but must not keep root's powers.
            args += ["--unshare-user", "--uid", "0", "--gid", "0"]
        if self.network:
            args += ["--share-net"]
        args += ["--ro-bind", str(self.image), "/", "--dev", "/dev", "--proc", "/proc"]
        for place in ("/dev/shm", "/gt", *self.scratch):
            args += ["--tmpfs", place]
        for place, source in self.read_only.items():
            args += ["--ro-bind", str(source), place]
        for place, source in self.writable.items():
            args += ["--bind", str(source), place]
        args += ["--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/tmp"]
        args += ["--setenv", "LC_ALL", "C.UTF-8"]
        for name, value in self.env.items():
            args += ["--setenv", name, value]
        return [*args, "--", *command]

    def output_of(self, command: Sequence[str], timeout_s: float = 60.0) -> str:
        """Run a short command inside and return its output."""
        return output_of(self.argv(command), timeout_s)
