"""Build a User-Mode Linux kernel with virtual time from Debian's unpatched kernel source.

Everything happens inside the lab's image (its compiler, its tools), confined to a build folder;
the host needs no compiler. The finished entry holds ``linux``, ``config`` and ``version``.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from testbed.errors import GroundtruthError, StudyError, UnsupportedError
from testbed.labs import cache, host_tools, identity
from testbed.labs.process import BuildReport, Watch, run_logged
from testbed.labs.sandbox import Sandbox

#: The default by measurement (benchmarks/README.md): runs the wireless study fastest.
DEFAULT = "7.3"
INPUTS = tuple(
    Path(__file__).with_name(name)
    for name in ("kernel.config", "kernel-optional.config", "build-kernel.sh")
)
BUILD_TIMEOUT_S = 3000.0
BUILD_BYTES = 4_000_000_000
LOG_LINES = 1200


def check_version(version: str) -> str:
    """Return the version if it looks like one; raise :class:`StudyError` otherwise."""
    if not re.fullmatch(r"[0-9]{1,2}\.[0-9]{1,3}", version):
        raise StudyError(
            "no such kernel", where="KERNEL", wanted="a version such as 6.12 or 7.3", got=version
        )
    return version


def key(version: str, image_key: str) -> str:
    """Return the hash of all that decides the kernel."""
    return cache.digest_of(version, image_key, *(path.read_bytes() for path in INPUTS))


def built(version: str, image_key: str) -> Path | None:
    """Return the kernel's folder if it is in the cache."""
    place = cache.root() / f"kernel-{version}-{key(version, image_key)}"
    return place if place.is_dir() else None


def ensure(version: str, image: Path, image_key: str, report: BuildReport) -> Path:
    """Return the folder of that kernel, fetching and building it first if needed."""
    check_version(version)

    def build(folder: Path) -> None:
        _build(folder, version, image, report)

    return cache.entry(f"kernel-{version}", key(version, image_key), build)


def _build(folder: Path, version: str, image: Path, report: BuildReport) -> None:
    cache.need_space(folder, BUILD_BYTES, "building the kernel")
    work = folder / "work"
    work.mkdir()
    for source in INPUTS:
        shutil.copy(source, work)
    options = (option.rstrip(";") for option in host_tools.mirrors().apt_options)
    (work / "apt.conf").write_text("".join(f"{option};\n" for option in options))
    read_only = {"/etc/resolv.conf": Path("/etc/resolv.conf")}
    hosts = Path("/etc/hosts")
    if hosts.is_file():
        read_only["/etc/hosts"] = hosts
    scratch = dict.fromkeys(("/tmp", "/run", "/var/lib/apt/lists", "/var/cache/apt"), 0)
    log = folder / "build.log"
    jobs = str(os.cpu_count() or 1)
    try:
        with identity.lent(work) as uid:
            sandbox = Sandbox(
                image=image,
                uid=uid,
                read_only=read_only,
                writable={"/cell": work},
                scratch=scratch,
                network=True,
            )
            run_logged(
                sandbox.argv(["bash", "/cell/build-kernel.sh", version, jobs]),
                log=log,
                what=f"building kernel {version}",
                timeout_s=BUILD_TIMEOUT_S,
                watch=Watch(what=f"kernel {version}", expected_lines=LOG_LINES, report=report),
            )
    except GroundtruthError as error:
        if "NO SUCH KERNEL" in log.read_text(errors="replace"):
            raise UnsupportedError(
                f"Debian has no kernel source package linux-source-{version}",
                where="KERNEL",
                wanted="a kernel of Debian 13 or its backports",
                got=version,
                hint=_offered(log),
            ) from error
        raise
    for name in ("linux", "config", "version"):
        (work / name).rename(folder / name)
    cache.remove_left(work)


def _offered(log: Path) -> str:
    found = re.findall(r"^OFFERED (.+)$", log.read_text(errors="replace"), re.MULTILINE)
    return f"on offer: {found[-1]}" if found else "the package lists could not be read"
