"""The virtual lab with a kernel for packetdrill's scripts, and the scripts of its own source.

The kernel is the lab's own with what the scripts need besides (``packetdrill.config``) and with the
tick they are written for, 1000 a second. Studies never run on it, so it changes no result of
theirs. Invariant: scripts and kernel are of one source package.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

from model import plain_files
from model.errors import ParseError, StudyError, UnsupportedError
from testbed.labs.booted import booting, image, lab_code
from testbed.labs.confinement import preflight
from testbed.labs.virtual import kernel, kernel_build
from testbed.labs.virtual.kernel_build import Script
from testbed.labs.virtual.virtual_lab import PROPERTIES, VirtualLab
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport

#: Timer interrupts a second, as the scripts' own ``config`` asks for.
TICK_HZ = 1000
SCRIPTS = "scripts.tar"
CONFIG, BUILD = (
    Path(__file__).with_name(name) for name in ("packetdrill.config", "build-with-scripts.sh")
)
LEAVES = (*kernel_build.KERNEL, SCRIPTS)
MOST_SCRIPTS_BYTES = 64 << 20


def ensure(version: str, report: BuildReport) -> VirtualLab:
    """Return the virtual lab with that kernel, building what is not in the cache yet.

    Raises:
        StudyError: it is no version of Debian's source.
        UnsupportedError: this machine cannot confine a lab, or Debian has no such kernel.
    """
    checked(version)
    preflight.check()
    root = image.ensure(report)
    image_digest = contents.digest(root.parent)
    if not _place(version, image_digest).is_dir():
        kernel.check_offered([version])
    lab = VirtualLab(
        image=root,
        kernel=_ensure(version, root, image_digest, report),
        code=lab_code.ensure(root, image_digest),
        kernel_version=version,
        properties=replace(PROPERTIES, tick_hz=TICK_HZ),
    )
    booting.check_parts(lab.parts(), thorough=False)
    return lab


def checked(name: str) -> str:
    """Return a kernel's name; raise :class:`StudyError` unless it is a version alone."""
    if "+" in name:
        raise StudyError(
            "packetdrill runs on kernels as Debian has them", where="KERNEL",
            wanted="a version such as 6.12 or 7.3", got=name,
        )  # fmt: skip
    return kernel.check_version(name)


def key(version: str, image_digest: str) -> str:
    """Return the hash of all that decides such a kernel and its scripts."""
    plain = kernel.key(version, image_digest, TICK_HZ)
    return cache.digest_of(plain, CONFIG.read_bytes(), BUILD.read_bytes())


def _kind(version: str) -> str:
    return f"packetdrill-kernel-{version}"


def _place(version: str, image_digest: str) -> Path:
    return cache.root() / f"{_kind(version)}-{key(version, image_digest)}"


def _ensure(version: str, root: Path, image_digest: str, report: BuildReport) -> Path:
    def build(folder: Path) -> None:
        words = ["/cell/build-with-scripts.sh", version, kernel_build.jobs(), str(TICK_HZ)]
        script = Script(
            words=words, inputs=(*kernel.INPUTS, CONFIG, BUILD), leaves=LEAVES,
            packages=[kernel.package(version)], lines=kernel.LOG_LINES,
        )  # fmt: skip
        kernel_build.run(folder, script, f"kernel {version} for packetdrill", root, report)

    return cache.entry(_kind(version), key(version, image_digest), build)


def own_scripts(lab: VirtualLab) -> dict[str, bytes]:
    """Return the files of the scripts' folder in the kernel's source, by name.

    Raises:
        UnsupportedError: the source is from before there were any.
    """
    archive = plain_files.read_bytes(lab.kernel / SCRIPTS, MOST_SCRIPTS_BYTES)
    files = unpacked(archive, str(lab.kernel / SCRIPTS))
    if not any(name.endswith(".pkt") for name in files):
        raise UnsupportedError(
            "this kernel's source has no packetdrill scripts", where="KERNEL",
            wanted="6.12 or later", got=lab.kernel_version, hint="give FILES of your own",
        )  # fmt: skip
    return files


def unpacked(archive: bytes, where: str) -> dict[str, bytes]:
    """Return the plain files directly below the folder in an archive, by name; pure.

    Raises:
        ParseError: it is no archive.
    """
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
            for member in opened:
                above, _, name = member.name.rpartition("/")
                if member.isfile() and "/" not in above and name:
                    content = opened.extractfile(member)
                    found[name] = content.read() if content else b""
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ParseError("not an archive of scripts", where=where, got=str(error)) from error
    return found
