"""packetdrill itself, built from a user's source tree inside the lab's image.

Invariants: the tree is copied, never written to, and only sources and makefiles are taken of it;
its makefiles and compilers run confined, without a network; the entry in the cache is named by the
digest of what was taken, the image and what is put beside it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from model import plain_files
from model.errors import RunError, StudyError
from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine import cache, contents, trees
from testbed.machine.process import run_logged

#: Where the program lies in a checkout of its own, and what tells its folder.
BELOW = Path("gtests/net/packetdrill")
MAKEFILE = "Makefile.Linux"
SUFFIXES = frozenset({".c", ".h", ".l", ".y", ".common"})
MOST_FILES, MOST_BYTES = 2000, 64 << 20
BUILD_TIMEOUT_S = 600.0
LAB_SIDE = Path(__file__).with_name("lab_side")
#: What lies beside packetdrill in the lab: files of ours, and where.
OURS = {"run_case.py": "run_case.py", "sysctl": "bin/sysctl"}
#: The tree says -Werror, and newer compilers than its authors' warn of more. Before 2026 it says
#: -static, and nothing can be loaded before the C library of a program that has its own.
SCRIPT = f"""
set -eu
cd /cell/source
sed -i 's/ -static\\>//' {MAKEFILE}
make -f {MAKEFILE} -j2 CFLAGS='-g -Wall' packetdrill
cc -std=c11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -fPIC -shared -o /cell/sleeping_times.so \
 /cell/sleeping_times.c
"""


@dataclass(frozen=True)
class Built:
    """The folder that the lab is shown, and digests of the source and of the program."""

    folder: Path
    source_sha256: str
    program_sha256: str


def source_folder(given: Path) -> Path:
    """Return the folder with packetdrill's makefile: the one given, or the usual one below it.

    Raises:
        StudyError: there is no such folder.
    """
    for folder in (given, given / BELOW):
        if (folder / MAKEFILE).is_file():
            return folder
    raise StudyError(
        "not packetdrill's source", where=f"--with {given}",
        wanted=f"a folder with {MAKEFILE}, or a checkout with {BELOW}",
        got="neither" if given.is_dir() else "a file" if given.exists() else "no such folder",
    )  # fmt: skip


def sources(folder: Path) -> dict[str, bytes]:
    """Return the source files and makefiles of a folder, and of those in it, by name.

    Links, and whatever else there is, are left alone.

    Raises:
        StudyError: they are too many or too large, or cannot be read.
    """
    found: dict[str, bytes] = {}
    total_bytes = 0
    try:
        for name, path in sorted(_looked_at(folder)):
            content = plain_files.read_bytes(path, MOST_BYTES)
            total_bytes += len(content)
            if len(found) >= MOST_FILES or total_bytes > MOST_BYTES:
                raise StudyError(
                    "too much for packetdrill's source", where=str(folder),
                    wanted=f"at most {MOST_FILES} files and {MOST_BYTES >> 20} MiB", got="more",
                )  # fmt: skip
            found[name] = content
    except OSError as error:
        raise StudyError(
            "cannot read packetdrill's source", where=str(folder), got=str(error)
        ) from error
    return found


def _looked_at(folder: Path, above: str = "", depth: int = 0) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.iterdir()):
        name = f"{above}{path.name}"
        if plain_files.is_folder(path) and depth < 1 and not path.name.startswith("."):
            yield from _looked_at(path, f"{name}/", depth + 1)
        elif plain_files.is_file(path) and _is_source(path):
            yield name, path


def _is_source(path: Path) -> bool:
    return path.suffix in SUFFIXES or path.name.startswith("Makefile")


def digest(files: dict[str, bytes]) -> str:
    """Return the SHA-256 of named files' contents."""
    state = hashlib.sha256()
    for name, content in sorted(files.items()):
        words = name.encode(errors="surrogateescape")
        state.update(b"%d:%b%d:%b" % (len(words), words, len(content), content))
    return state.hexdigest()


def ensure(given: Path, image_root: Path) -> Built:
    """Return packetdrill as that source makes it, building it first if needed.

    Raises:
        StudyError: this is not packetdrill's source.
        RunError: it cannot be built; the end of the log says why.
    """
    files = sources(source_folder(given))
    source_sha256 = digest(files)
    beside = [(path.name, path) for path in sorted(LAB_SIDE.iterdir()) if path.is_file()]
    key = cache.digest_of(
        source_sha256, contents.digest(image_root.parent), SCRIPT, cache.files_digest(beside)
    )

    def build(folder: Path) -> None:
        _build(folder, files, image_root)

    folder = cache.entry("packetdrill", key, build)
    return Built(folder, source_sha256, plain_files.sha256(folder / "bin" / "packetdrill"))


def _build(folder: Path, files: dict[str, bytes], image_root: Path) -> None:
    work = folder / "work"
    for name, content in files.items():
        plain_files.write(work / "source" / name, content)
    shutil.copy(LAB_SIDE / "sleeping_times.c", work)
    with lab_user.lent(work) as uid:
        sandbox = Sandbox(image=image_root, uid=uid, writable={"/cell": work})
        run_logged(
            sandbox.argv(["sh", "-c", SCRIPT]), log=folder / "build.log",
            what="building packetdrill", timeout_s=BUILD_TIMEOUT_S,
        )  # fmt: skip
    made = {
        "bin/packetdrill": work / "source" / "packetdrill",
        "sleeping_times.so": work / "sleeping_times.so",
    }
    for name, path in (made | {place: LAB_SIDE / name for name, place in OURS.items()}).items():
        if not plain_files.is_file(path):  # a makefile can leave anything
            raise RunError("building packetdrill left no plain file", where=path.name)
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(path, folder / name)
        (folder / name).chmod(0o755)
    trees.remove(work)
    contents.settle(folder)
