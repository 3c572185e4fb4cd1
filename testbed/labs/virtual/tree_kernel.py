"""Kernels of the virtual lab that are built from a commit of a user's git tree.

Each tree has, for each version, one kept copy in which its commits are built one after the other:
of the next one only what differs is laid anew and compiled. What fails there for more than its
source (``own_source/leavings.py``) is built once more, as a whole. Invariants: a copy is moved away
while something is built in it, so whoever is killed leaves none, and the next build is a whole one;
what is built depends on the commit and the patches alone, not on what was built before
(``tests/long/changed_kernels.py`` compares the bytes).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from model.errors import BuildError, GroundtruthError, StudyError, UnsupportedError
from testbed.labs.confinement.build_room import TooMuchError
from testbed.labs.virtual import kernel, kernel_build
from testbed.labs.virtual.kernel import Config
from testbed.labs.virtual.kernel_build import Script
from testbed.labs.virtual.own_source import export, given_tree, kept, leavings, local_changes
from testbed.labs.virtual.own_source.export import Patch
from testbed.labs.virtual.own_source.git import Repository
from testbed.labs.virtual.own_source.given_tree import WHERE, GivenTree
from testbed.machine import cache, scratch
from testbed.machine.process import BuildReport, StatusError
from testbed.study import kernel_names
from testbed.study.kernel_names import KernelName

#: What local changes are called in a kernel's name, before their digest.
LOCAL = "local"
SCRIPT, TREE_CONFIG = (
    Path(__file__).with_name(name) for name in ("build-commit.sh", "kernel-tree.config")
)
INPUTS = (*kernel.SHARED, export.LEFT_OUT, TREE_CONFIG, SCRIPT)
#: Beginnings of names in the cache: a kept copy, and where it is while something is built in it.
KEPT, ASIDE = "kept-tree", ".kept-"
#: So many copies are kept, those used last.
MOST_KEPT = 3
#: Characters of a kernel's release, the end of the string not counted.
MOST_RELEASE = 64 - 1
LOCAL_VERSION = "-groundtruth"


def named(text: str) -> str:
    """Return the name of the kernel that FOLDER[@REVISION] is; what it takes is kept.

    Raises:
        StudyError: it is no git tree of Linux, or has no such revision.
    """
    tree = given_tree.opened(text)
    changes = local_changes.text(tree)
    kept.keep_origin(tree)
    patches = [kept.keep_patch(LOCAL, changes)] if changes else []
    return kernel_names.patched(tree.base, patches)


def key(name: str, digests: Sequence[str], image_digest: str, config: Config) -> str:
    """Return the hash of all that decides a kernel; ``digests`` are those of its patches."""
    inputs = (path.read_bytes() for path in INPUTS)
    return cache.digest_of(name, *digests, image_digest, *config.key_parts(), *inputs)


def found_again(name: KernelName) -> GivenTree:
    """Return the tree of a kernel's commit, where it was last.

    Raises:
        UnsupportedError: it is not known, or not there any more.
    """
    origin = kept.origin(name.base)
    hint = (
        f"groundtruth build --kernel FOLDER@{origin.commit if origin else name.commit} with a tree "
        "that has the commit; its local changes and patches are kept"
    )
    if origin is None:
        raise UnsupportedError(
            f"kernel {name.base} is not built here, and no tree is known that has it", where=WHERE,
            hint=hint,
        )  # fmt: skip
    try:
        return given_tree.opened(f"{origin.tree}@{origin.commit}")
    except StudyError as error:
        raise UnsupportedError(
            f"kernel {name.base} is not built here, and its tree is not where it was", where=WHERE,
            wanted=f"commit {origin.commit} in {origin.tree}", got=error.got, hint=hint,
        ) from error  # fmt: skip


def ensure(
    name: KernelName, place_key: str, patches: Sequence[Patch], root: Path, image_digest: str,
    report: BuildReport, config: Config,
) -> Path:  # fmt: skip
    """Return the folder of a kernel, building it in the image first if needed.

    Raises:
        BuildError: a patch does not apply, or the source is not to be built.
        UnsupportedError: its tree is not there.
    """

    def build(folder: Path) -> None:
        tree = found_again(name)
        _build(folder, name, tree, patches, root, image_digest, report, config)

    return cache.entry(f"kernel-{kernel_names.in_files(name.text)}", place_key, build)


def _build(
    folder: Path, name: KernelName, tree: GivenTree, patches: Sequence[Patch], root: Path,
    image_digest: str, report: BuildReport, config: Config,
) -> None:  # fmt: skip
    inputs = (path.read_bytes() for path in INPUTS)
    place = str(tree.common_dir.resolve())
    kept_key = cache.digest_of(place, name.version, image_digest, *config.key_parts(), *inputs)
    slot = cache.root() / f"{KEPT}-{name.version}-{kept_key}"
    with (
        cache.locked(slot.name),
        scratch.scratch(cache.root(), ASIDE, cache.remove_left) as aside,
    ):
        ours = tree.borrowed(aside / "git")
        now = export.patched(ours, tree.commit, patches, scripts=config.scripts)
        copy = aside / "copy"
        before = _taken(slot, copy)
        # Not for the makefiles to say: what a cell's identity calls the kernel's package.
        (folder / "version").write_text(f"{tree.release} at commit {tree.commit}\n")
        end = release_end(name, tree.release, _own_local_version(ours, now))

        def make(before: export.Listing) -> None:
            export.write_changes(ours, before, now, aside)
            script = Script(
                words=["/cell/build-commit.sh", end, kernel_build.jobs(), str(config.tick_hz)],
                inputs=INPUTS, texts=config.texts(),
                moved=(aside / "changed.tar", aside / "removed"),
                borrowed=copy / "source", leaves=("linux", "config", *config.leaves()),
                lines=1 + _lines(before, now),
            )  # fmt: skip
            kernel_build.run(folder, script, f"kernel {name.text}", root, report)

        try:
            try:
                make(before)
            except (BuildError, StatusError):
                if not before or not leavings.may_be_why(
                    kernel_build.said(folder), copy / "source", now
                ):
                    raise
                kernel_build.begin_again(folder)
                _empty(copy)
                make({})
        except TooMuchError:
            raise
        except BuildError:
            _kept(copy, slot, now)  # the next commit may differ from it in one file
            raise
        _kept(copy, slot, now)
        _forget_all_but(MOST_KEPT, aside)


def release_end(name: KernelName, release: str, own_local_version: int) -> str:
    """Return what a kernel's release ends in: its name, or a digest where that is too long."""
    end = f"-g{name.commit}"
    whole = "+".join([end, *name.patches])
    if len(release) + own_local_version + len(LOCAL_VERSION) + len(whole) <= MOST_RELEASE:
        return whole
    digest = cache.digest_of(*name.patches)[: kernel_names.DIGEST_DIGITS]
    return f"{end}-patched-{digest}"


