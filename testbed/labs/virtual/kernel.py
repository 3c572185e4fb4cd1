"""Build a User-Mode Linux kernel with virtual time from Debian's unpatched kernel source.

Everything happens inside the lab's image (its compiler, its tools), confined to a build folder;
the host needs no compiler. The finished entry holds ``linux``, ``config`` and ``version``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.labs.booted import debian
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport, Watch, run_logged
from testbed.study.vocabulary import DEFAULT_KERNEL, SOURCE_VERSION

DEFAULT = DEFAULT_KERNEL
#: Timer interrupts a second, as Debian's own kernels have them.
TICK_HZ = 250
INPUTS = tuple(
    Path(__file__).with_name(name)
    for name in ("kernel.config", "kernel-optional.config", "build-kernel.sh")
)
BUILD_TIMEOUT_S = 3000.0
BUILD_BYTES = 4_000_000_000
LOG_LINES = 1200


def check_version(version: str) -> str:
    """Return the version if it looks like one; raise :class:`StudyError` otherwise."""
    if not SOURCE_VERSION.fullmatch(version):
        raise StudyError(
            "no such kernel", where="KERNEL", wanted="a version such as 6.12 or 7.3", got=version
        )
    return version


def check_offered(versions: Sequence[str]) -> None:
    """Raise :class:`UnsupportedError` unless Debian has these kernels' sources; takes seconds.

    Asked with this machine's apt, of the mirrors the image comes from, before anything is built.
    """
    with debian.lists() as apt:
        names = apt.names("^linux-source-[0-9.]+$")
    offered = [name.removeprefix("linux-source-") for name in names]
    for version in versions:
        if version not in offered:
            raise UnsupportedError(
                f"Debian has no kernel source package linux-source-{version}",
                where="KERNEL",
                wanted="a kernel of Debian 13 or its backports",
                got=version,
                hint=debian.on_offer(sorted(offered, key=debian.number)),
            )


def key(version: str, image_digest: str, tick_hz: int = TICK_HZ) -> str:
    """Return the hash of all that decides the kernel; the image's compiler is in its digest."""
    inputs = (path.read_bytes() for path in INPUTS)
    return cache.digest_of(version, image_digest, str(tick_hz), *inputs)


def built(version: str, image_digest: str, tick_hz: int = TICK_HZ) -> Path | None:
    """Return the kernel's folder if it is in the cache."""
    place = cache.root() / f"kernel-{version}-{key(version, image_digest, tick_hz)}"
    return place if place.is_dir() else None


def ensure(
    version: str, root: Path, image_digest: str, report: BuildReport, tick_hz: int = TICK_HZ
) -> Path:
    """Return the folder of that kernel, fetching and building it in the image first if needed."""
    check_version(version)

    def build(folder: Path) -> None:
        _build(folder, version, root, report, tick_hz)

    return cache.entry(f"kernel-{version}", key(version, image_digest, tick_hz), build)


def _build(folder: Path, version: str, root: Path, report: BuildReport, tick_hz: int) -> None:
    cache.need_space(folder, BUILD_BYTES, "building the kernel")
    work = folder / "work"
    work.mkdir()
    for source in INPUTS:
        shutil.copy(source, work)
    options = debian.apt_options(work).replace(f"{work}/", "/cell/")
    (work / "apt.conf").write_text(options)
    read_only = {"/etc/resolv.conf": Path("/etc/resolv.conf")}
    hosts = Path("/etc/hosts")
    if hosts.is_file():
        read_only["/etc/hosts"] = hosts
    scratch = dict.fromkeys(("/tmp", "/run", "/var/lib/apt/lists", "/var/cache/apt"), 0)
    log = folder / "build.log"
    jobs = str(os.cpu_count() or 1)
    with lab_user.lent(work) as uid:
        sandbox = Sandbox(
            image=root,
            uid=uid,
            read_only=read_only,
            writable={"/cell": work},
            scratch=scratch,
            network=True,
        )
        run_logged(
            sandbox.argv(["bash", "/cell/build-kernel.sh", version, jobs, str(tick_hz)]),
            log=log,
            what=f"building kernel {version}",
            timeout_s=BUILD_TIMEOUT_S,
            watch=Watch(what=f"kernel {version}", expected_lines=LOG_LINES, report=report),
        )
    for name in ("linux", "config", "version"):
        (work / name).rename(folder / name)
    cache.remove_left(work)
    contents.settle(folder)
