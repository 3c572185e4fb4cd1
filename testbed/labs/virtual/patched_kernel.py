"""Kernels of the virtual lab by their names: a version, or a version with patches.

``7.3+sctp-4th-duplicate`` is Debian's 7.3 with ``patches/sctp-4th-duplicate.patch``. Each patch
changes one mechanism; its first lines say which, and what it restores. Such kernels are built in
the tree of the unpatched one, which is built once more for it and kept: what a patch leaves alone
is not compiled again. Their release ends in the patches' digest, so no artefact of theirs looks
like one of an unpatched kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from model.errors import StudyError
from testbed.labs.virtual import kernel, kernel_build
from testbed.labs.virtual.kernel_build import Script
from testbed.machine import cache
from testbed.machine.process import BuildReport
from testbed.study import kernel_names

PATCHES = Path(__file__).with_name("patches")
TREE_SCRIPT, PATCHED_SCRIPT = (
    Path(__file__).with_name(name) for name in ("build-tree.sh", "build-patched.sh")
)
#: What begins the end of a patched kernel's release.
PATCHED = "-patched-"
#: Characters of the digest in a release, which may have 64 in all.
DIGEST_CHARACTERS = 8
PATCHED_LINES = 60


def parts(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a kernel's version and the names of its patches."""
    found = kernel_names.read(name)
    if found is None:
        base, *patches = name.split("+")
        return base, tuple(patches)
    return found.version, found.patches


def there_are() -> list[str]:
    """Return the names of all patches."""
    return sorted(path.stem for path in PATCHES.glob("*.patch"))


def checked(name: str) -> str:
    """Return a kernel's name, its patches in order and each once.

    Raises:
        StudyError: it is no version, or there is no such patch.
    """
    version, patches = parts(name)
    kernel.check_version(version)
    for patch in patches:
        if patch not in there_are() and not kernel_names.is_own(patch):
            raise StudyError(
                "no such patch", where="KERNEL", wanted=", ".join(there_are()), got=patch,
                hint="--patch FILE adds one of your own",
            )  # fmt: skip
    base = name.partition("+")[0]
    return "+".join([base, *kernel_names.in_order(patches)])


def versions(names: Sequence[str]) -> list[str]:
    """Return the versions that these kernels are of, each once."""
    return list(dict.fromkeys(parts(name)[0] for name in names))


def _files(patches: Sequence[str]) -> list[Path]:
    return [PATCHES / f"{patch}.patch" for patch in patches]


def key(name: str, image_digest: str, tick_hz: int = kernel.TICK_HZ) -> str:
    """Return the hash of all that decides a patched kernel."""
    version, patches = parts(name)
    plain = kernel.key(version, image_digest, tick_hz)
    scripts = (path.read_bytes() for path in (TREE_SCRIPT, PATCHED_SCRIPT))
    return cache.digest_of(plain, *patches, *(p.read_bytes() for p in _files(patches)), *scripts)


def built(name: str, image_digest: str, tick_hz: int = kernel.TICK_HZ) -> Path | None:
    """Return the kernel's folder if it is in the cache."""
    version, patches = parts(name)
    if not patches:
        return kernel.built(version, image_digest, tick_hz)
    place = cache.root() / f"kernel-{name}-{key(name, image_digest, tick_hz)}"
    return place if place.is_dir() else None


def ensure(
    name: str, root: Path, image_digest: str, report: BuildReport, tick_hz: int = kernel.TICK_HZ
) -> Path:
    """Return the folder of that kernel, building it in the image first if needed."""
    version, patches = parts(checked(name))
    if not patches:
        return kernel.ensure(version, root, image_digest, report, tick_hz)

    def tree(folder: Path) -> None:
        words = ["/cell/build-tree.sh", version, kernel_build.jobs(), str(tick_hz)]
        script = Script(
            words=words, inputs=(*kernel.INPUTS, TREE_SCRIPT), leaves=["tree.tar.gz"],
            lines=kernel.LOG_LINES,
        )  # fmt: skip
        kernel_build.run(folder, script, f"the tree of kernel {version}", root, report)

    def build(folder: Path) -> None:
        plain = kernel.key(version, image_digest, tick_hz)
        tree_key = cache.digest_of(plain, TREE_SCRIPT.read_bytes())
        files = _files(patches)
        digest = cache.digest_of(*(path.read_bytes() for path in files))
        release_end = f"{PATCHED}{digest[:DIGEST_CHARACTERS]}"
        names = [path.name for path in files]
        script = Script(
            words=["/cell/build-patched.sh", release_end, kernel_build.jobs(), *names],
            inputs=(PATCHED_SCRIPT, *files), lines=PATCHED_LINES,
            tree=cache.entry(f"kernel-tree-{version}", tree_key, tree),
        )  # fmt: skip
        kernel_build.run(folder, script, f"kernel {name}", root, report)

    return cache.entry(f"kernel-{name}", key(name, image_digest, tick_hz), build)
