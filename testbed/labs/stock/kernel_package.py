"""Debian's own kernel from its package, as it is: the signed image and its modules.

A finished entry in the cache holds ``vmlinuz``, ``modules`` (those a lab needs, in an archive to
boot with), ``config`` and ``version``. Nothing is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.labs.booted import debian
from testbed.labs.booted.debian import Lists
from testbed.labs.stock import modules
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, run_logged

#: Of Debian's kernels for PCs: the one that is installed unless another is asked for.
NAMES = re.compile(r"linux-image-([0-9]+\.[0-9]+(?:\.[0-9]+)*)(\+deb[0-9.]+)-amd64")
TICK = re.compile(r"^CONFIG_HZ=([0-9]+)$", re.MULTILINE)
ASKED = re.compile(r"[0-9]{1,2}\.[0-9]{1,3}(\.[0-9]{1,4}(\+deb[0-9.]{1,8})?)?")
UNPACK_TIMEOUT_S = 300.0
UNPACKED_BYTES = 400_000_000
#: Raised when this file changes what is made of the same package.
RECIPE = "1"


def check_version(version: str) -> str:
    """Return the version if it looks like one; raise :class:`StudyError` otherwise."""
    if not ASKED.fullmatch(version):
        wanted = "a version such as 6.12, 6.12.117 or 6.12.117+deb13"
        raise StudyError("no such kernel", where="KERNEL", wanted=wanted, got=version)
    return version


def newest(names: Iterable[str], version: str) -> str | None:
    """Return the package of the newest kernel of a version, of all there are; None for none.

    >>> newest(["linux-image-6.12.9+deb13-amd64", "linux-image-6.12.10+deb13-amd64"], "6.12")
    'linux-image-6.12.10+deb13-amd64'
    """
    found = [
        (debian.number(match[1]), debian.number(match[2]), name)
        for name in names
        if (match := NAMES.fullmatch(name))
        and f"{match[1]}{match[2]}.".startswith((f"{version}.", f"{version}+"))
    ]
    return max(found)[2] if found else None


def find(lists: Lists, version: str) -> str:
    """Return the package of that kernel; raise :class:`UnsupportedError` where there is none."""
    names = lists.names(r"^linux-image-[0-9.]+\+deb[0-9.]+-amd64$")
    package = newest(names, version)
    if package is None:
        offered = {tuple(debian.number(match[1])[:2]) for n in names if (match := NAMES.match(n))}
        raise UnsupportedError(
            f"Debian has no kernel package of version {version}",
            where="KERNEL",
            wanted="a kernel of Debian 13 or its backports",
            got=version,
            hint=f"on offer: {' '.join('.'.join(map(str, one)) for one in sorted(offered))}",
        )
    return package


def key(version: str) -> str:
    """Return the hash of all that decides what is made of a package.

    Which package is the newest of a version is Debian's affair: it is looked up once, and kept.
    """
    return cache.digest_of(version, RECIPE, Path(modules.__file__).read_bytes())


def built(version: str) -> Path | None:
    """Return the kernel's folder if it is in the cache."""
    place = cache.root() / f"stock-kernel-{version}-{key(version)}"
    return place if place.is_dir() else None


def ensure(version: str, report: BuildReport) -> Path:
    """Return the folder of that kernel, fetching its package first if needed."""
    check_version(version)
    return cache.entry(
        f"stock-kernel-{version}", key(version), lambda folder: _build(folder, version, report)
    )


def tick_hz(kernel: Path) -> int:
    """Return how many timer interrupts a second a kernel was configured for."""
    (found,) = TICK.findall((kernel / "config").read_text())
    return int(found)


def _build(folder: Path, version: str, report: BuildReport) -> None:
    cache.need_space(folder, UNPACKED_BYTES, "Debian's kernel")
    work = folder / "work"
    work.mkdir()
    report(f"Debian's kernel {version}", 0.0)
    with debian.lists() as lists:
        package = lists.download(find(lists, version), work)
    run_logged(
        ["dpkg-deb", "--extract", str(package), str(work / "root")],
        log=folder / "build.log",
        what=f"unpacking kernel {version}",
        timeout_s=UNPACK_TIMEOUT_S,
    )
    (release,) = (path.name for path in (work / "root/usr/lib/modules").iterdir())
    found = modules.of_kernel(work / "root/usr/lib/modules" / release)
    (folder / "modules").write_bytes(modules.archive_of_modules(found))
    for name, source in (("vmlinuz", "vmlinuz"), ("config", "config")):
        (work / "root/boot" / f"{source}-{release}").rename(folder / name)
    (folder / "version").write_text(f"{package.name.split('_')[1]}\n")
    cache.remove_left(work)
    contents.settle(folder)
