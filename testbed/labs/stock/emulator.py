"""QEMU and the libraries it needs, in a root of their own: the host needs none installed."""

from __future__ import annotations

from pathlib import Path

from testbed.labs.booted import image, unpacked
from testbed.labs.confinement.sandbox import MOUNT_POINTS
from testbed.machine import cache
from testbed.machine.process import BuildReport

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
    unpacked.unpack(
        folder, PACKAGES, places=PLACES, what="QEMU", timeout_s=BUILD_TIMEOUT_S,
        expected_lines=LOG_LINES, report=report,
    )  # fmt: skip
