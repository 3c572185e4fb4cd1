"""QEMU and the libraries it needs, in a root of their own: the host needs none installed."""

from __future__ import annotations

import os
from pathlib import Path

from testbed.labs.booted import image
from testbed.labs.confinement import host_tools
from testbed.labs.confinement.sandbox import MOUNT_POINTS
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, Watch, run_logged

PACKAGES = ("base-files", "qemu-system-x86")
PROGRAM = "/usr/bin/qemu-system-x86_64"
BUILD_TIMEOUT_S = 600.0
BYTES = 600_000_000
LOG_LINES = 40
#: Raised when this file changes what is made of the same packages.
RECIPE = "1"
#: Where confined programs have folders mounted that the packages do not bring.
PLACES = (*MOUNT_POINTS, "/dev/shm", "/kernel", "/image", "/code")


def key() -> str:
    """Return the hash of all that decides the root but for the packages' versions."""
    return cache.digest_of(RECIPE, image.SUITE, *PACKAGES)


def built() -> Path | None:
    """Return the root folder if it is in the cache."""
    place = cache.root() / f"emulator-{key()}" / "root"
    return place if place.is_dir() else None


def ensure(report: BuildReport) -> Path:
    """Return the root folder with QEMU in it, unpacking Debian's packages first if needed."""
    return cache.entry("emulator", key(), lambda folder: _build(folder, report)) / "root"


def _build(folder: Path, report: BuildReport) -> None:
    cache.need_space(folder, BYTES, "QEMU")
    mirrors = host_tools.mirrors()
    mmdebstrap = host_tools.find(host_tools.MMDEBSTRAP)
    target = folder / "root.tar"
    run_logged(
        [
            # Nothing is run in it, so nobody's rights are needed.
            str(mmdebstrap), "--mode=chrootless", "--variant=extract", "--format=tar",
            f"--include={','.join(PACKAGES)}",
            '--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"',
            "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            *(f"--aptopt={option}" for option in mirrors.apt_options),
            image.SUITE, str(target), *image.sources(mirrors),
        ],
        log=folder / "build.log",
        what="fetching QEMU",
        timeout_s=BUILD_TIMEOUT_S,
        watch=Watch(what="QEMU", expected_lines=LOG_LINES, report=report),
        env={
            **os.environ,
            "SOURCE_DATE_EPOCH": str(image.DATE_S),
            "TMPDIR": str(folder),
            "PATH": f"{mmdebstrap.parent}:{os.environ.get('PATH', '')}",
        },
    )  # fmt: skip
    image.unpack(target, folder / "root")
    for place in PLACES:
        (folder / "root" / place[1:]).mkdir(parents=True, exist_ok=True)
    contents.settle(folder)
