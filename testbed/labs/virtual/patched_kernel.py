"""Kernels of the virtual lab by their names: a version or a commit, and patches.

``7.3+sctp-4th-duplicate`` is Debian's 7.3 with ``patches/sctp-4th-duplicate.patch``. Each patch of
the project's changes one mechanism; its first lines say which, and what it restores. A user's is
called by its file's name and its digest. Such kernels are built in the tree of the unpatched one,
which is kept: what a patch leaves alone is not compiled again. Their release ends in the patches'
digest, so no artefact of theirs looks like one of an unpatched kernel. A version that no cell could
run on as it is has patches that the lab needs, in ``needed/``: they come with it, and are in its
name. So do those that fast links need of any version.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from model.errors import StudyError, UnsupportedError
from testbed.labs.virtual import kernel, kernel_build, tree_kernel
from testbed.labs.virtual.kernel import Config
from testbed.labs.virtual.kernel_build import Script
from testbed.labs.virtual.own_source import export, kept, patch_text
from testbed.labs.virtual.own_source.export import Patch
from testbed.machine import cache
from testbed.machine.process import BuildReport
from testbed.study import kernel_names

PATCHES = Path(__file__).with_name("patches")
#: What the lab cannot do without, and newer kernels have: none changes what is studied.
NEEDED_PATCHES = Path(__file__).with_name("needed")
NEEDED = {"6.1": ("netem-seed",)}
#: Those that some networks need, whatever the version: their studies' kernels have them.
OF_NETWORKS = (kernel_names.FINE_CLOCK,)
#: What begins the end of a patched kernel's release.
PATCHED = "-patched-"
#: Characters of the digest in a release, which may have 64 in all.
DIGEST_CHARACTERS = 8
PATCHED_LINES = 60
#: A build's file of options that are switched on because a patch brings them.
ADDED_CONFIG = "kernel-patched.config"
_ADDED_SYMBOL = re.compile(rb"^\+(?:menu)?config[ \t]+(\w+)", re.MULTILINE)


def parts(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a kernel's version and the names of its patches; radios and IPv6 are none."""
    found = kernel_names.read(name)
    base, *patches = name.split("+")
    patches = [patch for patch in patches if patch not in kernel_names.OPTIONS]
    return base if found is None else found.version, tuple(patches)


def _configured(name: str, config: Config) -> Config:
    """Return what a kernel of that name is configured with."""
    options = kernel_names.options(name)
    return kernel.with_options(options) if options else config


def there_are() -> list[str]:
    """Return the names of all patches."""
    return sorted(path.stem for path in PATCHES.glob("*.patch"))


def checked(name: str) -> str:
    """Return a kernel's name: its patches, and those it needs, in order and each once.

    Raises:
        StudyError: it is no version, or there is no such patch.
    """
    version, patches = parts(name)
    kernel.check_version(version)
    needed = _needed(name)
    for patch in patches:
        known = (*there_are(), *needed, *OF_NETWORKS)
        if patch not in known and not kernel_names.is_own(patch):
            raise StudyError(
                "no such patch", where="KERNEL", wanted=", ".join(there_are()), got=patch,
                hint="--patch FILE adds one of your own",
            )  # fmt: skip
    base = name.partition("+")[0]
    options = kernel_names.options(name)
    return "+".join([base, *kernel_names.in_order([*patches, *needed, *options])])


def check_complete(name: str) -> None:
    """Raise :class:`StudyError` for a kernel that is named without a patch it needs."""
    version, patches = parts(name)
    missing = [patch for patch in _needed(name) if patch not in patches]
    if missing:
        raise StudyError(
            f"this lab has no kernel {version} as it is", where="KERNEL", wanted=checked(name),
            got=name, hint=f"--kernel {version} brings it along; docs/kernels.md says what it is",
        )  # fmt: skip


def _needed(name: str) -> tuple[str, ...]:
    """Return the patches that the lab needs of Debian's kernel of that version; of trees none."""
    return () if _of_tree(name) else NEEDED.get(parts(name)[0], ())


def versions(names: Sequence[str]) -> list[str]:
    """Return the versions that these kernels are of, each once."""
    return list(dict.fromkeys(parts(name)[0] for name in names))


def _texts(patches: Sequence[str]) -> list[Patch]:
    """Return patches with their texts, users' as they were given.

    Raises:
        UnsupportedError: the text of a user's patch is not kept.
    """
    found = []
    for name in patches:
        text = kept.patch(name) if kernel_names.is_own(name) else _file(name).read_bytes()
        if text is None:
            raise UnsupportedError(
                f"the patch {name} is not kept here", where="KERNEL",
                wanted="its text in the cache, or in the run that it was made for",
                hint="--patch FILE with the same file brings it back",
            )  # fmt: skip
        found.append(Patch(name, text))
    return found


