"""Enter a node's network namespace for a moment, and run iproute2 there.

Invariant: the calling thread is back in its own namespace when a ``with`` block ends. Only the
thread that entered is moved, so a lab's agent uses this from its one thread only.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testbed.errors import RunError, UnsupportedError

CLONE_NEWNET = 0x40000000
COMMAND_TIMEOUT_S = 60.0


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
    """A named network namespace that lives as long as process ``pid``."""

    name: str
    pid: int
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
            home = os.open("/proc/self/ns/net", os.O_RDONLY)
            try:
                there = os.open(f"/proc/{self.pid}/ns/net", os.O_RDONLY)
                try:
                    os.setns(there, CLONE_NEWNET)
                finally:
                    os.close(there)
                try:
                    yield
                finally:
                    os.setns(home, CLONE_NEWNET)
            finally:
                os.close(home)

    def run(self, argv: Sequence[str], text: str = "") -> str:
        """Run a command in the namespace with ``text`` as its input; return its output."""
        began_ns = time.monotonic_ns()
        with self.entered():
            done = subprocess.run(
                list(argv),
                input=text,
                capture_output=True,
                text=True,
                timeout=COMMAND_TIMEOUT_S,
                check=False,
            )
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

    def write_sysctl(self, name: str, value: str) -> None:
        """Set one sysctl of this namespace (``net.ipv4.tcp_sack``)."""
        path = _sysctl_path(name)
        try:
            with self.entered():
                path.write_text(value + "\n")
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
                return " ".join(_sysctl_path(name).read_text().split())
        except OSError as error:
            raise RunError(f"cannot read sysctl {name}", where=self.name, got=str(error)) from error

    def read_file(self, path: str) -> str:
        """Return a file of /proc as this namespace shows it."""
        with self.entered():
            return Path(path).read_text()


def _sysctl_path(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")
