"""Confine a program to the lab's image and named folders with bubblewrap.

The image is the program's read-only root, so the program also gets the image's C library and
compiler, whatever the host has. The kernel of a lab runs like this: a guest that is root inside
can mount any folder its own process can see, so the process must see nothing else. No network,
no host processes, no privileges, no host user with any, and everything ends when the parent does.

What builds sees devices and processes of its own. A simulator sees none. Nor does a lab's kernel,
which gets second walls from its first program (``labs/booted/boot/walls.c``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from testbed.labs.confinement import host_tools, lab_user
from testbed.machine.process import output_of

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Where the image offers empty folders to mount on (made when the image is built).
MOUNT_POINTS = ("/cell", "/gt")
#: Root mounts, then what is left becomes another user and gives these up too.
TO_CHANGE_USER = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")


@dataclass(frozen=True, kw_only=True)
class Walls:
    """The program that closes the second walls, and how much it lets through.

    ``emulator``: what it becomes is QEMU, which makes some system calls more than User-Mode Linux.
    ``own_processes``: it sees ``/proc``, of the sandbox's processes alone, and cannot write there.
    """

    program: str
    open_files: int
    processes: int
    file_bytes: int
    may_trace: bool = False
    emulator: bool = False
    own_processes: bool = False


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """What a confined program sees: the image, and these folders or files.

    ``scratch`` are folders in memory, with the bytes they may hold; 0 is half the host's memory.
    ``uid`` is whom the program runs as; see :mod:`testbed.labs.confinement.lab_user`.
    """

    image: Path
    uid: int = field(default_factory=lambda: lab_user.of_sandbox())
    read_only: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, Path] = field(default_factory=dict)
    scratch: Mapping[str, int] = field(
        default_factory=lambda: dict.fromkeys(("/dev/shm", "/tmp", "/run"), 0)
    )
    network: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    walls: Walls | None = None
    #: It sees neither devices nor processes: folders of those names in its image are empty.
    bare: bool = False

    def argv(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs ``command`` inside."""
        args = [str(host_tools.find(host_tools.BUBBLEWRAP)), *self.namespaces()]
        args += ["--die-with-parent", "--new-session", "--hostname", "lab"]
        args += ["--ro-bind", str(self.image), "/"]
        if self.bare:
            pass
        elif not self.walls:
            args += ["--dev", "/dev", "--proc", "/proc"]
        elif self.walls.own_processes:
            args += ["--proc", "/proc", "--remount-ro", "/proc"]
        args += ["--tmpfs", "/gt"]
        for place, most_bytes in self.scratch.items():
            args += ["--perms", "1777", *(["--size", str(most_bytes)] if most_bytes else [])]
            args += ["--tmpfs", place]
        for place, source in self.read_only.items():
            args += ["--ro-bind", str(source), place]
        for place, source in self.writable.items():
            args += ["--bind", str(source), place]
        args += ["--remount-ro", "/gt"]
        args += ["--clearenv", "--setenv", "PATH", PATH, "--setenv", "HOME", "/tmp"]
        args += ["--setenv", "LC_ALL", "C.UTF-8"]
        for name, value in self.env.items():
            args += ["--setenv", name, value]
        return [*args, "--", *self.first_program(), *command]

    def namespaces(self) -> list[str]:
        """Return the options that take everything of the host's away."""
        if self.uid == lab_user.STARTER:
            args = ["--unshare-all", "--cap-drop", "ALL"]
        else:
            # Root needs no user namespace to mount; in one it would still be root to the host.
            args = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
            args += ["--unshare-cgroup-try", "--cap-drop", "ALL"]
            for capability in TO_CHANGE_USER:
                args += ["--cap-add", capability]
        if self.network and self.uid == lab_user.STARTER:
            args.append("--share-net")
        elif self.network:
            args.remove("--unshare-net")
        return args

    def first_program(self) -> list[str]:
        """Return what runs before the command, as root: it becomes the sandbox's user."""
        if self.walls:
            args = [self.walls.program, "--open-files", str(self.walls.open_files)]
            args += ["--processes", str(self.walls.processes)]
            args += ["--file-bytes", str(self.walls.file_bytes)]
            if self.uid != lab_user.STARTER:
                args += ["--identity", str(self.uid)]
            if self.walls.may_trace:
                args.append("--may-trace")
            if self.walls.emulator:
                args.append("--emulator")
            return [*args, "--"]
        if self.uid == lab_user.STARTER:
            return []
        args = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        args += ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"]
        return [*args, "--no-new-privs", "--"]

    def output_of(self, command: Sequence[str], timeout_s: float = 60.0) -> str:
        """Run a short command inside and return its output."""
        return output_of(self.argv(command), timeout_s)