def _file(patch: str) -> Path:
    folder = PATCHES if patch in there_are() else NEEDED_PATCHES
    return folder / f"{patch}.patch"


def key(name: str, image_digest: str, config: Config = kernel.USUAL) -> str:
    """Return the hash of all that decides a kernel; a user's patch is decided by its name."""
    version, patches = parts(name)
    config = _configured(name, config)
    ours = [_file(one).read_bytes() for one in patches if not kernel_names.is_own(one)]
    if _of_tree(name):
        return tree_kernel.key(name, [cache.digest_of(*ours)], image_digest, config)
    plain = kernel.key(version, image_digest, config)
    of_user = any(map(kernel_names.is_own, patches))
    asked = [tree_kernel.TREE_CONFIG.read_bytes()] if of_user else []
    return cache.digest_of(plain, *patches, *ours, *asked, kernel.IN_TREE.read_bytes())


def _of_tree(name: str) -> bool:
    found = kernel_names.read(name)
    return found is not None and bool(found.commit)


def built(name: str, image_digest: str, config: Config = kernel.USUAL) -> Path | None:
    """Return the kernel's folder if it is in the cache."""
    version, patches = parts(name)
    if not patches and not _of_tree(name):
        return kernel.built(version, image_digest, _configured(name, config))
    named = kernel_names.in_files(name)
    place = cache.root() / f"kernel-{named}-{key(name, image_digest, config)}"
    return place if place.is_dir() else None


def check_offered(names: Sequence[str]) -> None:
    """Raise :class:`UnsupportedError` unless the sources of these kernels are to be had."""
    for name in names:
        found = kernel_names.read(name)
        if found and found.commit:
            tree_kernel.found_again(found)
        _texts(parts(name)[1])
    of_debian = [name for name in names if not _of_tree(name)]
    if of_debian:
        kernel.check_offered(versions(of_debian))


def ensure(
    name: str, root: Path, image_digest: str, report: BuildReport, config: Config = kernel.USUAL
) -> Path:
    """Return the folder of that kernel, building it in the image first if needed.

    Raises:
        BuildError: a patch does not apply, or the source is not to be built.
    """
    version, patches = parts(checked(name))
    config = _configured(name, config)
    of_tree = kernel_names.read(name)
    if not patches and not _of_tree(name):
        return kernel.ensure(version, root, image_digest, report, config)
    if there := built(name, image_digest, config):
        return there  # whose patches need not be kept any more
    texts = _texts(patches)
    if of_tree and of_tree.commit:
        place_key = key(name, image_digest, config)
        return tree_kernel.ensure(of_tree, place_key, texts, root, image_digest, report, config)

    def build(folder: Path) -> None:
        digest = cache.digest_of(*(one.text for one in texts))
        release_end = f"{PATCHED}{digest[:DIGEST_CHARACTERS]}"
        applied = {f"{one.name}.patch": _applied(one, config) for one in texts}
        applied = {file: text for file, text in applied.items() if text}
        options = added_options(texts)
        added = {ADDED_CONFIG: options} if options else {}
        script = Script(
            words=[
                "/cell/build-patched.sh", release_end, kernel_build.jobs(), str(config.tick_hz),
                *applied,
            ],
            inputs=(*kernel.SHARED, kernel.IN_TREE),
            texts={**config.texts(), **added, **applied},
            leaves=(*kernel_build.KERNEL, *config.leaves()), lines=PATCHED_LINES,
            tree=kernel.tree(version, root, image_digest, report, config),
        )  # fmt: skip
        kernel_build.run(folder, script, f"kernel {name}", root, report)

    named = kernel_names.in_files(name)
    return cache.entry(f"kernel-{named}", key(name, image_digest, config), build)


def added_options(patches: Sequence[Patch]) -> bytes:
    """Return those lines of ``kernel-tree.config`` that are about symbols which patches add.

    A patch that brings a congestion control is to have it; all else stays as without the patch.
    """
    added = {symbol for one in patches for symbol in _ADDED_SYMBOL.findall(one.text)}
    lines = tree_kernel.TREE_CONFIG.read_bytes().splitlines(keepends=True)
    return b"".join(line for line in lines if line[len("CONFIG_") :].split(b"=")[0] in added)


def _applied(patch: Patch, config: Config) -> bytes:
    """Return a patch without what it does to files that kernels are built without."""
    return patch_text.without(
        patch.text, lambda path: export.left_out(path, scripts=config.scripts)
    )
