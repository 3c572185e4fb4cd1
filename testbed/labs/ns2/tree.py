"""Debian's ns-2 and what it needs, in a root of their own: the host needs none installed.

Not in the lab's image: there it would make all images, kernels and cells other ones, and cost those
who simulate nothing; here it costs those who simulate no image and no kernel.
"""

from __future__ import annotations

from pathlib import Path

from model.errors import RunError
from testbed.labs.booted import image, unpacked
from testbed.labs.confinement.sandbox import MOUNT_POINTS
from testbed.machine import cache
from testbed.machine.process import BuildReport

#: ns-2; what its trace goes through; what starts it, as another user and within limits.
PACKAGES = ("base-files", "ns2", "grep", "gzip", "dash", "util-linux")
NS2 = "ns2"
PROGRAM = "/usr/bin/ns"
BUILD_TIMEOUT_S = 600.0
BYTES = 400_000_000
LOG_LINES = 90
#: Raised when this file changes what is made of the same packages.
RECIPE = "1"
PLACES = (*MOUNT_POINTS, "/dev", "/proc", "/dev/shm", "/tmp", "/run")


def key() -> str:
    """Return the hash of all that decides the root but for the packages' versions."""
    return cache.digest_of(RECIPE, image.SUITE, *PACKAGES)


def built() -> Path | None:
    """Return the root folder if it is in the cache."""
    place = cache.root() / f"ns2-{key()}" / "root"
    return place if place.is_dir() else None


def ensure(report: BuildReport) -> Path:
    """Return the root folder with ns-2 in it, unpacking Debian's packages first if needed."""
    return cache.entry("ns2", key(), lambda folder: _build(folder, report)) / "root"


def _build(folder: Path, report: BuildReport) -> None:
    cache.need_space(folder, BYTES, "ns-2")
    unpacked.unpack(
        folder, PACKAGES, places=PLACES, what="ns-2", timeout_s=BUILD_TIMEOUT_S,
        expected_lines=LOG_LINES, report=report, name_versions=True,
    )  # fmt: skip
    if not (folder / "root" / PROGRAM[1:]).is_file():
        raise RunError("Debian's package has no such program", where=NS2, wanted=PROGRAM)
    if NS2 not in unpacked.versions(folder):
        raise RunError("no version of the package is known", where=str(folder), wanted=NS2)
