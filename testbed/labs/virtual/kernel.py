"""User-Mode Linux kernels with virtual time, built from Debian's unpatched kernel source.

The tree that one was built in is kept beside it: a patched kernel then compiles what its patch
changes, and nothing is built twice. It decides nothing about the kernel, and may be removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.labs.booted import debian
from testbed.labs.virtual import kernel_build
from testbed.labs.virtual.kernel_build import Script
from testbed.labs.virtual.own_source import export
from testbed.machine import cache, contents
from testbed.machine.process import BuildReport
from testbed.study.vocabulary import DEFAULT_KERNEL, SOURCE_VERSION

DEFAULT = DEFAULT_KERNEL
#: Timer interrupts a second, as Debian's own kernels have them.
TICK_HZ = 250
#: What every kernel is configured and built by, whatever its source.
SHARED = tuple(
    Path(__file__).with_name(name)
    for name in ("kernel.config", "kernel-optional.config", "configure-and-make.sh")
)
INPUTS = (*SHARED, export.LEFT_OUT, Path(__file__).with_name("build-kernel.sh"))
LOG_LINES = 1200
#: What builds in a tree in which a kernel was built; how many lines that says, about.
IN_TREE = Path(__file__).with_name("build-patched.sh")
IN_TREE_LINES = 1100
#: In a build's folder: packetdrill's scripts of the same source.
SCRIPTS = "scripts.tar"
#: In a build's folder: the source with all that was compiled of it.
TREE = "tree.tar.gz"
#: Versions of which Debian 12 has the source, and Debian 13, the image's, has none.
OF_DEBIAN_12 = ("6.1",)


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a kernel is built with: its tick, and options beside those that all have.

    With ``scripts`` the packetdrill scripts of its source are kept beside it, as patched as it is.
    """

    tick_hz: int = TICK_HZ
    options: bytes = b""
    scripts: bool = False

    @property
    def differs_in_options(self) -> bool:
        """Whether it is the usual kernel's with more options, and no more than that."""
        return bool(self.options) and not self.scripts and self.tick_hz == TICK_HZ

    def key_parts(self) -> tuple[str | bytes, ...]:
        """Return what decides a kernel of it; that of studies is decided by its tick alone."""
        more = (self.options, SCRIPTS) if self.scripts else (self.options,) * bool(self.options)
        return (str(self.tick_hz), *more)

    def texts(self) -> Mapping[str, bytes]:
        """Return the files that a build finds in place of those that all kernels have."""
        return {INPUTS[0].name: INPUTS[0].read_bytes() + self.options} if self.options else {}

    def leaves(self) -> tuple[str, ...]:
        """Return what a build leaves besides the kernel."""
        return (SCRIPTS,) if self.scripts else ()


USUAL = Config()


def with_options(names: Iterable[str]) -> Config:
    """Return what the usual kernel is configured with if it is to have these, in this order.

    ``radio`` is of studies of wireless networks, ``ipv6`` of what routes there by IPv6, ``aqm`` of
    managed queues; no other study's kernel is one of these.
    """
    texts = (Path(__file__).with_name(f"{name}.config").read_bytes() for name in names)
    return Config(options=b"".join(texts))


RADIOS = with_options(["radio"])


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
    older = [version for version in versions if version in OF_DEBIAN_12]
    newer = [version for version in versions if version not in OF_DEBIAN_12]
    if newer:
        _check_listed(newer, sources(newer[0]), "a kernel of Debian 13 or its backports")
    if older:
        _check_listed(older, sources(older[0]), "a kernel of Debian 12")


def _check_listed(versions: Sequence[str], of: Sequence[str], wanted: str) -> None:
    """Raise :class:`UnsupportedError` for a version whose source these lists do not have."""
    there_are = _listed(of)
    for version in versions:
        if version not in there_are:
            raise UnsupportedError(
                f"Debian has no kernel source package linux-source-{version}",
                where="KERNEL",
                wanted=wanted,
                got=version,
                hint=debian.on_offer(there_are),
            )


def sources(version: str) -> list[str]:
    """Return the lines of apt's sources that a version's source comes from; none: the image's."""
    return debian.of_debian_12() if version in OF_DEBIAN_12 else []


def offered() -> list[str]:
    """Return the versions whose source Debian has, in order; asks as :func:`check_offered` does."""
    return sorted({*OF_DEBIAN_12, *_listed(())}, key=debian.number)


def _listed(of: Sequence[str]) -> list[str]:
    """Return the versions whose source these lists have, in order."""
    with debian.lists(of) as apt:
        names = apt.names("^linux-source-[0-9.]+$")
    return sorted((name.removeprefix("linux-source-") for name in names), key=debian.number)


def key(version: str, image_digest: str, config: Config = USUAL) -> str:
    """Return the hash of all that decides the kernel; the image's compiler is in its digest."""
    scripts = (*INPUTS, IN_TREE) if config.differs_in_options else INPUTS
    inputs = (path.read_bytes() for path in scripts)
    return cache.digest_of(version, image_digest, *config.key_parts(), *inputs)


def built(version: str, image_digest: str, config: Config = USUAL) -> Path | None:
    """Return the kernel's folder if it is in the cache."""
    place = cache.root() / f"kernel-{version}-{key(version, image_digest, config)}"
    return place if place.is_dir() else None


def package(version: str) -> str:
    """Return the package of Debian's that has the source."""
    return f"linux-source-{version}"


def ensure(
    version: str, root: Path, image_digest: str, report: BuildReport, config: Config = USUAL
) -> Path:
    """Return the folder of that kernel, fetching and building it in the image first if needed."""
    check_version(version)
    if config.differs_in_options:
        return _in_usual_tree(version, root, image_digest, report, config)

    def take(folder: Path) -> None:
        made = tree(version, root, image_digest, report, config)
        for name in (*kernel_build.KERNEL, *config.leaves(), kernel_build.LOG):
            shutil.copy(made / name, folder)
        contents.settle(folder)

    return cache.entry(f"kernel-{version}", key(version, image_digest, config), take)


def _in_usual_tree(
    version: str, root: Path, image_digest: str, report: BuildReport, config: Config
) -> Path:
    """Return the folder of a kernel with more options: what they change, in the usual tree."""

    def build(folder: Path) -> None:
        script = Script(
            words=["/cell/build-patched.sh", "", kernel_build.jobs(), str(config.tick_hz)],
            inputs=(*SHARED, IN_TREE), texts=config.texts(),
            leaves=kernel_build.KERNEL, lines=IN_TREE_LINES,
            tree=tree(version, root, image_digest, report, USUAL),
        )  # fmt: skip
        kernel_build.run(folder, script, f"kernel {version} with more options", root, report)

    return cache.entry(f"kernel-{version}", key(version, image_digest, config), build)


def tree(version: str, root: Path, image_digest: str, report: BuildReport, config: Config) -> Path:
    """Return a folder with that kernel and, as :data:`TREE`, what it was built in."""

    def build(folder: Path) -> None:
        script = Script(
            words=["/cell/build-kernel.sh", version, kernel_build.jobs(), str(config.tick_hz)],
            inputs=INPUTS, texts=config.texts(), packages=[package(version), "patch"],
            leaves=(*kernel_build.KERNEL, *config.leaves(), TREE), sources=sources(version),
            lines=LOG_LINES,
        )  # fmt: skip
        kernel_build.run(folder, script, f"kernel {version}", root, report)

    return cache.entry(f"kernel-tree-{version}", key(version, image_digest, config), build)
