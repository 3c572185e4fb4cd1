"""Everything of this project that runs inside a lab, compiled once with the image's own tools.

An entry holds ``init``, ``walls``, ``preload.so`` (what the kernel gets of its host), ``bin/`` (the
C probes) and ``lib/`` (the Python modules the agent needs, byte-compiled). Its key is the digest of
exactly those sources, so a change to a report or to the command line never makes finished cells
stale.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from testbed import trees
from testbed.labs import cache, contents, identity
from testbed.labs.process import run_logged
from testbed.labs.sandbox import Sandbox

PROJECT = Path(__file__).resolve().parents[2]
GUEST = Path(__file__).with_name("guest")
BUILD_TIMEOUT_S = 300.0
#: Modules of testbed that the agent imports; its other packages go in whole, but for parsers.
TESTBED_MODULES = (
    "__init__.py",
    "agent.py",
    "calibration.py",
    "captures.py",
    "cell.py",
    "check.py",
    "draws.py",
    "errors.py",
    "fields.py",
    "guest_flows.py",
    "guest_lab.py",
    "guest_ledger.py",
    "guest_metrics.py",
    "guest_run.py",
    "guest_state.py",
    "ledger.py",
    "link_fill.py",
    "netem.py",
    "telemetry.py",
    "units.py",
)
PACKAGES = ("mininet_topos", "probes", "collectors")
SUFFIXES = frozenset({".py", ".c", ".h"})
#: Read what a lab left, on the host: a better parser makes no finished cell stale.
PARSERS = "*_parse.py"
SCRIPT = """
set -eu
flags='-std=c11 -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -D_GNU_SOURCE'
cc $flags -static -o /cell/init /gt/guest/init.c
cc $flags -fPIC -shared -o /cell/preload.so /gt/guest/seeded_random.c /gt/guest/host_*.c
cc $flags -static -o /cell/walls /gt/guest/walls*.c
make -s -C /cell/lib/probes OUT=/cell/bin LDFLAGS=-static
PYTHONHASHSEED=0 python3 -m compileall -q --invalidation-mode unchecked-hash /cell/lib
"""


def sources() -> list[tuple[str, Path]]:
    """Return all files that go into the bundle, as (name inside, path)."""
    files = [(f"lib/testbed/{name}", PROJECT / "testbed" / name) for name in TESTBED_MODULES]
    for package in PACKAGES:
        for path in (PROJECT / package).rglob("*"):
            if path.match(PARSERS):
                continue
            if path.suffix in SUFFIXES or path.name == "Makefile":
                files.append((f"lib/{path.relative_to(PROJECT)}", path))
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
    with identity.lent(folder) as uid:
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
