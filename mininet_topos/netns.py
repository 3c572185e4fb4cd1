"""Make a node's network namespace, enter it for a moment, and run iproute2 there.

A namespace is an open descriptor and not a process, because in the lab starting a process costs a
thousand times a system call. Invariant: the calling thread is back in its own namespace when a
``with`` block ends. Only the thread that entered is moved, so a lab's agent uses this from its one
thread only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model.errors import RunError, UnsupportedError

CLONE_NEWNET = 0x40000000
COMMAND_TIMEOUT_S = 60.0
OWN_NAMESPACE = "/proc/self/ns/net"
#: Where iproute2 looks for namespaces by name.
NAMES = Path("/run/netns")
READ_BYTES = 1 << 16
SYSCTL_BRANCHES = ("net/ipv4", "net/sctp", "net/core")


@dataclass
class Journal:
    """What was run in the lab, in order, with the lab's own clock."""

    entries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, node: str, argv: Sequence[str], text: str, began_ns: int, status: int) -> None:
        """Record one finished command."""
        self.entries.append(
            {
                "node": node,
                "argv": list(argv),
                "input": text,
                "began_ns": began_ns,
                "ended_ns": time.monotonic_ns(),
                "status": status,
            }
        )


@dataclass(frozen=True)
class Namespace:
    """A named network namespace, and the one to come home to, each an open descriptor."""

    name: str
    handle: int
    home: int
    journal: Journal

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Move the calling thread into the namespace for the duration of the block."""
        if sys.version_info < (3, 12):
            raise UnsupportedError(
                "cannot enter a network namespace",
                where=self.name,
                wanted="Python 3.12 or newer in the lab (os.setns)",
                got=sys.version.split()[0],
            )
        else:
            os.setns(self.handle, CLONE_NEWNET)
            try:
                yield
            finally:
                os.setns(self.home, CLONE_NEWNET)

    def run(self, argv: Sequence[str], text: str = "") -> str:
        """Run a command in the namespace with ``text`` as its input; return its output."""
        began_ns = time.monotonic_ns()
        try:
            with self.entered():
                done = subprocess.run(
                    list(argv),
                    input=text,
                    capture_output=True,
                    text=True,
                    timeout=COMMAND_TIMEOUT_S,
                    check=False,
                )
        except subprocess.TimeoutExpired as error:
            self.journal.add(self.name, argv, text, began_ns, -signal.SIGKILL)
            raise RunError(
                f"{argv[0]} did not end",
                where=self.name,
                wanted=f"within {COMMAND_TIMEOUT_S:.0f} s of the lab's time",
                got=" ".join(argv),
            ) from error
        self.journal.add(self.name, argv, text, began_ns, done.returncode)
        if done.returncode != 0:
            raise RunError(
                f"{' '.join(argv)} failed with status {done.returncode}",
                where=self.name,
                got=done.stderr.strip() or done.stdout.strip() or "no output",
                hint=f"input was:\n{text}" if text else "",
            )
        return done.stdout

    def json(self, argv: Sequence[str]) -> Any:
        """Run a command that prints JSON and return it decoded (empty output is an empty list)."""
        out = self.run(argv)
        return json.loads(out) if out.strip() else []

    def json_batch(self, argv: Sequence[str], text: str) -> list[Any]:
        """Run a command on a batch of lines; return, in order, the JSON values they print."""
        out = self.run(argv, text).lstrip()
        values, decoder = [], json.JSONDecoder()
        while out:
            value, end = decoder.raw_decode(out)
            values.append(value)
            out = out[end:].lstrip()
        return values

    def write_sysctl(self, name: str, value: str) -> None:
        """Set one sysctl of this namespace (``net.ipv4.tcp_sack``)."""
        path = _sysctl_path(name)
        try:
            with self.entered():
                _write(path, value + "\n")
        except OSError as error:
            raise RunError(
                f"cannot set sysctl {name}",
                where=self.name,
                wanted=value,
                got=str(error),
                hint="this kernel may lack the setting, or refuse the value",
            ) from error

    def read_sysctl(self, name: str) -> str:
        """Return one sysctl of this namespace, runs of white space folded to one space."""
        try:
            with self.entered():
                return " ".join(read_small(_sysctl_path(name)).split())
        except OSError as error:
            raise RunError(f"cannot read sysctl {name}", where=self.name, got=str(error)) from error

    def read_file(self, path: str) -> str:
        """Return a file of /proc as this namespace shows it."""
        with self.entered():
            return Path(path).read_text()


def _sysctl_path(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")


def create(names: Sequence[str], journal: Journal) -> dict[str, Namespace]:
    """Make namespaces that live as long as the calling process; iproute2 knows them by name."""
    NAMES.mkdir(exist_ok=True)
    home = os.open(OWN_NAMESPACE, os.O_RDONLY)
    made = {}
    for name in names:
        handle = _new_namespace(home)
        (NAMES / name).symlink_to(f"/proc/{os.getpid()}/fd/{handle}")
        made[name] = Namespace(name=name, handle=handle, home=home, journal=journal)
    return made


def _new_namespace(home: int) -> int:
    """Return the descriptor of a new namespace; the calling thread is back in ``home``."""
    if sys.version_info < (3, 12):
        raise UnsupportedError(
            "cannot make a network namespace",
            wanted="Python 3.12 or newer in the lab (os.unshare)",
            got=sys.version.split()[0],
        )
    os.unshare(CLONE_NEWNET)
    try:
        return os.open(OWN_NAMESPACE, os.O_RDONLY)
    finally:
        os.setns(home, CLONE_NEWNET)


def read_small(path: str | Path) -> str:
    """Return a small file of /proc with three system calls, of which a text file makes nine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, READ_BYTES).decode(errors="replace")
    finally:
        os.close(descriptor)


def sysctl_tree() -> dict[str, str]:
    """Return all of a network's sysctls, of the namespace the calling thread is in."""
    values = {}
    for branch in SYSCTL_BRANCHES:
        with os.scandir(f"/proc/sys/{branch}") as found:
            names = sorted(entry.name for entry in found if entry.is_file())
        for name in names:
            try:
                value = " ".join(read_small(f"/proc/sys/{branch}/{name}").split())
            except OSError:
                continue  # write-only or refused to guests: there is no value to record
            values[f"{branch}/{name}".replace("/", ".")] = value
    return values


def _write(path: Path, text: str) -> None:
    """Write a file of /proc at once; the kernel takes a setting in one piece or not at all."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
