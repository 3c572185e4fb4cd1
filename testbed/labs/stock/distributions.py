"""Whose kernels there are: how their packages are named, which of them make a kernel, and where
they come from.

Invariant: how a version is written says whose it is, so a kernel is asked for by one word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.labs.booted import debian, image
from testbed.labs.booted.debian import Lists
from testbed.labs.confinement import host_tools
from testbed.machine import cache
from testbed.machine.process import run_logged

#: The address of a mirror of Ubuntu; none is known without.
UBUNTU_MIRROR = "GROUNDTRUTH_UBUNTU_MIRROR"
UBUNTU_KEYS = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
UNPACK_TIMEOUT_S = 300.0
UBUNTU_SUITES = ("noble", "noble-updates", "noble-security")


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution's kernels for PCs.

    ``asked`` matches the versions that mean one of them; ``names`` the packages of their images,
    with the groups ``version`` and ``revision``; ``parts`` are the packages that make a kernel, by
    the release; ``sources`` are lines for apt.
    """

    name: str
    asked: re.Pattern[str]
    names: re.Pattern[str]
    parts: tuple[str, ...]
    sources: Callable[[], list[str]]

    def newest(self, names: Iterable[str], version: str) -> str | None:
        """Return the release of the newest kernel of a version, of all packages there are.

        >>> names = ["linux-image-6.12.9+deb13-amd64", "linux-image-6.12.10+deb13-amd64"]
        >>> DEBIAN_13.newest(names, "6.12")
        '6.12.10+deb13-amd64'
        """
        wanted = version.removesuffix("-generic")
        found = [
            (debian.number(match["version"]), debian.number(match["revision"]), name)
            for name in names
            if (match := self.names.fullmatch(name))
            and f"{match['version']}{match['revision']}.".startswith(
                (f"{wanted}.", f"{wanted}+", f"{wanted}-")
            )
        ]
        return max(found)[2].removeprefix("linux-image-") if found else None

    def release(self, lists: Lists, version: str) -> str:
        """Return the newest release of that version; raise :class:`UnsupportedError` for none."""
        names = lists.names("^linux-image-[0-9]")
        release = self.newest(names, version)
        if release is None:
            matches = (self.names.fullmatch(name) for name in names)
            offered = {tuple(debian.number(match["version"])[:2]) for match in matches if match}
            raise UnsupportedError(
                f"{self.name} has no kernel package of version {version}",
                where="KERNEL",
                wanted=f"a kernel of {self.name}",
                got=version,
                hint=debian.on_offer([".".join(map(str, one)) for one in sorted(offered)]),
            )
        return release


def ubuntu_mirror() -> str:
    """Return the address of Ubuntu's mirror; raise :class:`UnsupportedError` if none is known."""
    mirror = os.environ.get(UBUNTU_MIRROR)
    if not mirror:
        raise UnsupportedError(
            "no mirror of Ubuntu is known",
            wanted=f"{UBUNTU_MIRROR}: the address of one",
            got="unset",
            hint=f"export {UBUNTU_MIRROR}=ADDRESS, whose lists Ubuntu's archive key has signed",
        )
    return mirror


def ubuntu_sources() -> list[str]:
    """Return the lines of apt's sources for Ubuntu; raise :class:`UnsupportedError` for none."""
    mirror = ubuntu_mirror()
    signed = f"[signed-by={cache.entry('ubuntu-keys', '1', _fetch_ubuntu_keys) / UBUNTU_KEYS}]"
    return [f"deb {signed} {mirror} {suite} main" for suite in UBUNTU_SUITES]


def _fetch_ubuntu_keys(folder: Path) -> None:
    """Take Ubuntu's keys from Debian 13's package of them."""
    with debian.lists() as lists:
        package = lists.download("ubuntu-keyring", folder)
    run_logged(
        ["dpkg-deb", "--extract", str(package), str(folder)],
        log=folder / "fetch.log",
        what="unpacking Ubuntu's keys",
        timeout_s=UNPACK_TIMEOUT_S,
    )


DEBIAN_13 = Distribution(
    name="Debian 13 or its backports",
    asked=re.compile(r"[0-9]{1,2}\.[0-9]{1,3}(\.[0-9]{1,4}(\+deb[0-9.]{1,8})?)?"),
    names=re.compile(
        r"linux-image-(?P<version>[0-9]+\.[0-9]+(\.[0-9]+)*)(?P<revision>\+deb[0-9.]+)-amd64"
    ),
    parts=("linux-image-{}",),
    sources=lambda: image.sources(host_tools.mirrors()),
)
DEBIAN_12 = Distribution(
    name="Debian 12",
    asked=re.compile(r"6\.1(\.0(-[0-9]{1,4})?)?"),
    names=re.compile(r"linux-image-(?P<version>6\.1\.0)(?P<revision>-[0-9]+)-amd64"),
    parts=("linux-image-{}",),
    sources=debian.of_debian_12,
)
UBUNTU = Distribution(
    name="Ubuntu 24.04",
    asked=re.compile(r"[0-9]{1,2}\.[0-9]{1,3}(\.[0-9]{1,4}(-[0-9]{1,5})?)?-generic"),
    names=re.compile(
        r"linux-image-(?P<version>[0-9]+\.[0-9]+\.[0-9]+)(?P<revision>-[0-9]+)-generic"
    ),
    parts=("linux-image-{}", "linux-modules-{}", "linux-modules-extra-{}"),
    sources=ubuntu_sources,
)


def of(version: str) -> Distribution:
    """Return whose kernel a version means; raise :class:`StudyError` where it is none."""
    for one in (DEBIAN_12, DEBIAN_13, UBUNTU):
        if one.asked.fullmatch(version):
            return one
    raise StudyError(
        "no such kernel",
        where="KERNEL",
        wanted="a version such as 6.12, 6.12.117 or 6.12.117+deb13 of Debian 13, 6.1 or 6.1.0-41 "
        "of Debian 12, 6.8-generic or 6.8.0-41-generic of Ubuntu",
        got=version,
    )