def _own_local_version(ours: Repository, files: export.Listing) -> int:
    """Return how many characters a tree's own files add to its release."""
    found = [
        blob for path, (_, blob) in files.items()
        if path.startswith(b"localversion") and not path.endswith(b"~") and b"/" not in path
    ]  # fmt: skip
    return sum(len(b"".join(ours.read("cat-file", "blob", blob).split())) for blob in found)


def _lines(before: export.Listing, now: export.Listing) -> int:
    """Return about how many lines a build says: of all files, or of those that differ."""
    differ = sum(before.get(path) != what for path, what in now.items())
    return min(kernel.LOG_LINES, 60 + differ)


def _taken(slot: Path, copy: Path) -> dict[bytes, tuple[str, str]]:
    """Move a kept copy away and return what is in it; an empty one where there is none."""
    try:
        slot.rename(copy)
        return export.read_listing((copy / "files").read_bytes())
    except (OSError, GroundtruthError):
        _empty(copy)
        return {}


def _empty(copy: Path) -> None:
    """Make a copy one that nothing was built in."""
    cache.remove_left(copy)
    (copy / "source").mkdir(parents=True)


def _kept(copy: Path, slot: Path, now: export.Listing) -> None:
    """Put a copy back for the next build, with the list of what is in it."""
    lines = (f"{mode} {blob} 0\t".encode() + path for path, (mode, blob) in now.items())
    (copy / "files").write_bytes(b"\0".join(lines))
    os.utime(copy)
    copy.rename(slot)


def _forget_all_but(most: int, aside: Path) -> None:
    """Remove the copies that were not used for the longest time."""
    places = sorted(cache.root().glob(f"{KEPT}-*"), key=_used, reverse=True)
    for number, place in enumerate(places[most:]):
        with contextlib.suppress(OSError):  # somebody builds in it at this moment
            place.rename(aside / f"old-{number}")


def _used(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except OSError:
        return 0.0
