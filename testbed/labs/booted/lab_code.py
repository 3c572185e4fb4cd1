"""Everything of this project that runs inside a lab, compiled once with the image's own tools.

An entry holds ``init``, ``early`` (before it, on a kernel of modules), ``walls``, ``preload.so``
(what the kernel gets of its host), ``bin/`` (the C programs: probes and the AODV daemon) and
``lib/`` (the Python modules the agent needs, byte-compiled). ``at_once.pyc``, ``modules`` (all that
the agent imports, in one file) and ``memory_at_once.so`` have it start quickly in virtual time. Its
key is the digest of exactly those sources, so a change to a report or to the command line never
makes finished cells stale.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed.labs.confinement import lab_user
from testbed.labs.confinement.sandbox import Sandbox
from testbed.machine import cache, contents, trees
from testbed.machine.process import run_logged

PROJECT = Path(__file__).resolve().parents[3]
GUEST = Path(__file__).with_name("boot")
BUILD_TIMEOUT_S = 300.0
#: Folders that go into the lab whole.
FOLDERS = (
    "model",
    "model/movement",
    "mininet_topos",
    "mininet_topos/aodv",
    "mininet_topos/aodv/rules",
    "mininet_topos/baselines",
    "mininet_topos/filters",
    "mininet_topos/radio",
    "probes",
    "probes/common",
    "probes/flow",
    "probes/radio",
    "collectors/recording",
    "testbed/guest",
    "testbed/guest/radio",
    "testbed/guest/routing",
)
#: Of these, what makes them packages.
PACKAGES = ("collectors", "testbed")
SUFFIXES = frozenset({".py", ".c", ".h"})
SCRIPT = """
set -eu
flags='-std=c11 -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -D_GNU_SOURCE'
cc $flags -static -o /cell/init /gt/guest/init.c
cc $flags -static -o /cell/early /gt/guest/early.c
cc $flags -fPIC -shared -o /cell/preload.so /gt/guest/seeded_random.c /gt/guest/host_*.c
cc $flags -static -o /cell/walls /gt/guest/walls*.c
cc $flags -fPIC -shared -o /cell/memory_at_once.so /gt/guest/memory_at_once.c
make -s -C /cell/lib/probes OUT=/cell/bin LDFLAGS=-static
make -s -C /cell/lib/mininet_topos/aodv OUT=/cell/bin LDFLAGS=-static
PYTHONHASHSEED=0 python3 -m compileall -q --invalidation-mode unchecked-hash /cell/lib
export PYTHONPATH=/cell/lib:/usr/lib/python3/dist-packages
export PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
python3 -SP /gt/guest/at_once.py write /cell/modules
cp /gt/guest/at_once.py /cell
python3 -m compileall -q -b --invalidation-mode unchecked-hash /cell/at_once.py
rm /cell/at_once.py
"""


def sources() -> list[tuple[str, Path]]:
    """Return all files that go into the bundle, as (name inside, path)."""
    inside = [path for folder in FOLDERS for path in (PROJECT / folder).iterdir()]
    inside += [PROJECT / package / "__init__.py" for package in PACKAGES]
    files = [
        (f"lib/{path.relative_to(PROJECT)}", path)
        for path in inside
        if path.suffix in SUFFIXES or path.name == "Makefile"
    ]
    files += [(f"guest/{path.name}", path) for path in GUEST.iterdir() if path.suffix in SUFFIXES]
    return sorted(files)


def key(image_digest: str) -> str:
    """Return the digest of the sources and of what compiles them."""
    return cache.digest_of(image_digest, SCRIPT, cache.files_digest(sources()))


def built(image_digest: str) -> Path | None:
    """Return the bundle's folder if it is in the cache."""
    place = cache.root() / f"code-{key(image_digest)}"
    return place if place.is_dir() else None


def ensure(image: Path, image_digest: str) -> Path:
    """Return the bundle's folder, building it first if needed."""
    return cache.entry("code", key(image_digest), lambda folder: _build(folder, image))


def _build(folder: Path, image: Path) -> None:
    # All of it is copied: the sandbox's user may not be allowed to read this checkout.
    for name, path in sources():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    guest = folder / "guest"
    with lab_user.lent(folder) as uid:
        sandbox = Sandbox(
            image=image, uid=uid, read_only={"/gt/guest": guest}, writable={"/cell": folder}
        )
        run_logged(
            sandbox.argv(["sh", "-c", SCRIPT]),
            log=folder / "build.log",
            what="compiling the probes and the agent",
            timeout_s=BUILD_TIMEOUT_S,
        )
    trees.remove(guest)
    contents.settle(folder)
