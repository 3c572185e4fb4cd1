"""Snapshots of socket and protocol state of a lab host: ``ss`` and the kernel's own counters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

SS = ("ss", "-tO", "--sctp", "-inmH")
PROC_FILES = (
    "/proc/net/sctp/assocs",
    "/proc/net/sctp/remaddr",
    "/proc/net/sctp/snmp",
    "/proc/net/snmp",
    "/proc/net/netstat",
)


class Host(Protocol):
    """What a snapshot needs of a lab host."""

    @property
    def name(self) -> str:
        """The host's name."""

    def run(self, argv: Sequence[str]) -> str:
        """Run a command there and return its output."""

    def read_file(self, path: str) -> str:
        """Return a file of /proc as that host shows it."""


def take(host: Host, folder: Path, label: str, *, with_ss: bool) -> None:
    """Write one host's state to ``folder/<label>-<host>.{ss,proc}``."""
    parts = []
    for path in PROC_FILES:
        with contextlib.suppress(FileNotFoundError):
            parts.append(f"# {path}\n{host.read_file(path)}")
    (folder / f"{label}-{host.name}.proc").write_text("".join(parts))
    if with_ss:
        (folder / f"{label}-{host.name}.ss").write_text(host.run(list(SS)))


def packages(status: str, names: Callable[[str], bool]) -> dict[str, str]:
    """Return versions of the chosen packages from dpkg's status file."""
    versions: dict[str, str] = {}
    name = ""
    for line in status.splitlines():
        if line.startswith("Package: "):
            name = line[9:]
        elif line.startswith("Version: ") and names(name):
            versions[name] = line[9:]
    return dict(sorted(versions.items()))
