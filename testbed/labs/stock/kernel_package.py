"""A distribution's own kernel from its packages, as it is: the signed image and its modules.

A finished entry in the cache holds ``vmlinuz``, ``modules`` (those a lab needs, in an archive to
boot with), ``config`` and ``version``. Nothing is compiled.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from model.errors import RunError
from testbed.labs.booted import debian
from testbed.labs.confinement import host_tools
from testbed.labs.stock import distributions, modules
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, run_logged

TICK = re.compile(r"^CONFIG_HZ=([0-9]+)$", re.MULTILINE)
UNPACK_TIMEOUT_S = 300.0
UNPACKED_BYTES = 700_000_000
#: Raised when this file changes what is made of the same package.
RECIPE = "2"


def check_version(version: str) -> str:
    """Return the version if it looks like one; raise :class:`StudyError` otherwise."""
    distributions.of(version)
    return version


def check_offered(versions: Sequence[str]) -> None:
    """Raise :class:`UnsupportedError` unless there is a package of each; takes seconds."""
    for version in versions:
        whose = distributions.of(version)
        with debian.lists(whose.sources()) as lists:
            whose.release(lists, version)


def key(version: str) -> str:
    """Return the hash of all that decides what is made of a package.

    Which package is the newest of a version is its distribution's affair: it is looked up once,
    and kept.
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
    cache.need_space(folder, UNPACKED_BYTES, "a kernel's packages")
    work = folder / "work"
    root = work / "root"
    root.mkdir(parents=True)
    whose = distributions.of(version)
    report(f"kernel {version}, packaged", 0.0)
    with debian.lists(whose.sources()) as lists:
        release = whose.release(lists, version)
        packages = [lists.download(part.format(release), work) for part in whose.parts]
    for package in packages:
        run_logged(
            ["dpkg-deb", "--extract", str(package), str(root)],
            log=folder / "build.log",
            what=f"unpacking kernel {version}",
            timeout_s=UNPACK_TIMEOUT_S,
        )
    # Debian 13 has moved it.
    (found,) = (*root.glob(f"lib/modules/{release}"), *root.glob(f"usr/lib/modules/{release}"))
    needed = modules.of_kernel(found, _unzstd)
    (folder / "modules").write_bytes(modules.archive_of_modules(needed))
    for name in ("vmlinuz", "config"):
        (root / "boot" / f"{name}-{release}").rename(folder / name)
    (folder / "version").write_text(f"{packages[0].name.split('_')[1]}\n")
    cache.remove_left(work)
    contents.settle(folder)


def _unzstd(path: Path) -> bytes:
    """Return what a compressed file of Ubuntu's modules holds."""
    program = host_tools.find(host_tools.ZSTD)
    done = subprocess.run(
        [str(program), "-dcq", str(path)],
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=UNPACK_TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        raise RunError(f"cannot unpack {path.name}", got=done.stderr.decode().strip())
    return done.stdout
