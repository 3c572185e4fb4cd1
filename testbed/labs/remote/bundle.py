"""All that machines of the remote lab are given: what of the lab's image an agent runs, and code.

One archive, made once for each image and code, and named by the digest of both. Of the image it has
the programs that agents start, the libraries these need, Python, Mininet, and small files; that is
a tenth of it.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from model.errors import UnsupportedError
from testbed.labs.booted.lab_code import PROJECT
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine import cache, contents

ARCHIVE = "bundle.tar.gz"
#: What agents start, and what becomes the first of them.
PROGRAMS = (
    "sh", "env", "python3", "ip", "tc", "tcpdump", "iperf3", "stdbuf", "mount", "hostname",
    "chroot",
)  # fmt: skip
#: Taken whole, but for what no program reads.
FOLDERS = (
    "etc", "usr/lib/python3.13", "usr/lib/python3/dist-packages/mininet", "usr/share/iproute2",
    "usr/libexec/coreutils", "var/lib/dpkg/status",
)  # fmt: skip
NOT_READ = re.compile(r".*/(ensurepip|idlelib|pydoc_data|test|tests|turtledemo)(/|$)")
#: Where others are mounted.
PLACES = ("cell", "dev", "gt", "proc", "run", "sys", "tmp", "root")
#: What a session imports, which runs with the machine's own Python.
SESSION = (
    "model", "model/movement", "mininet_topos", "mininet_topos/aodv", "mininet_topos/baselines",
    "mininet_topos/filters",
    "mininet_topos/radio", "probes", "collectors/recording",
    "testbed/guest", "testbed/guest/radio", "testbed/guest/routing", "testbed/labs/host",
    "testbed/labs/remote/on_machine",
)  # fmt: skip
MODULES = ("testbed/machine/process.py", "testbed/study/vocabulary.py")
PACKAGES = (
    "collectors", "testbed", "testbed/labs", "testbed/labs/remote", "testbed/machine",
    "testbed/study",
)  # fmt: skip
LIBRARY = re.compile(r"(/\S+) \(0x")
COMPRESSION_LEVEL = 6


def sources() -> list[tuple[str, Path]]:
    """Return what sessions consist of, as (name in the archive, path)."""
    found = [path for folder in SESSION for path in (PROJECT / folder).glob("*.py")]
    found += [PROJECT / package / "__init__.py" for package in PACKAGES]
    found += [PROJECT / module for module in MODULES]
    return sorted((f"lib/{path.relative_to(PROJECT)}", path) for path in found)


def ensure(image: Path, code: Path) -> Path:
    """Return the archive, made first if needed; its folder is named by its digest."""
    key = cache.digest_of(
        contents.digest(image.parent), contents.digest(code), Path(__file__).read_bytes(),
        cache.files_digest(sources()),
    )  # fmt: skip
    return cache.entry("testbed", key, lambda folder: _build(folder, image, code)) / ARCHIVE


def digest(archive: Path) -> str:
    """Return what names an archive, on machines too."""
    return archive.parent.name.removeprefix("testbed-")


def of_image(image: Path) -> list[str]:
    """Return the names in the image that go along, in order.

    Raises:
        UnsupportedError: the image lacks a program.
    """
    found: set[str] = set(PLACES)
    starts = [next((f"usr/{b}/{p}" for b in ("bin", "sbin") if (image / "usr" / b / p).exists()), p)
              for p in PROGRAMS]  # fmt: skip
    for name in starts:
        if not (image / name).exists():
            raise UnsupportedError("the lab's image lacks a program", wanted=name)
    for folder in FOLDERS:
        whole = (image / folder, *(image / folder).rglob("*"))
        found |= {
            name for path in whole if not NOT_READ.match(name := str(path.relative_to(image)))
        }
    loaded = [*starts, *(n for n in found if n.endswith(".so") or "/coreutils/" in n)]
    said = Sandbox(image=image).output_of(
        ["sh", "-c", 'for one; do ldd "$one" || true; done', "ldd", *(f"/{n}" for n in loaded)]
    )
    for path in (*starts, *(name.lstrip("/") for name in LIBRARY.findall(said))):
        found |= set(with_links(image, path))
    above = {str(parent) for name in found for parent in Path(name).parents if parent.name}
    return sorted(found | above)


def with_links(image: Path, name: str) -> Iterator[str]:
    """Yield a file's name and all links that lead from there to the file itself."""
    todo = [Path(name)]
    while todo:
        path = todo.pop()
        place = Path()
        for part in path.parts:
            place /= part
            if (image / place).is_symlink():
                yield str(place)
                target = (image / place).readlink()
                rest = path.relative_to(place)
                to = (
                    Path(str(target).lstrip("/")) if target.is_absolute() else place.parent / target
                )
                todo.append(Path(os.path.normpath(to / rest if rest.parts else to)))
                break
        else:
            yield str(path)


def _build(folder: Path, image: Path, code: Path) -> None:
    files: Iterable[tuple[str, Path]] = (
        *((f"image/{name}", image / name) for name in of_image(image)),
        *((f"code/{path.relative_to(code)}", path) for path in sorted(code.rglob("*"))),
        *sources(),
    )
    with tarfile.open(folder / ARCHIVE, "w:gz", compresslevel=COMPRESSION_LEVEL) as archive:
        for name, path in files:
            info = archive.gettarinfo(path, name)
            info.uid = info.gid = 0
            info.uname = info.gname = "root"
            info.mtime = 0
            if info.isreg():
                with path.open("rb") as file:
                    archive.addfile(info, file)
            elif info.isdir() or info.issym():
                archive.addfile(info)
    contents.settle(folder)
