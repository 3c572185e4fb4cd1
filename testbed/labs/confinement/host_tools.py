"""The host programs that labs need, such as mmdebstrap and bubblewrap, without root.

Taken from the PATH where they are installed; otherwise fetched as Debian packages by
``setup/debian`` and unpacked into the cache. Nothing is installed on the host.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from model.errors import GroundtruthError, UnsupportedError
from testbed.machine import cache
from testbed.machine.process import output_of, run_logged

FETCH_TIMEOUT_S = 300.0
#: What fetched tools are called in the cache.
KIND = "tool"
#: Packages and sources of this machine's apt, also where it has no package lists yet.
DEBIAN = str(Path(__file__).resolve().parents[3] / "setup" / "debian")


@dataclass(frozen=True)
class HostTool:
    """A host program and the Debian package that has it."""

    program: str
    package: str
    purpose: str


MMDEBSTRAP = HostTool("mmdebstrap", "mmdebstrap", "to build the lab's root image")
BUBBLEWRAP = HostTool("bwrap", "bubblewrap", "to confine the lab to its own folder")
ZSTD = HostTool("zstd", "zstd", "to read Ubuntu's kernel modules")


def find(tool: HostTool) -> Path:
    """Return the program's path, fetching its package into the cache if it is not installed."""
    there = find_here(tool)
    if there:
        return there
    return _in(cache.entry(KIND, tool.package, lambda place: _fetch(tool, place)), tool)


def find_here(tool: HostTool) -> Path | None:
    """Return the program's path where it is installed or was fetched, fetching nothing."""
    on_path = shutil.which(tool.program)
    if on_path:
        return Path(on_path)
    fetched = _in(cache.root() / f"{KIND}-{tool.package}", tool)
    return fetched if fetched.exists() else None


def _in(folder: Path, tool: HostTool) -> Path:
    return folder / "usr" / "bin" / tool.program


def _fetch(tool: HostTool, folder: Path) -> None:
    for needed in ("apt-get", "dpkg-deb"):
        if not shutil.which(needed):
            raise UnsupportedError(
                f"{tool.program} is not installed and cannot be fetched",
                wanted=f"{tool.program} {tool.purpose}, or {needed} to fetch it",
                hint=f"install {tool.package} with your distribution's package manager",
            )
    log = folder / "fetch.log"
    try:
        run_logged(
            [DEBIAN, "unpack", str(folder), tool.package],
            log=log, what=f"fetching {tool.package}", timeout_s=FETCH_TIMEOUT_S,
        )  # fmt: skip
    except GroundtruthError as error:
        raise UnsupportedError(
            f"{tool.program} is missing, needed {tool.purpose}, and its package cannot be fetched",
            got=error.got,
            hint=f"check the network and apt's sources, or as root: apt install {tool.package}",
        ) from error


@dataclass(frozen=True)
class Mirrors:
    """Where the host's apt gets Debian from, and through which proxies."""

    main: str
    security: str
    apt_options: tuple[str, ...]


def debian_addresses() -> list[str]:
    """Return the addresses of Debian's release files in apt's sources; needs no package lists."""
    listed = output_of([DEBIAN, "addresses"]).splitlines()
    return [address for address in listed if re.search(r"/debian(-security)?/+dists/", address)]


def mirrors() -> Mirrors:
    """Read the host's apt configuration; raise :class:`UnsupportedError` without Debian in it."""
    if not shutil.which("apt-get"):
        raise UnsupportedError(
            "this machine has no apt", wanted="Debian 12 or newer", hint="use a Debian machine"
        )
    listed = output_of([DEBIAN, "sources"], FETCH_TIMEOUT_S)
    main = security = ""
    for line in listed.splitlines():
        uri, release, component = (*line.split(" "), "", "")[:3]
        # Others name their own archives /debian too, but none of them has Debian's component.
        if component != "main" or not uri.rstrip("/").endswith(("/debian", "/debian-security")):
            continue
        if release.endswith("-security"):
            security = security or uri
        elif not release.endswith("-backports"):
            main = main or uri
    if not main:
        raise UnsupportedError(
            "no Debian mirror in this machine's apt sources",
            wanted="a source whose address ends in /debian",
            got=listed.strip().replace("\n", "; ") or "none",
            hint="the lab's image is Debian 13 and needs such a mirror once, to be built; "
            "where apt-get update fails, its message tells more",
        )
    options = []
    for line in output_of(["apt-config", "dump", "Acquire"]).splitlines():
        name, _, value = line.partition(" ")
        if name.lower().endswith("::proxy") and value.strip('";'):
            options.append(f"{name} {value}")
    return Mirrors(main=main, security=security, apt_options=tuple(options))
